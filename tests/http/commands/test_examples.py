"""The example of every command's help works; and what `status`, `orders`, `token` and `support-bundle` say of the service that they ask.

All examples run in one folder with a settings file over two simulated brokers, whose service is the example of `serve`.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import tarfile
import urllib.request

import pytest

from onebroker.http.commands.support_bundle import without
from tests.support.command_lines import runnable
from tests.support.patience import PATIENCE_SECONDS

ONEBROKER = (sys.executable, "-m", "onebroker.http")
KEY, SECRET = "k", "a secret for tests"
CODES = ("zerodha", "dhan")
SERVICES = ("serve", "demo", "replica", "simulator")
"""Commands that run until they are stopped."""
LAST = ("flatten", "halt", "resume")
BY_NAME = {command.name: command for command in runnable()}
_ALLOWED = {
    "check": (0, 1),
    "status": (0, 1),
    "instruments sync": (0, 1),
    "history check": (0, 1),
    "history backfill": (0, 1),
    "audit show": (1,),
    "alerts test": (2,),
    "store move": (2,),
}
"""Exit codes of examples that judge something: 1 = they found something to tell; 2: the settings name no receiver, or no database. All others end with 0."""

CANDLES = "exchange,segment,symbol,interval,time,open,high,low,close,volume\n" + "".join(
    f"nse,equities,{symbol},day,2026-11-{day},100,101,99,100,10\n"
    for symbol in ("INFY", "TATAMOTORS", "TMPV")
    for day in (16, 17, 18, 19, 20)
)
FACTORS = "exchange,segment,symbol,ex_date,kind,price_factor,volume_factor,source\nnse,equities,OLDCO,2024-06-03,split,0.2,5,x\n"

_TYPIST = """
import contextlib, io, json, sys
from onebroker.http.__main__ import main
for line in sys.stdin:
    out, err, code = io.StringIO(), io.StringIO(), None
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(json.loads(line))
        except SystemExit as end:
            code = end.code or 0
        except BaseException as error:
            print(repr(error))
    print(json.dumps({"code": code, "out": out.getvalue(), "err": err.getvalue()}), flush=True)
