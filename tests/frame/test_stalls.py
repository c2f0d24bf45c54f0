"""What the evidence of a stop sees, and what it does not."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from tests.support.patience import PATIENCE_SECONDS
from tests.support.stalls import LOOK_SECONDS, Stalls, watched

IDLE = [sys.executable, "-c", "import time; print(flush=True); time.sleep(600)"]


@pytest.fixture
def idle() -> "Iterator[subprocess.Popen[bytes]]":
    with subprocess.Popen(IDLE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


def until_seen(stalls: Stalls) -> None:
    ends = time.monotonic() + PATIENCE_SECONDS
    while not stalls.seen:
        assert time.monotonic() < ends
        time.sleep(LOOK_SECONDS)


def test_a_stopped_descendant_is_seen(idle: "subprocess.Popen[bytes]") -> None:
    with watched(os.getpid()) as stalls:
        os.kill(idle.pid, signal.SIGSTOP)
        until_seen(stalls)
    os.kill(idle.pid, signal.SIGCONT)


def test_a_stop_of_this_process_is_seen(idle: "subprocess.Popen[bytes]") -> None:
    letting_go = ["/bin/sh", "-c", f"while sleep 2; do kill -CONT {os.getpid()} || exit; done"]
    with subprocess.Popen(letting_go) as other, watched(idle.pid) as stalls:
        while not stalls.seen:
            os.kill(os.getpid(), signal.SIGSTOP)
            time.sleep(2 * LOOK_SECONDS)
        other.kill()
    assert any(one.startswith("the test or the machine") for one in stalls.seen)
