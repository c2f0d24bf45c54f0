"""The windows that count all calls, and whose share of them is whose (order-engine 4.5): counting under `budget.py`.

Some brokers' orders and reads share a few hundred calls a minute. None of them may starve another: an order that nobody can
read about holds up the next one, a cancel that nobody sees end holds up the very exit. In windows longer than a second, whose room comes
back late:

- entries and moves leave the last fifth to exits, more than half to all others together, and the floor of books untouched;
- moves of stops may use half of what is kept for exits and a little more than entries; exits and cancels take all but the floor of
  books, for money at risk comes first;
- books may use what entries leave, their own share of a third behind that, and their floor whatever others did; a sixth of the floor in
  each sixth of the window whatever they used themselves before. What somebody waits for may use all that is not kept for exits;
- quotes and the like leave the entries' quarter and the floor of books; candles of the past half of everything.

In a second one call of those kept for exits may be a book's where two or more are kept: a list of hundreds of entries takes all others, and
its orders are heard of meanwhile. Reads leave a fifth to the reads that somebody waits for (what a future needs, before a broker is chosen):
all books are read at once when the service starts, or after a fill, and who waits for an answer does not wait until their second is over.
Who else is first in a second is a matter of the queue.
"""

import math
from bisect import bisect_left
from collections.abc import Mapping

from onebroker.brokers.broker import Windows
from onebroker.brokers.requests import CallKind
from onebroker.brokers.transport.ledger import MARGIN_SECONDS, WINDOW_SECONDS, Ledger
from onebroker.brokers.transport.priorities import Priority, of_reserve

MOST_ORDERS = {Priority.ENTRY: 0.45, Priority.MOVE: 0.45, Priority.TIGHTEN: 0.55}
"""Share of a window that order messages may have filled when one more of this priority leaves; exits and cancels know none."""
KEPT_FOR_ENTRIES = 0.25
"""Share that reads leave to entries and moves, beside the exits'."""
SHARE_OF_BOOKS = 0.35
"""Share that books may use although others took the rest: more than they use at their cadence at most brokers."""
FLOOR_OF_BOOKS = 0.15
"""Share that is left to books by everything else. Of 300 calls a minute it is 45: the orders every two seconds, the positions every four."""
SPANS = 6
"""Of a window. Books that used much at its beginning still have a sixth of their floor in each, so that nothing goes unheard for long."""
KEPT_FOR_AWAITED = 0.2
"""Share of a second that reads leave to those that somebody waits for."""
KEPT_FOR_ALL_OTHERS = 0.5
"""Share, also of the seconds and the day, that candles of the past leave to everything else."""
SCARCE_SHARE = 0.4
"""Of a minute: more than books read at their cadence use by themselves. Reads that are spaced out from here on keep within their share."""
_OF_BOOKS = frozenset({Priority.BOOK, Priority.AWAITED})


