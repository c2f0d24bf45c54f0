"""The queue in front of a broker's rate budget (order-engine 4.5): which messages wait, in which order, and until when."""

from collections.abc import Iterator
from typing import TypeAlias

import attrs
import trio

from onebroker.brokers.requests import CallKind
from onebroker.brokers.transport.budget import Budget, BudgetFull, DailyCapReached, Moment, Place
from onebroker.brokers.transport.priorities import Priority
from onebroker.brokers.transport.rolling_windows import MARGIN_SECONDS
from onebroker.config.clock import Clock

_Sort: TypeAlias = tuple[CallKind, Priority]
"""Messages of one sort get room at the same moments, one after the other."""


@attrs.define(eq=False)
class _Waiting:
    kind: CallKind
    priority: Priority
    number: int
    """Arrival number: first come, first served within a priority."""
    place: Place | None = None
    refusal: DailyCapReached | None = None
    called: trio.Event = attrs.field(factory=trio.Event)

    @property
    def rank(self) -> tuple[int, int]:
        return (self.priority, self.number)

    @property
    def sort(self) -> _Sort:
        return (self.kind, self.priority)

    def look_again(self) -> None:
        self.called.set()
        self.called = trio.Event()


class BudgetGate:
    """The bounded queue in front of one budget: by priority, then first come, first served.

    Only the first waiter of each sort sets a timer, for all waiters behind it. If hundreds woke for each message that
    leaves, the process could do nothing else.
    """

    def __init__(self, budget: Budget, clock: Clock, *, most_waiting: int) -> None:
        self.budget = budget
        self._clock = clock
        self._most_waiting = most_waiting
        self._waiting: dict[_Sort, list[_Waiting]] = {}
        """By sort, first come first; no list is empty."""
        self._count = 0
        self._arrivals = 0

    async def acquire(self, kind: CallKind, priority: Priority, deadline: float) -> Place:
        """Wait until `deadline` (monotonic seconds) for room, take it and return it.

        Raises `BudgetFull` at the deadline, or at once when `most_waiting` messages already wait; `DailyCapReached` as
        soon as the day has no room for the message.
        """
        if self._count >= self._most_waiting:
            raise BudgetFull
        self._arrivals += 1
        mine = _Waiting(kind=kind, priority=priority, number=self._arrivals)
        self._waiting.setdefault(mine.sort, []).append(mine)
        self._count += 1
        try:
            await self._wait_turn(mine, deadline)
        except BaseException:
            if mine.place is not None:  # taken for us while we were being cancelled
                self.give_back(mine.place)
            raise
        finally:
            self._leave(mine)
            if mine.sort in self._waiting:
                self._waiting[mine.sort][0].look_again()
        if mine.place is None:
            raise mine.refusal or BudgetFull
        return mine.place

    def try_take(self, kind: CallKind, priority: Priority) -> Place | None:
        """Take room that is free now; None where there is none, or where a message of this or a more urgent priority waits.

        Never waits. It gives the room to the message that `acquire` would give it to.
        """
        if any(first.priority <= priority for first in self._firsts()):
            return None
        try:
            return self.budget.take(kind, priority, Moment.of(self._clock))
        except BudgetFull:
            return None

    def give_back(self, place: Place) -> None:
        """Uncount a message whose connection never opened, and let the next message through."""
        self.budget.give_back(place)
        self._serve()

    def landed(self, place: Place) -> None:
        """Count a message at its answer, and wake the waiters so that they see whether their turn comes sooner."""
        self.budget.landed(place, Moment.of(self._clock))
        self._serve()
        for first in tuple(self._firsts()):
            first.look_again()

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
            wait = deadline - now.monotonic
            if self._waiting[mine.sort][0] is mine:
                # Only waiters ahead of this one can make its turn later; they call `_serve` when their own time has come.
                wait = min(wait, max(self.budget.wait_seconds(mine.kind, mine.priority, now), MARGIN_SECONDS))
            with trio.move_on_after(wait):
                await mine.called.wait()

    def _serve(self) -> None:
        """Give room to all waiters that can have it, lowest rank first. A waiter that finds no room never blocks waiters
        behind it that count against other windows."""
        now, full = Moment.of(self._clock), set[_Sort]()
        while waiting := min(
            (first for first in self._firsts() if first.sort not in full), key=lambda first: first.rank, default=None
        ):
            if not self.budget.room(waiting.kind, waiting.priority, now):
                full.add(waiting.sort)
                continue
            try:
                waiting.place = self.budget.take(waiting.kind, waiting.priority, now)
            except DailyCapReached as refusal:
                waiting.refusal = refusal
            self._leave(waiting)
            waiting.called.set()

    def _firsts(self) -> Iterator[_Waiting]:
        """Iterate over the first waiter of each sort."""
        return (waiting[0] for waiting in self._waiting.values())

    def _leave(self, mine: _Waiting) -> None:
        """Take the waiter out of the queue; do nothing if it was already served."""
        same = self._waiting.get(mine.sort, [])
        if mine in same:
            same.remove(mine)
            self._count -= 1
            if not same:
                del self._waiting[mine.sort]
