"""`onebroker halt`, `resume` and `flatten`: they reach the running service by its data directory, and need no access token."""

import json
import os
import pty
import socket
import subprocess
import sys
import time
import urllib.request

import pytest

from tests.support.patience import PATIENCE_SECONDS

ONEBROKER = (sys.executable, "-m", "onebroker.http")
NOT_GIVEN = "the word FLATTEN was not given, so nothing was done\n"


@pytest.fixture
def codes():
    return ("dhan",)  # it logs in by itself


def run(config, *words):
    """Run a command over the data directory alone: no key and no token is at hand."""
    command = [*ONEBROKER, *words, "--data-dir", str(config[0].parent / "data")]
    return subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False
    )


def typed(config, words):
    """Run `flatten` on a terminal, and type these words when it asks."""
    ours, theirs = pty.openpty()
    command = [*ONEBROKER, "flatten", "--data-dir", str(config[0].parent / "data")]
    with subprocess.Popen(command, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        os.close(theirs)
        os.write(ours, words)
        out, err = process.communicate(timeout=PATIENCE_SECONDS)
    os.close(ours)
    return process.returncode, out, err


def ask(config, **request):
    """Send one line to the control socket and return the answer."""
    with socket.socket(socket.AF_UNIX) as handle:
        handle.settimeout(PATIENCE_SECONDS)
        handle.connect(str(config[0].parent / "data" / "control.sock"))
        handle.sendall(json.dumps(request).encode() + b"\n")
        return json.loads(handle.makefile("rb").read().splitlines()[-1])


def read(port, path, token=None):
    method = "GET" if token else "POST"
    headers = {"access-token": token} if token else {"api-key": "k", "api-secret": "a secret for tests"}
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", method=method, headers=headers)
    with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
        return answer.read().decode()


def until_flat(config):
    """Flatten until all is flat: just after the start the broker may not have been read."""
    ends = time.monotonic() + PATIENCE_SECONDS
    while (done := run(config, "flatten", "--yes", "FLATTEN")).returncode == 1:
        assert "NOT all is flat" in done.stdout
        assert time.monotonic() < ends, done
    return done


def test_trading_is_halted_and_resumed_by_command(config, service):
    token = json.loads(read(service, "/api/session/connect"))["access-token"]
    health = lambda: json.loads(read(service, "/api/health", token))["halt"]  # noqa: E731

    done = run(config, "halt", "--reason", "the feed\nis wrong")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("trading is halted (reduce_only) since ")
    assert done.stdout.endswith(": the feed\\nis wrong\n")
    assert (health()["halted"], health()["mode"], health()["reason"]) == (True, "reduce_only", "the feed\nis wrong")

    done = run(config, "halt", "--reason", "nothing at all", "--mode", "nothing", "--json")
    assert done.returncode == 0
    answer = json.loads(done.stdout)
    assert answer == health() | {"entries_under_way": False}
    assert (answer["mode"], answer["reason"]) == ("nothing", "nothing at all")
    figures = read(service, "/metrics", token)
    assert 'onebroker_halted{mode="nothing"} 1.0\n' in figures
    assert 'onebroker_halted{mode="reduce_only"} 0.0\n' in figures

    done = run(config, "resume")
    assert (done.returncode, done.stdout, done.stderr) == (0, "trading goes on\n", "")
    assert health() == {"halted": False, "mode": None, "reason": None, "since": None}
    done = run(config, "resume")
    assert (done.returncode, done.stdout, done.stderr) == (4, "", "trading is not halted\n")

    assert ask(config, command="halt", reason="x") == {"error": 'confirm must be "HALT"'}
    assert ask(config, command="halt", reason="x", confirm="HALT", mode="all") == {
        "error": "mode must be one of reduce_only, nothing"
    }
    assert ask(config, command="flatten", confirm="FLATTEN", dry="yes") == {"error": "a flatten takes no dry"}
    assert health()["halted"] is False


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--reason", "x" * 201], "reason must be a text of 1 to 200 characters"),
        (["--reason", "x", "--mode", "all"], "invalid choice: 'all'"),
    ],
)
def test_wrong_use_of_halt_is_refused_before_a_service_is_asked(tmp_path, words, sentence):
    command = [*ONEBROKER, "halt", *words, "--data-dir", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr


def test_a_flatten_by_command_needs_its_word(config, service):
    done = run(config, "flatten")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", NOT_GIVEN)
    done = run(config, "flatten", "--yes", "flatten")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", NOT_GIVEN)
    code, out, err = typed(config, b"yes\n")
    assert (code, out) == (2, "")
    assert err.startswith("This cancels every order and closes every position at every broker.")
    assert err.endswith(NOT_GIVEN)

    assert until_flat(config).stdout.splitlines()[-1] == "all is flat"
    code, out, _ = typed(config, b"FLATTEN\n")
    assert (code, out.splitlines()[-1]) == (0, "all is flat")
    done = run(config, "flatten", "--dry-run")
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "a flatten would cancel 0 orders and close 0 positions; nothing was sent"
    done = run(config, "flatten", "--dry-run", "--json")
    assert (done.returncode, json.loads(done.stdout)["dry_run"]) == (0, True)


@pytest.mark.parametrize("words", [("halt", "--reason", "x"), ("resume",), ("flatten", "--yes", "FLATTEN")])
def test_without_a_service_it_says_so(config, words):
    done = run(config, *words)
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr.startswith("no service runs on ")
    assert done.stderr.endswith(", so nothing was done\n")
