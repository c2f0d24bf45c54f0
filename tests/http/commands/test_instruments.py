"""`onebroker instruments sync`: the running service builds its catalogue now, shown as it goes, and whoever watches may leave."""

import json
import os
import pty
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from tests.support.patience import PATIENCE_SECONDS

ONEBROKER = (sys.executable, "-m", "onebroker.http")


def wait_for(condition, what, seconds=PATIENCE_SECONDS):
    ends = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < ends, what
        time.sleep(0.05)
    return found


def sync(path, *more):
    command = [*ONEBROKER, "instruments", "sync", "--config", str(path), *more]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS)


def fault(simulator, **body):
    request = urllib.request.Request(
        f"{simulator['control']}/fault",
        data=json.dumps(body).encode(),
        headers={"content-type": "application/json"},
        method="POST",
    )
    with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
        assert answer.status == 200


def connect(port):
    url = f"http://127.0.0.1:{port}/api/session/connect"
    request = urllib.request.Request(url, method="POST", headers={"api-key": "k", "api-secret": "a secret for tests"})
    with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
        return json.load(answer)["access-token"]


def catalogue(port, token):
    request = urllib.request.Request(f"http://127.0.0.1:{port}/api/health", headers={"access-token": token})
    with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
        return json.load(answer)["catalogue"]


def children_of(pid):
    """The processes of a service that build its catalogue."""
    found = []
    for task in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(task.read_text().rpartition(")")[2].split()[1])
            if parent == pid and b"onebroker.actors.catalogue.build" in (task.parent / "cmdline").read_bytes():
                found.append(int(task.parent.name))
        except (OSError, ValueError, IndexError):
            continue
    return found


def hold(pid):
    """Stop a process; return whether it was at work still."""

    def state():
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]

    try:
        os.kill(pid, signal.SIGSTOP)
        return wait_for(lambda: (now := state()) in "TZX" and now, "it stops or has ended") == "T"
    except (ProcessLookupError, FileNotFoundError):
        return False


def worker_of(process, service):
    """Return the worker of the build that `process` asked for, or None when that is over."""
    found = wait_for(lambda: children_of(service.pid) or (process.poll() is not None and [None]), "the worker runs")
    return found[0]


def asked_and_held(command, service):
    """Ask for a build with `command` and hold its worker in the middle of it: both processes. A build that came and went while
    nobody looked is asked for again."""
    while True:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        worker = worker_of(process, service)
        if worker is not None and hold(worker):
            return process, worker
        said = process.communicate(timeout=PATIENCE_SECONDS)
        assert process.returncode == 0, said


def test_the_catalogue_is_built_now_and_shown_in_plain_lines(config, service):
    done = sync(config[0])
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "\x1b" not in done.stdout
    assert lines[0] == "fetching the brokers' files"
    for code in ("zerodha", "upstox"):
        fetched = next(line for line in lines if line.startswith(code))
        assert "done" in fetched
        assert "1 file" in fetched
    head = next(line for line in lines if line.startswith("broker"))
    assert head.split() == ["broker", "listings", "refused", "ambiguous", "uncategorised", "missing", "files"]
    segments = next(line for line in lines if line.startswith("segment"))
    assert segments.split() == ["segment", "zerodha", "upstox"]
    (count,) = [line for line in lines if line.endswith("instruments are mapped")]
    assert int(count.split()[0]) > 50


@pytest.mark.long
def test_the_report_comes_as_json_too(config, service):
    done = sync(config[0], "--json")
    assert done.returncode == 0
    report = json.loads(done.stdout)
    assert report["rows"] > 50
    assert report["brokers"]["zerodha"]["rows"] > 0


@pytest.mark.long
def test_on_a_terminal_the_lines_are_rewritten_in_place(config, simulator, running):
    fault(simulator, broker="upstox", kind="latency", delay_seconds=2)  # so that there is something to watch
    ours, theirs = pty.openpty()
    command = [*ONEBROKER, "instruments", "sync", "--config", str(config[0])]
    with subprocess.Popen(command, stdout=theirs, stderr=subprocess.PIPE, close_fds=True) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # the other side is closed
                break
            if not piece:
                break
            shown += piece
        assert process.wait(PATIENCE_SECONDS) == 0, process.stderr.read()
    os.close(ours)
    assert b"\x1b[1A\x1b[2K" in shown
    assert b"instruments are mapped" in shown


