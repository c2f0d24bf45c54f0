"""Commands over a settings file: two simulated brokers, one a person logs in to and one that logs in by itself."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.support.held_port import held_port
from tests.support.patience import PATIENCE_SECONDS

ONEBROKER = (sys.executable, "-m", "onebroker.http")
CODES = ("zerodha", "upstox")
_NOT_SETTINGS = {"broker", "credentials", "session"}


@pytest.fixture
def codes():
    """The brokers; a module may have others."""
    return CODES


@pytest.fixture
def simulator(tmp_path, codes):
    """The lines of the simulated brokers and the control URL, by code and as `control`; the process as `process`."""
    command = [sys.executable, "-m", "onebroker.brokers.simulator", "--brokers", ",".join(codes), "--instruments", "100",
               "--data-dir", str(tmp_path / "simulator"), "--until-stdin-closes"]  # fmt: skip
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        said = {"process": process}
        while (line := process.stdout.readline().strip()) != "ready":
            one = json.loads(line)
            said.update({one["broker"]: one} if "broker" in one else {"control": one["control_url"]})
        yield said
        process.stdin.close()
        process.wait(PATIENCE_SECONDS)


@pytest.fixture
def port():
    """The port of a service that is started, perhaps more than once."""
    with held_port() as port:
        yield port


@pytest.fixture
def config(tmp_path, simulator, codes, port):
    """A settings file over those brokers, its secrets for its owner only; and the port of its service."""
    lines = [
        "[service]",
        f"port = {port}",
        f'data_dir = "{tmp_path / "data"}"',
        'api_key = "k"',
        'api_secret = "a secret for tests"',
    ]
    lines.append('calendar = "always_open"')
    for code in codes:
        said = simulator[code]
        own = {name: value for name, value in said.items() if name not in _NOT_SETTINGS}
        own.setdefault("login_url", said["rest_url"])
        lines += [f"[brokers.{code}]", *(f'{name} = "{value}"' for name, value in (said["credentials"] | own).items())]
    path = tmp_path / "onebroker.toml"
    path.write_text("\n".join(lines))
    path.chmod(0o600)
    return path, port


@pytest.fixture
def service(config):
    """A service running on those settings; its port."""
    path, port = config
    process = subprocess.Popen([*ONEBROKER, "serve", "--config", str(path)], stdout=subprocess.PIPE, text=True)
    assert "is running" in process.stdout.readline()
    yield port
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE_SECONDS) == 0
    process.stdout.close()


@pytest.fixture(autouse=True)
def same_mask() -> Iterator[None]:
    """Give the process its mask of new files back: a command that runs in it sets one of its own."""
    mask = os.umask(0o022)
    os.umask(mask)
    yield
    os.umask(mask)