"""
"""Runs the commands that it reads, one after the other, in one process: the product is imported once."""


class House:
    """The folder with its settings, and the service on it."""

    def __init__(self, folder, port):
        self.folder, self.port = folder, port
        self.environ = {name: text for name, text in os.environ.items() if not name.startswith("ONEBROKER_")}
        self.environ |= {"HOME": str(folder), "XDG_DATA_HOME": str(folder / "share")}

    def open_typist(self):
        self.typist = subprocess.Popen(
            [sys.executable, "-c", _TYPIST],
            cwd=self.folder,
            env=self.environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def close_typist(self):
        with self.typist:
            self.typist.stdin.close()
            assert self.typist.wait(PATIENCE_SECONDS) == 0

    def start(self, *arguments, **options):
        return subprocess.Popen(
            [*ONEBROKER, *arguments], cwd=self.folder, env=self.environ, stdout=subprocess.PIPE, text=True, **options
        )

    def run(self, *arguments):
        """Run one command and return its `code`, `out` and `err`."""
        self.typist.stdin.write(f"{json.dumps(arguments)}\n")
        self.typist.stdin.flush()
        return json.loads(self.typist.stdout.readline())

    def ask(self, method, path, **headers):
        names = {name.replace("_", "-"): text for name, text in headers.items()}
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", method=method, headers=names)
        with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
            return json.load(answer)


def stop(process):
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE_SECONDS) == 0
    process.stdout.close()


def settings_text(simulated, port):
    lines = ["[service]", f"port = {port}", 'data_dir = "data"', f'api_key = "{KEY}"', f'api_secret = "{SECRET}"']
    lines += ['calendar = "always_open"', "[history]", 'tick_archive = "ticks"']
    for code, said in simulated.items():
        own = {name: text for name, text in said.items() if name not in ("broker", "credentials", "session")}
        own.setdefault("login_url", said["rest_url"])
        lines += [f"[brokers.{code}]", *(f'{name} = "{text}"' for name, text in (said["credentials"] | own).items())]
    return "\n".join(lines)


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """The house with simulated brokers (by the example of `simulator`) and a service (by the example of `serve`)."""
    folder = tmp_path_factory.mktemp("examples")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    made = House(folder, port)
    simulator = made.start(*BY_NAME["simulator"].arguments)
    simulated = {}
    while (line := simulator.stdout.readline().strip()) != "ready":
        said = json.loads(line)
        simulated |= {said["broker"]: said} if "broker" in said else {}
    assert tuple(simulated) == CODES
    file = folder / "onebroker.toml"
    file.write_text(settings_text(simulated, port))
    file.chmod(0o600)
    (folder / "users.json").write_text("[]")
    (folder / "candles.csv").write_text(CANDLES)
    (folder / "factors.csv").write_text(FACTORS)
    with (folder / "log.txt").open("w") as log:
        service = made.start(*BY_NAME["serve"].arguments, stderr=log)
        assert "is running" in service.stdout.readline()
        made.said = [service.stdout.readline() for _ in range(4)]
        made.open_typist()
        yield made
        made.close_typist()
        stop(service)
        stop(simulator)


@pytest.fixture(scope="module")
def examples(house):
    """What each example came to. Trading commands are last, so that a halt meets no other example."""
    names = [name for name in BY_NAME if name not in (*SERVICES, *LAST)]
    order = [*sorted(names, key=lambda name: name != "instruments sync"), *LAST]
    return {name: house.run(*BY_NAME[name].arguments) for name in order}


@pytest.mark.parametrize("name", [name for name in BY_NAME if name not in SERVICES])
def test_the_example_of_the_help_works(examples, name):
    said = examples[name]
    assert said["code"] in _ALLOWED.get(name, (0,)), said
    assert said["out"] or said["err"], said


@pytest.mark.long
def test_the_example_of_the_demo_works(tmp_path):
    with subprocess.Popen(
        [*ONEBROKER, *BY_NAME["demo"].arguments], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    ) as process:
        assert "is running" in process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_SECONDS) == 0


def test_the_example_of_the_replica_works(house):
    arguments = [*BY_NAME["replica"].arguments, "--port", "0"]  # the last one counts
    with house.start(*arguments, stderr=subprocess.DEVNULL) as process:
        assert process.stdout.readline().startswith("onebroker replica of http://127.0.0.1:8000 at http://127.0.0.1:")
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_SECONDS) == 0


def test_the_health_of_status_is_that_of_the_api(house):
    options = ("--config", "onebroker.toml", "--json")
    token, said = json.loads(house.run("token", *options)["out"]), house.run("status", *options)
    assert token == house.ask("POST", "/api/session/connect", api_key=KEY, api_secret=SECRET)
    mine, theirs = (
        json.loads(said["out"]),
        house.ask("GET", "/api/health", access_token=token["access-token"]),
    )
    assert list(mine) == list(theirs)
    assert mine["brokers"].keys() == theirs["brokers"].keys()
    assert said["code"] == (0 if mine["status"] == "ok" else 1)


def test_token_prints_the_token_alone_and_ends_no_other(house):
    first = house.ask("POST", "/api/session/connect", api_key=KEY, api_secret=SECRET)["access-token"]
    said = house.run("token", "--config", "onebroker.toml")
    assert said["out"] == f"{first}\n"
    assert said["err"].startswith("valid until 20")
    assert house.ask("GET", "/api/session/status", access_token=first)["status"] == "connected"


def test_orders_names_a_parent_that_is_not_known_or_no_id(house):
    unknown = "7f3a1c52-0d5e-4c0b-9a53-3f0f1d8f6f10"
    options = ("--config", "onebroker.toml", "--parent")
    for parent, sentence in ((unknown, "no parent"), ("seven", "parent_id must name a parent")):
        said = house.run("orders", *options, parent)
        assert (said["code"], said["out"]) == (4, "")
        assert sentence in said["err"]


def test_watch_ends_with_ctrl_c_and_the_exit_code_of_the_last_look(house):
    with house.start("status", "--watch", "--json", "--config", "onebroker.toml") as process:
        looks = [json.loads(process.stdout.readline()) for _ in range(2)]
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_SECONDS) == (0 if looks[-1]["status"] == "ok" else 1)


def test_the_support_bundle_holds_no_secret(house):
    token = house.ask("POST", "/api/session/connect", api_key=KEY, api_secret=SECRET)["access-token"]
    log = house.folder / "with-secrets.txt"
    log.write_text(f"the token is {token}\nthe secret is {SECRET}\nand nothing else\n")
    line = ["support-bundle", "with-log.tar.gz", "--config", "onebroker.toml", "--service-log", str(log)]
    assert house.run(*line)["code"] == 0
    with tarfile.open(house.folder / "with-log.tar.gz") as bundle:
        parts = {entry.name.rpartition("/")[2]: bundle.extractfile(entry).read().decode() for entry in bundle}
    assert parts["log.txt"].splitlines()[-1] == "and nothing else"
    assert "brokers" in json.loads(parts["health.json"])
    assert "durable.sqlite" in parts["files.txt"]
    assert "brokers.dhan.pin = ***" in parts["settings.txt"]
    assert "python 3" in parts["versions.txt"]
    assert "version " in parts["store.txt"]
    credentials = [line.partition('"')[2].rstrip('"') for line in (house.folder / "onebroker.toml").read_text().splitlines()
                   if line.startswith(("pin", "totp_secret", "api_secret", "access_token"))]  # fmt: skip
    assert len(credentials) >= 4
    for secret in (token, *credentials):
        assert [name for name, text in parts.items() if secret in text] == []


def test_without_a_service_reading_commands_say_so(house, tmp_path):
    for name in ("status", "orders", "token"):
        said = house.run(name, "--data-dir", str(tmp_path))
        assert (said["code"], said["out"], said["err"]) == (4, "", f"no service runs on {tmp_path}\n")
    file = tmp_path / "bundle.tar.gz"
    assert house.run("support-bundle", str(file), "--data-dir", str(tmp_path))["code"] == 0
    assert file.stat().st_mode & 0o077 == 0


def test_a_short_secret_is_left_out_as_a_word_and_a_long_secret_everywhere():
    assert without(["4711"], 'pin 4711, "4711" and 147110') == 'pin ***, "***" and 147110'
    assert without(["longer-secret", "longer"], "xlonger-secretx \nlonger") == "x***x \n***"
    assert without(['with"quote'], '{"a": "with\\"quote"}') == '{"a": "***"}'
