"""The one source of time: wall time in India (IST) and a monotonic clock. Nothing else in onebroker reads the time.

A `Clock` is passed in, so that a tree of actors can run a trading day in a second: `Clock.following_trio` derives the
wall time from trio's clock, and trio's MockClock then moves both. Code that sleeps until a time of day sleeps on the
monotonic clock. It also waits for a step of the wall clock, and then reads the time again.
"""

import time
from collections.abc import Awaitable, Callable
from datetime import date, datetime, timedelta, timezone
from datetime import time as time_of_day

import trio

IST = timezone(timedelta(hours=5, minutes=30), "IST")
"""India Standard Time; it has no daylight saving."""

DAY_BOUNDARY = time_of_day(7, 0)
"""The hour at which a new broking day begins (rules 1.3.1; order-engine 4.6)."""


def awake_seconds() -> Callable[[], float] | None:
    """Return the machine's clock that goes on while the machine sleeps; None if it has no such clock."""
    clock_id = getattr(time, "CLOCK_BOOTTIME", None)
    return None if clock_id is None else lambda: time.clock_gettime(clock_id)


class Clock:
    """Wall time in IST plus monotonic seconds.

    `offset` shifts the wall time (the `--now` option); monotonic time is never shifted.
    """

    def __init__(
        self,
        offset: timedelta = timedelta(0),
        *,
        wall: Callable[[], float] = time.time,
        awake: Callable[[], float] | None = None,
    ) -> None:
        """`wall` returns epoch seconds. `awake` returns monotonic seconds that go on while the machine sleeps; None if
        there is no such clock."""
        self._offset_seconds = offset.total_seconds()
        self._wall = wall
        self._awake = awake
        self._steps = 0
        self._stepped = trio.Event()

    @classmethod
    def starting_at(cls, moment: datetime) -> "Clock":
        """Return a clock whose wall time is now `moment` (aware) and runs on from there."""
        return cls(timedelta(seconds=moment.timestamp() - time.time()))

    @classmethod
    def following_trio(cls, start: datetime) -> "Clock":
        """Return a clock that now reads `start` (aware) and moves with trio's clock. Call it inside `trio.run`."""
        origin = trio.current_time()
        return cls(wall=lambda: start.timestamp() + trio.current_time() - origin)

    # --- steps of the wall clock --------------------------------------------------------------------------------------

    @property
    def steps(self) -> int:
        """How often the wall clock was seen to have been set, or the machine to have slept."""
        return self._steps

    def has_stepped(self) -> None:
        """Wake every task that waits for a time of day, because the wall clock has moved (`actors.clock_watch`)."""
        self._steps += 1
        stepped, self._stepped = self._stepped, trio.Event()
        stepped.set()

    async def wait_step(self) -> None:
        """Wait until the wall clock has been set, or the machine has slept."""
        await self._stepped.wait()

    async def wait_step_or(self, event: trio.Event) -> None:
        """Wait for such a step or for `event`, whichever comes first."""
        async with trio.open_nursery() as nursery:

            async def end_with(wait: Callable[[], Awaitable[None]]) -> None:
                await wait()
                nursery.cancel_scope.cancel()

            nursery.start_soon(end_with, event.wait)
            nursery.start_soon(end_with, self._stepped.wait)

    def slept_seconds(self) -> float | None:
        """Return how many seconds the machine has slept, counted from some fixed moment; None if that is not known."""
        return None if self._awake is None else self._awake() - time.monotonic()

    @property
    def offset_seconds(self) -> float:
        """Seconds by which this clock's wall time is ahead of the machine's."""
        return self._offset_seconds

    def epoch(self) -> float:
        """Return the wall time in epoch seconds."""
        return self._wall() + self._offset_seconds

    def now(self) -> datetime:
        """Return the wall time as an aware datetime in IST."""
        return from_epoch(self.epoch())

    def today(self) -> date:
        """Return the India calendar day."""
        return self.now().date()

    def monotonic(self) -> float:
        """Return monotonic seconds (trio's clock); only differences have a meaning."""
        return trio.current_time()

    def thread_seconds(self) -> float:
        """Return the processor seconds that this thread has used: the cost of its own work, whatever else the machine does."""
        return time.thread_time()


def from_epoch(seconds: float) -> datetime:
    """Return the instant `seconds` after the epoch as an aware datetime in IST."""
    return datetime.fromtimestamp(seconds, IST)


def latest_boundary(now: datetime) -> datetime:
    """Return the most recent 07:00 IST at or before `now`; before 07:00 that is yesterday's 07:00 (rules 1.3.1)."""
    local = now.astimezone(IST)
    boundary = datetime.combine(local.date(), DAY_BOUNDARY, IST)
    return boundary if local >= boundary else boundary - timedelta(days=1)


def next_time_of_day(now: datetime, at: time_of_day) -> datetime:
    """Return the first `at` (a time of day in India) after `now`; if `now` is exactly `at`, tomorrow's."""
    local = now.astimezone(IST)
    today = datetime.combine(local.date(), at, IST)
    return today if local < today else today + timedelta(days=1)


def local_text(moment: datetime) -> str:
    """Write the `as_of` of a document: `YYYY-MM-DDTHH:MM:SS` in India time (rules 1.2.5)."""
    return moment.astimezone(IST).strftime("%Y-%m-%dT%H:%M:%S")