@pytest.mark.long
def test_a_lost_broker_is_named_and_todays_mapping_is_not_replaced(config, simulator, service):
    assert sync(config[0]).returncode == 0
    fault(simulator, broker="upstox", kind="http_500")
    done = sync(config[0])
    assert done.returncode == 4
    assert "failed" in done.stdout
    assert "the catalogue was not built: it would lose upstox" in done.stderr
    token = connect(service)
    health = catalogue(service, token)
    assert health["published_today"]
    assert "it would lose upstox" in health["trouble"]
    assert health["lost"] == {}


def test_without_a_service_it_says_so(config, tmp_path):
    for words in (["--config", str(config[0])], ["--data-dir", str(tmp_path / "nowhere")]):
        command = [*ONEBROKER, "instruments", "sync", *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS)
        assert done.returncode == 4
        assert done.stderr.startswith("no service runs on ")
        assert done.stderr.count("\n") == 1


@pytest.mark.long
def test_the_data_directory_alone_says_which_service(config, service):
    command = [*ONEBROKER, "instruments", "sync", "--data-dir", str(config[0].parent / "data")]
    assert subprocess.run(command, capture_output=True, timeout=PATIENCE_SECONDS).returncode == 0


def test_without_an_action_the_help_is_shown():
    done = subprocess.run([*ONEBROKER, "instruments"], capture_output=True, text=True, timeout=PATIENCE_SECONDS)
    assert done.returncode == 2
    assert "sync" in done.stderr
    done = subprocess.run(
        [*ONEBROKER, "instruments", "--help"], capture_output=True, text=True, timeout=PATIENCE_SECONDS
    )
    assert done.returncode == 0
    assert "build" in done.stdout


@pytest.fixture
def running(config):
    """A service of which the process is at hand; its first build is done."""
    path, port = config
    with subprocess.Popen([*ONEBROKER, "serve", "--config", str(path)], stdout=subprocess.PIPE, text=True) as process:
        assert "is running" in process.stdout.readline()
        token = connect(port)
        wait_for(lambda: catalogue(port, token)["published_today"], "the first build is done")
        yield path, port, token, process
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_SECONDS) == 0


@pytest.mark.long
def test_leaving_with_ctrl_c_harms_neither_build_nor_service(running):
    path, port, token, service = running
    process, worker = asked_and_held([*ONEBROKER, "instruments", "sync", "--config", str(path)], service)
    with process:
        try:
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=PATIENCE_SECONDS)
        finally:
            os.kill(worker, signal.SIGCONT)
        assert process.returncode == 130
        assert said.strip() == "no longer watching; the service goes on with the build"
    wait_for(lambda: catalogue(port, token)["build"] == "idle", "the build ended")
    assert catalogue(port, token)["trouble"] is None
    assert sync(path).returncode == 0


@pytest.mark.long
def test_a_killed_worker_is_a_failed_build_and_the_old_mapping_serves(running):
    path, port, token, service = running
    before = catalogue(port, token)
    process, worker = asked_and_held([*ONEBROKER, "instruments", "sync", "--config", str(path)], service)
    with process:
        os.kill(worker, signal.SIGKILL)
        _, said = process.communicate(timeout=PATIENCE_SECONDS)
        assert process.returncode == 4
        assert "the build ended with -9" in said
    after = catalogue(port, token)
    assert (after["mapping_date"], after["published_today"]) == (before["mapping_date"], True)
    assert "the build ended with -9" in after["trouble"]
    assert not list((path.parent / "data" / "catalogue").glob(".*.candidate"))
    assert not (path.parent / "data" / "catalogue" / "incoming").exists()
    assert sync(path).returncode == 0
    assert catalogue(port, token)["trouble"] is None


@pytest.mark.long
def test_two_who_ask_at_once_share_one_build(running):
    path, _, _, service = running
    command = [*ONEBROKER, "instruments", "sync", "--config", str(path)]
    first, worker = asked_and_held([*command, "--json"], service)
    with first, subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as second:
        try:
            assert second.stdout.readline() == "fetching the brokers' files\n"  # it is shown the build that runs
        finally:
            os.kill(worker, signal.SIGCONT)
        seen = set()
        while first.poll() is None or second.poll() is None:
            seen.update(children_of(service.pid))
            time.sleep(0.01)
        assert (first.returncode, second.returncode) == (0, 0)
        assert seen <= {worker}
