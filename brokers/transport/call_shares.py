"""The windows that count all calls, and how their room is shared (order-engine 4.5): counting under `budget.py`.

Some brokers' orders and reads share a few hundred calls a minute. Neither may starve the other. If an order cannot be
read back, the next order waits; if the end of a cancel is not seen, even the exit waits. The rules in windows longer than
a second, whose room comes back late:

- Entries and moves leave the last fifth to exits, more than half to all other calls together, and the floor of books
  untouched.
- Moves of stops may use half of the room kept for exits, and a little more than entries. Exits and cancels may use all
  but the floor of books, because money at risk comes first.
- Books may use what entries leave. Beyond that they have a share of their own, a third, and their floor whatever others
  used. In each sixth of the window they have a sixth of the floor, whatever they used before. A read that somebody waits
  for may use all room that is not kept for exits.
- Quotes and similar calls leave the entries' quarter and the floor of books; historical candles leave half of everything.

In one-second windows a book may use one of the calls kept for exits, where two or more are kept. So while a list of
hundreds of entries takes all other calls, its orders are still read. Reads leave a fifth to the reads that somebody waits
for (what a future needs, before a broker is chosen). All books are read at once when the service starts, or after a fill;
a caller that waits for an answer does not also wait for that second to end. Within one second the queue's order decides
the rest.
"""

import math
from bisect import bisect_left
from collections.abc import Mapping

from onebroker.brokers.broker import Windows
from onebroker.brokers.requests import CallKind
from onebroker.brokers.transport.priorities import Priority, of_reserve
from onebroker.brokers.transport.rolling_windows import MARGIN_SECONDS, WINDOW_SECONDS, Ledger

MOST_ORDERS = {Priority.ENTRY: 0.45, Priority.MOVE: 0.45, Priority.TIGHTEN: 0.55}
"""Share of a window that order messages may fill, including a new message of this priority; exits and cancels have no such limit."""
KEPT_FOR_ENTRIES = 0.25
"""Share that reads leave to entries and moves, in addition to the exits' share."""
SHARE_OF_BOOKS = 0.35
"""Share that books may use even when others took the rest: more than books need at their cadence at most brokers."""
FLOOR_OF_BOOKS = 0.15
"""Share that all other calls leave to books. Of 300 calls a minute it is 45: the orders every two seconds, the positions every four."""
SPANS = 6
"""Parts of a window. Books that used much at its beginning still have a sixth of their floor in each part, so that no
change stays unread for long."""
KEPT_FOR_AWAITED = 0.2
"""Share of a second that reads leave to the reads that somebody waits for."""
KEPT_FOR_ALL_OTHERS = 0.5
"""Share that historical candles leave to everything else; also of one-second windows and of the day."""
SCARCE_SHARE = 0.4
"""Share of a minute: more than books use by themselves at their cadence. When this share is used, reads are spaced out
and so stay within their share."""
_OF_BOOKS = frozenset({Priority.BOOK, Priority.AWAITED})


class CallShares:
    """Send times of all calls of one broker against its rolling call windows."""

    def __init__(self, windows: Windows, exit_share: float) -> None:
        self._all = Ledger(windows, exit_share)
        self._of_kind = {kind: Ledger(windows, exit_share) for kind in (CallKind.ORDER, CallKind.READ)}

    @property
    def limits(self) -> Mapping[str, int]:
        """Window name -> calls that it allows."""
        return self._all.limits

    def ledgers(self, kind: CallKind) -> list[Ledger]:
        """Return all ledgers that a call of this kind counts against."""
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
        """Return what is left in each window for all calls together."""
        return self._all.room(now, of_reserve=1.0)

    def scarce(self, now: float) -> bool:
        """Whether so much of the minute is used that reads must be spaced out."""
        limit = self._all.limits.get("minute")
        return limit is not None and self._all.count(now, WINDOW_SECONDS["minute"]) >= limit * SCARCE_SHARE

    def _forget(self, now: float) -> None:
        for ledger in (self._all, *self._of_kind.values()):
            ledger.forget(now)

    def _wait(self, kind: CallKind, priority: Priority, name: str, now: float) -> float:
        if self._left(kind, priority, name, now) > 0:
            return 0.0
        # A call that leaves the window never reduces the room: find the first call whose leaving makes room.
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
        """Return what is left for a call in one window; negative where others used room that was meant for it."""
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
    """Return a share in whole calls, rounded down but at least 1: no call is shut out for good."""
    return max(1, math.floor(share + 1e-9))