class CallShares:
    """Send times of all calls of one broker against its rolling call windows."""

    def __init__(self, windows: Windows, exit_share: float) -> None:
        self._all = Ledger(windows, exit_share)
        self._of_kind = {kind: Ledger(windows, exit_share) for kind in (CallKind.ORDER, CallKind.READ)}

    @property
    def limits(self) -> Mapping[str, int]:
        """Window name -> calls it allows."""
        return self._all.limits

    def ledgers(self, kind: CallKind) -> list[Ledger]:
        """Return all that a call of this kind counts against."""
        return [self._all, *([self._of_kind[kind]] if kind in self._of_kind else [])]

    def wait_seconds(self, kind: CallKind, priority: Priority, now: float) -> float:
        """Return how long until every window has room for one more call; 0 = now, infinity = never."""
        if priority is Priority.BULK:
            return self._all.wait_seconds(now, of_reserve=0.0, also_kept=KEPT_FOR_ALL_OTHERS)
        self._forget(now)
        return max((self._wait(kind, priority, name, now) for name in self._all.limits), default=0.0)

    def room(self, kind: CallKind, priority: Priority, now: float) -> dict[str, int]:
        """Return what is left for such a call in each window, never below 0."""
        self._forget(now)
        return {name: max(0, self._left(kind, priority, name, now)) for name in self._all.limits}

    def left(self, now: float) -> dict[str, int]:
        """Return what is left in each window for all together."""
        return self._all.room(now, of_reserve=1.0)

    def scarce(self, now: float) -> bool:
        """Whether so much of the minute is used that reads are to be spaced out."""
        limit = self._all.limits.get("minute")
        return limit is not None and self._all.count(now, WINDOW_SECONDS["minute"]) >= limit * SCARCE_SHARE

    def _forget(self, now: float) -> None:
        for ledger in (self._all, *self._of_kind.values()):
            ledger.forget(now)

    def _wait(self, kind: CallKind, priority: Priority, name: str, now: float) -> float:
        if self._left(kind, priority, name, now) > 0:
            return 0.0
        # A call that leaves the window never makes room smaller: the first whose leaving makes some is sought.
        ends = [at + MARGIN_SECONDS for at in self._ends(priority, WINDOW_SECONDS[name], now)]
        first = bisect_left(ends, True, key=lambda end: self._left(kind, priority, name, end) > 0)
        return ends[first] - now if first < len(ends) else math.inf

    def _ends(self, priority: Priority, length: float, now: float) -> list[float]:
        """Return when room may come back, soonest first."""
        ends = self._all.ends(now, length)
        if priority in _OF_BOOKS and length > 1.0:
            return sorted([*ends, *self._of_kind[CallKind.READ].ends(now, length / SPANS)])
        return ends

    def _left(self, kind: CallKind, priority: Priority, name: str, now: float) -> int:
        """Return what is left for a call in one window, negative where others took what would be left to them."""
        limit, kept, length = self._all.limits[name], self._all.kept[name], WINDOW_SECONDS[name]
        used = self._all.count(now, length)
        reads = self._of_kind[CallKind.READ].count(now, length)
        if length <= 1.0:
            return _left_in_a_second(kind, priority, limit, kept, used, reads)
        usable = limit - kept
        orders = self._of_kind[CallKind.ORDER].count(now, length)
        if kind is CallKind.ORDER:
            most = usable + math.floor(kept * of_reserve(priority))
            return min(
                most - used,
                _at_least_one(most - limit * FLOOR_OF_BOOKS) - (used - reads),
                _at_least_one(limit * MOST_ORDERS.get(priority, 1.0)) - orders,
            )
        if of_reserve(priority) == 1.0:  # a login, the first read of a book
            return limit - used
        unclaimed = _at_least_one(usable - limit * KEPT_FOR_ENTRIES)
        if priority in _OF_BOOKS:
            share, floor = math.floor(limit * SHARE_OF_BOOKS), math.floor(limit * FLOOR_OF_BOOKS)
            lately = self._of_kind[CallKind.READ].count(now, length / SPANS)
            unused = max(0, math.ceil(limit * KEPT_FOR_ENTRIES - 1e-9) - orders)
            return max(
                unclaimed - used,
                min(share - reads, usable - unused - used),
                min(floor - reads, limit - used),
                min(_at_least_one(floor / SPANS) - lately, usable - used),
                usable - used if priority is Priority.AWAITED else 0,
            )
        return min(unclaimed - used, _at_least_one(unclaimed - limit * FLOOR_OF_BOOKS) - (used - reads))


def _left_in_a_second(kind: CallKind, priority: Priority, limit: int, kept: int, used: int, reads: int) -> int:
    usable, of_books = limit - kept, 1 if kept > 1 else 0
    if share := of_reserve(priority):
        return usable + math.floor(kept * share) - used
    left = usable - (used - min(reads, of_books))
    if kind is not CallKind.ORDER and priority is not Priority.AWAITED:
        left -= max(0, min(math.floor(limit * KEPT_FOR_AWAITED), usable - 1))
    return max(left, min(of_books - reads, limit - used)) if priority in _OF_BOOKS else left


def _at_least_one(share: float) -> int:
    """Return a share in whole calls: rounded down, but nobody is shut out for good."""
    return max(1, math.floor(share + 1e-9))
