"""The queue in front of a broker's rate budget (order-engine 4.5): who waits, in which order, and until when."""

from bisect import insort

import attrs
import trio

from onebroker.brokers.requests import CallKind
from onebroker.brokers.transport.budget import Budget, BudgetFull, DailyCapReached, Moment, Place, Priority
from onebroker.brokers.transport.ledger import MARGIN_SECONDS
from onebroker.config.clock import Clock


@attrs.define(eq=False)
class _Waiting:
    kind: CallKind
    priority: Priority
    number: int
    """Of arrival; first come, first served within a priority."""
    place: Place | None = None
    refusal: DailyCapReached | None = None
    called: trio.Event = attrs.field(factory=trio.Event)

    @property
    def rank(self) -> tuple[int, int]:
        return (self.priority, self.number)


class BudgetGate:
    """The bounded queue in front of one budget: by priority, then first come, first served."""

    def __init__(self, budget: Budget, clock: Clock, *, most_waiting: int) -> None:
        self.budget = budget
        self._clock = clock
        self._most_waiting = most_waiting
        self._waiting: list[_Waiting] = []
        self._arrivals = 0

    async def acquire(self, kind: CallKind, priority: Priority, deadline: float) -> Place:
        """Wait for room until `deadline` (monotonic seconds), take it and return it.

        Raises `BudgetFull` at the deadline, or at once when `most_waiting` wait already; `DailyCapReached` as soon as
        the day has no room for it.
        """
        if len(self._waiting) >= self._most_waiting:
            raise BudgetFull
        self._arrivals += 1
        mine = _Waiting(kind=kind, priority=priority, number=self._arrivals)
        insort(self._waiting, mine, key=lambda waiting: waiting.rank)
        try:
            await self._wait_turn(mine, deadline)
        except BaseException:
            if mine.place is not None:  # taken for us while we were being cancelled
                self.give_back(mine.place)
            raise
        finally:
            if mine in self._waiting:
                self._waiting.remove(mine)
        if mine.place is None:
            raise mine.refusal or BudgetFull
        return mine.place

    def give_back(self, place: Place) -> None:
        """Uncount a message whose connection never opened, and let the next one through."""
        self.budget.give_back(place)
        self._serve()

    def landed(self, place: Place) -> None:
        """Count a message at its answer, and let those who waited for it see how much sooner their turn comes."""
        self.budget.landed(place, Moment.of(self._clock))
        self._serve()
        for waiting in self._waiting:
            waiting.called.set()
            waiting.called = trio.Event()

    def close_for(self, seconds: float) -> None:
        """Let nothing through for `seconds`: the broker itself said "too many requests"."""
        self.budget.close_for(seconds, Moment.of(self._clock))

    async def _wait_turn(self, mine: _Waiting, deadline: float) -> None:
        await trio.lowlevel.checkpoint()
        while True:
            self._serve()
            now = Moment.of(self._clock)
            if mine.place is not None or mine.refusal is not None or now.monotonic >= deadline:
                return
            # Only those ahead can make it later than this; they call `_serve` when their own time has come.
            wait = max(self.budget.wait_seconds(mine.kind, mine.priority, now), MARGIN_SECONDS)
            with trio.move_on_after(min(wait, deadline - now.monotonic)):
                await mine.called.wait()

    def _serve(self) -> None:
        """Give room to all who can have it, the first in rank first. Whoever finds none never holds up those behind it
        that count against other windows."""
        now = Moment.of(self._clock)
        for waiting in tuple(self._waiting):
            if not self.budget.room(waiting.kind, waiting.priority, now):
                continue
            try:
                waiting.place = self.budget.take(waiting.kind, waiting.priority, now)
            except DailyCapReached as refusal:
                waiting.refusal = refusal
            self._waiting.remove(waiting)
            waiting.called.set()
