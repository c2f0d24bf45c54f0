"""The Dockerfile: its structure, that no secret and no state gets into a layer, and that its steps make a service that runs.

Docker is not needed: the steps of the build run in a clean virtual environment instead (marked `long`, because they install every package).
"""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from fnmatch import fnmatch
from pathlib import Path

import attrs
import pytest

from onebroker.config.settings import load_settings
from tests.support.held_port import held_port
from tests.support.patience import PATIENCE_SECONDS

ROOT = Path(__file__).resolve().parents[2]
CONFIG = "/etc/onebroker/onebroker.toml"
DATA = "/var/lib/onebroker"
SECRET = "a secret of the container"


@attrs.frozen
class Stage:
    base: str
    instructions: list[tuple[str, str]]
    """Word and text of each instruction, in order; FROM is not among them."""

    def all(self, word: str) -> list[str]:
        return [text for found, text in self.instructions if found == word]

    def only(self, word: str) -> str:
        (text,) = self.all(word)
        return text


def stages() -> list[Stage]:
    text = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE)
    found: list[Stage] = []
    for line in re.sub(r"\\\n\s*", "", text).splitlines():
        if not line.strip():
            continue
        word, _, rest = line.partition(" ")
        if word == "FROM":
            found.append(Stage(rest, []))
        else:
            found[-1].instructions.append((word, rest.strip()))
    return found


def ignored(path: str) -> bool:
    """Whether .dockerignore keeps a path of the context out: the last pattern that fits decides."""
    out = False
    for line in (ROOT / ".dockerignore").read_text().splitlines():
        pattern = line.removeprefix("!").removeprefix("**/")
        if not line or line.startswith("#"):
            continue
        parts = Path(path).parts
        fits = any(fnmatch("/".join(parts[:n]), pattern) for n in range(1, len(parts) + 1))
        if fits or (line.startswith("**/") and any(fnmatch(part, pattern) for part in parts)):
            out = not line.startswith("!")
    return out


def test_the_image_has_two_stages_over_the_same_slim_python() -> None:
    build, final = stages()
    assert build.base == "python:3.12-slim AS build"
    assert final.base == "python:3.12-slim"


def test_only_the_environment_leaves_the_first_stage() -> None:
    _, final = stages()
    assert final.all("COPY") == ["--from=build /opt/onebroker /opt/onebroker"]
    assert final.all("ADD") == []
    assert not any("pip" in run for run in final.all("RUN"))


def test_the_service_is_not_root_and_its_data_is_its_own() -> None:
    _, final = stages()
    words = [word for word, _ in final.instructions]
    assert final.only("USER") == "10001:10001"
    run = final.only("RUN")
    assert "--gid 10001 onebroker" in run
    assert "useradd --uid 10001 --gid 10001" in run
    assert f"install -d -m 0700 -o onebroker -g onebroker {DATA}" in run
    assert final.only("VOLUME") == DATA
    assert words.index("RUN") < words.index("USER") < words.index("VOLUME")
    assert f"ONEBROKER_SERVICE_DATA_DIR={DATA}" in final.only("ENV").split()


def test_the_steps_of_the_shell_are_valid() -> None:
    for run in (run for stage in stages() for run in stage.all("RUN")):
        subprocess.run(["sh", "-n", "-c", run], check=True, timeout=PATIENCE_SECONDS)


def test_the_process_gets_the_signal_itself() -> None:
    """A shell between Docker and the service would not pass the signal on."""
    _, final = stages()
    assert json.loads(final.only("ENTRYPOINT")) == ["onebroker"]
    assert json.loads(final.only("CMD")) == ["serve", "--config", CONFIG]
    assert final.only("STOPSIGNAL") == "SIGTERM"
    options, _, command = final.only("HEALTHCHECK").partition("CMD ")
    assert json.loads(command) == ["onebroker", "alive", "--config", CONFIG]
    assert set(re.findall(r"--([a-z-]+)=", options)) == {"interval", "timeout", "start-period", "retries"}
    assert f"touch {CONFIG}" in final.only("RUN")


def test_no_secret_is_in_a_layer() -> None:
    for stage in stages():
        assert stage.all("ARG") == []
        for text in stage.all("ENV"):
            assert not re.search(r"secret|token|key|pin|password", text, re.IGNORECASE), text


def test_the_context_holds_the_sources_and_nothing_else() -> None:
    build, _ = stages()
    copied = [name for text in build.all("COPY") for name in text.split()[:-1]]
    assert [name for name in copied if ignored(name) or not (ROOT / name).exists()] == []
    top = {path.name for path in ROOT.iterdir()} | {"onebroker.toml", ".env", "keys", "demo", "build"}
    assert {name for name in top if not ignored(name)} == set(copied)
    assert ignored("config/__pycache__/x.cpython-312.pyc")
    assert not ignored("http/dashboard/static/index.html")


def run_of_the_build() -> str:
    build, _ = stages()
    return build.only("RUN")


def test_the_build_installs_what_the_lock_names_and_nothing_else() -> None:
    _, packages, own = run_of_the_build().split(" && ")
    assert shlex.split(packages)[-3:] == ["--require-hashes", "-r", "requirements.lock"]
    assert shlex.split(own)[-2:] == ["--no-deps", "."]


@pytest.mark.long
def test_the_steps_of_the_build_make_a_service_that_is_healthy_and_stops_cleanly(tmp_path: Path) -> None:
    source, environment = tmp_path / "source", tmp_path / "onebroker"
    source.mkdir()
    build, final = stages()
    for name in (name for text in build.all("COPY") for name in text.split()[:-1]):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, source)
    step = run_of_the_build().replace("/opt/onebroker", str(environment)).replace("python ", f"{sys.executable} ", 1)
    subprocess.run(["sh", "-ec", step], cwd=source, check=True, timeout=10 * PATIENCE_SECONDS)

    config = tmp_path / "onebroker.toml"
    config.touch()
    secret = tmp_path / "api_secret"
    secret.write_text(f"{SECRET}\n")
    secret.chmod(0o600)

    def command(word: str) -> list[str]:
        return [part.replace(CONFIG, str(config)) for part in json.loads(final.only(word).rpartition("CMD ")[2])]

    with held_port() as port:
        variables = {
            "PATH": f"{environment}/bin:{os.environ['PATH']}",
            "ONEBROKER_SERVICE_DATA_DIR": str(tmp_path / "data"),
            "ONEBROKER_SERVICE_PORT": str(port),
            "ONEBROKER_SERVICE_API_KEY": "k",
            "ONEBROKER_SERVICE_API_SECRET_FILE": str(secret),
        }
        load_settings(config, variables, known_brokers={})  # the variables are those of settings
        service = subprocess.Popen([*command("ENTRYPOINT"), *command("CMD")], env=variables, cwd=tmp_path)
        try:
            until = time.monotonic() + PATIENCE_SECONDS
            while subprocess.run(command("HEALTHCHECK"), env=variables, cwd=tmp_path, capture_output=True).returncode:
                assert service.poll() is None
                assert time.monotonic() < until, "the health check never succeeded"
                time.sleep(0.5)
            request = urllib.request.Request(
                f"http://127.0.0.1:{port}/api/session/connect",
                method="POST",
                headers={"api-key": "k", "api-secret": SECRET},
            )
            with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
                assert "access-token" in json.load(answer)
        finally:
            service.send_signal(getattr(signal, final.only("STOPSIGNAL")))
            assert service.wait(PATIENCE_SECONDS) == 0
        assert subprocess.run(command("HEALTHCHECK"), env=variables, cwd=tmp_path).returncode == 4
