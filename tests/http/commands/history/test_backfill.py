"""`onebroker history backfill` over a running service and two simulated brokers that log in by themselves: what the prices route
then answers, brokers that fail, a service killed in the middle, and what is said without one."""

import io
import json
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import redirect_stderr, redirect_stdout
from datetime import date, timedelta
from types import SimpleNamespace
from urllib.parse import urlencode

import pytest

from onebroker.http.__main__ import main
from tests.support.patience import PATIENCE_SECONDS

ONEBROKER = (sys.executable, "-m", "onebroker.http")
TODAY = date.today()  # noqa: DTZ011  # the service's own day: its market never closes
FIRST, LAST = TODAY - timedelta(days=40), TODAY - timedelta(days=3)


@pytest.fixture
def codes():
    return ("dhan", "groww")


def run(*arguments):
    out, error = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(error):
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as ended:  # argparse
            code = ended.code
    return SimpleNamespace(returncode=code, stdout=out.getvalue(), stderr=error.getvalue())


def backfill(path, *more):
    done = run("history", "backfill", "--from", FIRST, "--to", LAST, "--json", *more, "--config", path)
    assert done.returncode in (0, 1), done.stderr
    return done.returncode, json.loads(done.stdout)


def control(simulator, what, **body):
    request = urllib.request.Request(
        f"{simulator['control']}/{what}",
        data=json.dumps(body).encode(),
        headers={"content-type": "application/json"},
        method="POST",
    )
    with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
        assert answer.status == 200


def until(condition):
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


class Api:
    def __init__(self, port):
        self._base = f"http://127.0.0.1:{port}"
        headers = {"api-key": "k", "api-secret": "a secret for tests"}
        self._token = self._ask(
            urllib.request.Request(f"{self._base}/api/session/connect", headers=headers, method="POST")
        )["access-token"]

    def get(self, path, **parameters):
        query = f"?{urlencode(parameters)}" if parameters else ""
        return self._ask(urllib.request.Request(f"{self._base}{path}{query}", headers={"access-token": self._token}))

    def _ask(self, request):
        with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
            return json.load(answer)

    def closes(self, instrument_id):
        range_ = {"interval": "day", "from": str(FIRST), "to": str(LAST), "adjusted": "false"}
        answer = self.get("/api/instruments/prices", instrument_id=instrument_id, **range_)
        close = answer["columns"].index("close")
        return {candle[0][:10]: candle[close] for candle in answer["candles"]}


@pytest.fixture
def serving(config):
    """Start services on the settings, each when the one before is gone; the last is stopped in order."""
    path, port = config
    processes = []

    def serve():
        process = subprocess.Popen([*ONEBROKER, "serve", "--config", str(path)], stdout=subprocess.PIPE, text=True)
        processes.append(process)
        assert "is running" in process.stdout.readline()
        api = Api(port)
        until(lambda: all(broker["login"] == "live" for broker in api.get("/api/health")["brokers"].values()))
        until(lambda: api.get("/api/health")["catalogue"]["mapping_date"] is not None)
        return process, api

    yield serve
    if processes[-1].poll() is None:
        processes[-1].send_signal(signal.SIGTERM)
        assert processes[-1].wait(PATIENCE_SECONDS) == 0
    for process in processes:
        process.stdout.close()


def some(api, count):
    """Return the ids of some shares, and what names them on the command line."""
    listed = api.get("/api/instruments/master", exchange="nse", segment="equities")[:count]
    symbols = [word for one in listed for word in ("--symbol", one["symbol"])]
    return [one["instrument_id"] for one in listed], ["--exchange", "nse", "--segment", "equities", *symbols]


@pytest.mark.long
def test_what_the_brokers_give_is_what_the_prices_route_answers_and_one_that_fails_is_stood_in_for(
    config, simulator, serving
):
    path, _ = config
    _, api = serving()
    ids, chosen = some(api, 6)
    assert not api.closes(ids[0])  # the cache holds that now
    code, said = backfill(path, *chosen)
    assert (code, said["instruments"], said["refused"], said["unread"]) == (0, len(ids), 0, 0)
    assert said["added"] == said["rows"] > 20 * len(ids)
    assert set(said["brokers"]) == {"dhan", "groww"}
    found = api.closes(ids[0])
    assert len(found) > 20
    code, again = backfill(path, *chosen, "--broker", "groww")
    assert (code, again["added"], again["replaced"], again["equal"]) == (0, 0, 0, said["rows"])
    assert api.closes(ids[0]) == found
    code, standing = backfill(path)  # nothing named: what has candles, and what is held besides
    assert standing["instruments"] >= len(ids)

    control(simulator, "fault", broker="groww", kind="refusal_in_200")
    code, said = backfill(path, *chosen)
    assert (code, said["unread"], set(said["brokers"])) == (0, 0, {"dhan"})

    health = api.get("/api/health")
    assert health["history"]["last_load"]["kind"] == "candles"
    assert health["history"]["backfill"] is None
    # An engine whose lock nobody could refresh for twenty seconds ends itself: a machine that stood still, and no matter of history.
    assert [crash for crash in health["crashes"] if "LockLost" not in crash["error"]] == []


@pytest.mark.long
def test_a_service_killed_in_the_middle_and_the_same_command_again_leave_what_one_clean_run_leaves(
    config, simulator, serving
):
    path, _ = config
    process, api = serving()
    ids, chosen = some(api, 20)
    control(simulator, "fault", broker="all", kind="latency", delay_seconds=2)  # it runs for twenty seconds
    command = [
        *ONEBROKER,
        "history",
        "backfill",
        "--from",
        str(FIRST),
        "--to",
        str(LAST),
        *chosen,
        "--config",
        str(path),
    ]

    def filling():
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    with filling() as interrupted:
        until(lambda: api.get("/api/health")["history"]["backfill"] is not None)
        interrupted.send_signal(signal.SIGINT)
        assert interrupted.wait(PATIENCE_SECONDS) == 130
        assert "stopped; run the same command again" in interrupted.stderr.read()
    until(lambda: api.get("/api/health")["history"]["backfill"] is None)  # it ended with who asked for it
    with filling() as cut_off:
        assert f"of {len(ids)} instruments" in cut_off.stderr.readline()  # a tenth is on disk
        process.kill()
        process.wait()
        assert cut_off.wait(PATIENCE_SECONDS) == 4
        assert "run the same command again" in cut_off.stderr.read()
    control(simulator, "heal")
    _, api = serving()
    code, said = backfill(path, *chosen)
    assert (code, said["instruments"], said["unread"]) == (0, len(ids), 0)
    assert said["before"] >= len(ids) // 10
    code, clean = backfill(path, *chosen)
    assert (clean["added"], clean["replaced"], clean["equal"], clean["before"]) == (0, 0, said["rows"], 0)


def test_without_a_service_it_says_what_is_needed_and_wrong_use_is_told_apart(tmp_path):
    def fill(*arguments):
        return run("history", "backfill", "--data-dir", tmp_path, *arguments)

    done = fill("--from", FIRST)
    assert done.returncode == 4
    assert (
        done.stderr == f"no service runs on {tmp_path}; a backfill asks the brokers over its logins (onebroker serve)\n"
    )
    for wrong in (["--from", "soon"], ["--from", LAST, "--to", FIRST], [], ["--from", FIRST, "--segment", "shares"],
                  ["--from", FIRST, "--broker", "nobody"], ["--from", FIRST, "--instrument-id", "7"]):  # fmt: skip
        assert fill(*wrong).returncode == 2, wrong
