"""Starting and stopping in order: signals, a held data directory, a busy port, wrong use."""

import os
import signal
import socket
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.long

ORDERLY_SECONDS = 60.0


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_requests_finish_ends_everything_and_the_next_start_goes_on(new_demo, together, by):
    demo = new_demo("--instruments", "300").start()
    demo.until_ready()
    share = demo.share()
    demo.fault("all", "latency", delay_seconds=0.5)
    sent = [together.submit(demo.place, **demo.limit_buy(share, -3, quantity=quantity)) for quantity in (1, 2, 3)]
    demo.until(lambda: open_parents(demo) == 3, "the orders to be on their way")
    began = time.monotonic()
    assert demo.end(by) == 0
    assert time.monotonic() - began < ORDERLY_SECONDS
    assert demo.processes() == []
    answers = [each.result() for each in sent]
    assert [answer.status for answer in answers] == [200, 200, 200], answers
    token = demo.token
    demo.start()
    demo.until_ready()
    assert demo.token == token
    for answer in answers:
        demo.until_status(answer.json["order_id"], "OPEN")
    assert len(demo.assert_sent_once()) == 3
    assert demo.end(by) == 0
    assert "Traceback" not in demo.log.read_text()


def open_parents(demo):
    return len(demo.read("/api/orders/parents")["parents"])


def run(*arguments):
    """Run a command to its end: exit code, standard error."""
    done = subprocess.run(
        [sys.executable, "-m", "onebroker.http", *arguments], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode in (0, 2) or "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stderr.strip()


def test_a_second_start_on_a_held_directory_says_who_holds_it(demo):
    code, said = run("demo", "--port", "0", "--data-dir", str(demo.data_dir))
    assert (code, said) == (3, f"the data directory {demo.data_dir} is in use by process {demo.pid}")
    assert demo.read("/api/session/status")["status"] == "connected"


def test_a_busy_port_is_said_and_leaves_nothing_running(new_demo):
    demo = new_demo("--instruments", "100")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, said = run("demo", "--port", str(port), "--data-dir", str(demo.data_dir), "--instruments", "100")
    assert (code, said) == (4, f"cannot listen on port {port} of 127.0.0.1: Address already in use")
    assert demo.processes() == []
    demo.start()
    assert demo.end() == 0


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--now", "yesterday"], "--now must be a moment such as"),
        (["--now", "2026-11-23T09:10:00"], "--now needs an offset"),
        (["--port", "ninety"], "--port"),
        (["--port", "99999"], "port"),
        (["--instruments", "5"], "instruments"),
        (["--seed", "x"], "--seed"),
        (["--market-hours", "sometimes"], "--market-hours"),
        (["--colour"], "--colour"),
    ],
)
def test_wrong_use_ends_with_2_and_a_sentence(new_demo, arguments, word):
    demo = new_demo()
    code, said = run("demo", "--data-dir", str(demo.data_dir), *arguments)
    assert (code, word in said) == (2, True), said
    assert demo.processes() == []


def test_a_demo_whose_simulator_dies_ends_with_a_sentence_and_leaves_nothing_running(new_demo):
    demo = new_demo("--instruments", "100").start()
    demo.until_ready()
    for pid in demo.simulators():
        os.kill(pid, signal.SIGKILL)
    assert demo.process.wait(ORDERLY_SECONDS) == 4
    assert "the simulator ended" in demo.log.read_text()
    assert demo.processes() == []
