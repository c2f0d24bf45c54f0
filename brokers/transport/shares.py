"""The windows that count all calls, and whose share of them is whose (order-engine 4.5): counting under `budget.py`.

Some brokers' orders and reads share a few hundred calls a minute. None of them may starve another for long:

- the last share of each window is kept for exits, as in every other;
- reads leave a quarter to entries and moves, and those a quarter to reads: less what each has used of its own quarter already.
  An order has reads in its wake, without which nobody knows what it became;
- exits take everything else, but not the last 15 %, less what was read: money at risk comes first, yet a cancel that nobody
  sees end, or a position that nobody could read, holds up the very exit. Of 300 calls a minute it is 45: the orders every two seconds
  and the positions every four. Only books may use it;
- quotes and the like leave both quarters.

Shares are of windows longer than a second, whose room comes back too late; who is first in a second is a matter of the queue.
"""

import math
from bisect import bisect_left

from onebroker.brokers.broker import Windows
from onebroker.brokers.requests import CallKind
from onebroker.brokers.transport.ledger import MARGIN_SECONDS, WINDOW_SECONDS, Ledger, kept_for_exits
from onebroker.brokers.transport.priorities import FROM_RESERVE, Priority

KEPT_FOR_ENTRIES = 0.25
"""Share that reads leave to entries and moves."""
KEPT_FOR_READS = 0.25
"""Share that entries and moves leave to reads."""
FLOOR_OF_READS = 0.15
"""Share that exits leave to reads, of which books alone may use it; rounded down, so that a window of a few calls is all theirs."""
KEPT_FOR_ALL_OTHERS = 0.5
"""Share, also of the seconds and the day, that candles of the past leave to everything else."""
SCARCE_SHARE = 0.35
"""More than books read at their cadence use by themselves; reads that are spaced out from here on keep within their quarter."""


class CallShares:
    """Send times of all calls of one broker against its rolling call windows."""

    def __init__(self, windows: Windows, exit_share: float) -> None:
        self._exit_share = exit_share
        self._all = Ledger(windows, exit_share)
        self._of_kind = {kind: Ledger(windows, exit_share) for kind in (CallKind.ORDER, CallKind.READ)}

    def ledgers(self, kind: CallKind) -> list[Ledger]:
        """Return all that a call of this kind counts against."""
        return [self._all, *([self._of_kind[kind]] if kind in self._of_kind else [])]

    def wait_seconds(self, kind: CallKind, priority: Priority, now: float) -> float:
        """Return how long until every window has room for one more call; 0 = now, infinity = never."""
        if priority is Priority.BULK:
            return self._all.wait_seconds(now, reserve_too=False, also_kept=KEPT_FOR_ALL_OTHERS, seconds_too=True)
        for ledger in (self._all, *self._of_kind.values()):
            ledger.forget(now)
        return max((self._wait(kind, priority, name, now) for name in self._all.limits), default=0.0)

    def room(self, kind: CallKind, priority: Priority, now: float) -> dict[str, int]:
        """Return what is left for such a call in each window, never below 0."""
        return {name: max(0, self._left(kind, priority, name, now)) for name in self._all.limits}

    def left(self, now: float) -> dict[str, int]:
        """Return what is left in each window for all together."""
        return self._all.room(now, reserve_too=True)

    def scarce(self, now: float) -> bool:
        """Whether so much of a window longer than a second is used that reads are to be spaced out."""
        return any(
            self._all.count(now, WINDOW_SECONDS[name]) >= limit * SCARCE_SHARE
            for name, limit in self._all.limits.items()
            if WINDOW_SECONDS[name] > 1.0
        )

    def _wait(self, kind: CallKind, priority: Priority, name: str, now: float) -> float:
        if self._left(kind, priority, name, now) > 0:
            return 0.0
        # A call that leaves the window never makes room smaller: the first whose leaving makes some is sought.
        ends = [at + MARGIN_SECONDS for at in self._all.ends(now, WINDOW_SECONDS[name])]
        first = bisect_left(ends, True, key=lambda end: self._left(kind, priority, name, end) > 0)
        return ends[first] - now if first < len(ends) else math.inf

    def _left(self, kind: CallKind, priority: Priority, name: str, now: float) -> int:
        """Return what is left for a call in one window, negative where others took what would be left to them."""
        limit, length = self._all.limits[name], WINDOW_SECONDS[name]
        used = self._all.count(now, length)
        reads = self._of_kind[CallKind.READ].count(now, length)
        shared = length > 1.0
        floor = math.floor(limit * FLOOR_OF_READS + 1e-9) if shared else 0
        if priority in FROM_RESERVE:
            return max(1, limit - max(0, floor - reads)) - used
        usable = limit - kept_for_exits(limit, self._exit_share)
        if not shared:
            return usable - used
        orders = self._of_kind[CallKind.ORDER].count(now, length)
        kept_for_entries = _unused(limit, KEPT_FOR_ENTRIES, orders)
        kept_for_reads = _unused(limit, KEPT_FOR_READS, reads)
        match kind:
            case CallKind.ORDER:
                kept = kept_for_reads
            case CallKind.READ:
                kept = kept_for_entries
            case _:
                kept = kept_for_entries + kept_for_reads
        left = max(1, usable - kept) - used
        return max(left, min(floor - reads, limit - used)) if priority is Priority.BOOK else left


def _unused(limit: int, share: float, used: int) -> int:
    return max(0, math.ceil(limit * share - 1e-9) - used)
