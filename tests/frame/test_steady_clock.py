"""The clock of tests in real time: it goes on while somebody looks at it, and a stop of the process is not counted."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator

import pytest
import trio
import trio.testing

from tests.support.steady_clock import LOOK_SECONDS, MOST_SECONDS, SteadyClock


class Real:
    """The machine's seconds, moved by hand."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_what_is_looked_at_often_is_counted_and_a_long_pause_is_not() -> None:
    real = Real()
    clock = SteadyClock(real)
    clock.start_clock()
    began = clock.current_time()
    for _ in range(50):
        real.now += LOOK_SECONDS
        clock.current_time()
    assert clock.current_time() - began == pytest.approx(50 * LOOK_SECONDS)
    real.now += 3600.0
    assert clock.current_time() - began == pytest.approx(50 * LOOK_SECONDS + MOST_SECONDS)


def test_whoever_waits_long_looks_often_all_the_same() -> None:
    clock = SteadyClock(Real())
    clock.start_clock()
    assert clock.deadline_to_sleep_time(clock.current_time() + 60) == LOOK_SECONDS
    assert clock.deadline_to_sleep_time(clock.current_time() - 1) <= 0


@pytest.fixture
def let_go_again_and_again() -> Iterator[None]:
    """Another process, which lets this one go every second."""
    with subprocess.Popen(["/bin/sh", "-c", f"while sleep 1; do kill -CONT {os.getpid()} || exit; done"]) as other:
        yield
        other.kill()


async def test_the_tests_of_this_suite_run_on_it_and_stops_end_no_deadline(let_go_again_and_again: None) -> None:
    """This process stops itself for longer than its deadline, more than once."""
    ends = time.monotonic() + 4
    with trio.fail_after(3):
        while time.monotonic() < ends:
            os.kill(os.getpid(), signal.SIGSTOP)
            await trio.lowlevel.checkpoint()


async def test_a_mocked_clock_is_taken_instead(autojump_clock: trio.testing.MockClock) -> None:
    assert trio.lowlevel.current_clock() is autojump_clock
