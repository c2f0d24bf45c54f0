"""Trio's clock for tests in real time: it does not count the time in which this process was stopped.

A machine whose host takes its cores away stops a test anywhere, and every deadline inside the test's own process (of the test, of the
service under test, of its peers in the same trio run) would be over when the process goes on, whatever lay ready meanwhile. This clock
is looked at many times a second, so a long pause between two looks was no waiting: the process was stopped, or was at work without a
pause. Of such a pause it counts `MOST_SECONDS`.

What another process does is not covered: whoever waits for one gives it `patience.PATIENCE_SECONDS`.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

import trio

LOOK_SECONDS = 0.1
"""How often trio looks at the clock while it waits."""
MOST_SECONDS = 0.2
"""How much of the pause between two looks is counted."""


class SteadyClock(trio.abc.Clock):
    """Real time, less the time in which nobody looked at the clock."""

    def __init__(self, real: Callable[[], float] = time.perf_counter) -> None:
        self._real = real
        self._looked = real()
        self._now = self._looked

    def start_clock(self) -> None:
        self._looked = self._real()

    def current_time(self) -> float:
        looked = self._real()
        self._now += min(looked - self._looked, MOST_SECONDS)
        self._looked = looked
        return self._now

    def deadline_to_sleep_time(self, deadline: float) -> float:
        return min(deadline - self.current_time(), LOOK_SECONDS)


def steady_run(
    test: Callable[[], Any], *, clock: trio.abc.Clock | None = None, instruments: Sequence[trio.abc.Instrument] = ()
) -> Any:
    """Run an async function in trio on `clock`, or on a steady one; pytest-trio calls this as it would call `trio.run`."""
    return trio.run(test, clock=SteadyClock() if clock is None else clock, instruments=instruments)
