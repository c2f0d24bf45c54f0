"""Compares the wall clock with the monotonic clock. After a clock step or a machine sleep, tasks that wait for a time of day look again.

Every sleep in this program uses the monotonic clock, which notices neither: a square-off due at 15:15 would act late by the same
amount. A step is told as `clock.stepped`. A wall clock that is wrong all the time shows against the brokers' clocks (`clock_doubt.py`); this
actor logs that.
"""

import logging
from collections.abc import Callable

import trio

from onebroker.actors.clock_doubt import ClockDoubt
from onebroker.actors.kernel.events import Events
from onebroker.config.clock import Clock
from onebroker.config.events import ClockStepped

LOOK_SECONDS = 1.0
STEP_SECONDS = 2.0
"""A smaller difference is the normal correction of the clock. Small corrections that add up to more also count as a step."""

_log = logging.getLogger("onebroker.clock")


class ClockWatch:
    def __init__(
        self, clock: Clock, doubt: Callable[[], ClockDoubt | None] = lambda: None, *, events: Events | None = None
    ) -> None:
        """`doubt` returns the present result of the comparison with the brokers' clocks."""
        self._clock = clock
        self._doubt = doubt
        self._events = events or Events()
        self._said: ClockDoubt | None = None

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        task_status.started()
        ahead, slept = self._ahead(), self._clock.slept_seconds()
        while True:
            await trio.sleep(LOOK_SECONDS)
            self._say_doubt()
            ahead_now, slept_now = self._ahead(), self._clock.slept_seconds()
            put = ahead_now - ahead
            away = 0.0 if slept is None or slept_now is None else slept_now - slept
            if abs(put) <= STEP_SECONDS and away <= STEP_SECONDS:
                continue
            ahead, slept = ahead_now, slept_now
            slept = None if away <= STEP_SECONDS else round(away, 1)
            self._events.tell(ClockStepped(seconds=round(put, 1), slept_seconds=slept))
            self._clock.has_stepped()

    def _say_doubt(self) -> None:
        """Log the doubt about the clock, when its brokers or its verdict differ from the last logged doubt."""
        doubt, said = self._doubt(), self._said
        self._said = doubt
        if doubt is not None and (said is None or _about(doubt) != _about(said)):
            _log.warning("%s", doubt.text)
        elif doubt is None and said is not None:
            _log.info("the clocks of the brokers agree with this machine's again")

    def _ahead(self) -> float:
        """Return by how many seconds the wall clock is ahead of the monotonic clock; only differences of this value mean anything."""
        return self._clock.epoch() - self._clock.monotonic()


def _about(doubt: ClockDoubt) -> tuple[object, ...]:
    return doubt.brokers, doubt.ours_is_wrong
