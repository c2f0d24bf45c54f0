"""Send times of one sort of message against rolling windows (order-engine 4.5): the counting under `budget.py`.

Exact, not by buckets: a time is kept until the longest window has passed it, so at most that window's limit of times is
kept. Nothing here knows priorities, days or brokers.
"""

import math
from bisect import bisect_left, bisect_right, insort

from onebroker.brokers.broker import Windows

WINDOW_SECONDS = {"second": 1.0, "minute": 60.0, "half_hour": 1800.0, "hour": 3600.0}
"""Fields of `Windows` that are rolling windows, and their lengths."""

MARGIN_SECONDS = 0.001
"""Added to every wait, so that rounding of floats never ends it a moment too early."""


class Ledger:
    """Send times of one sort of message (orders, or all calls) against its windows."""

    def __init__(self, windows: Windows, exit_share: float) -> None:
        self._limits = {
            name: limit for name in WINDOW_SECONDS if (limit := getattr(windows, name)) is not None
        }  # window name -> limit
        self._exit_share = exit_share
        self._longest = max((WINDOW_SECONDS[name] for name in self._limits), default=0.0)
        self._times: list[float] = []  # ascending

    def add(self, at: float, count: int = 1) -> None:
        """Count `count` messages sent at `at`."""
        if not self._limits:
            return
        for _ in range(count):
            insort(self._times, at)

    def remove(self, at: float) -> bool:
        """Uncount one message counted at `at`; False when it is forgotten already."""
        place = bisect_left(self._times, at)
        found = place < len(self._times) and self._times[place] == at
        if found:
            del self._times[place]
        return found

    def move(self, at: float, to: float) -> None:
        """Count one message at `to` instead of `at`, unless it is forgotten already."""
        if self.remove(at):
            insort(self._times, to)

    def room(self, now: float, *, reserve_too: bool) -> dict[str, int]:
        """Return what is left in each window, never below 0."""
        self._forget(now)
        return {
            name: max(0, self._usable(limit, reserve_too) - self._count(now, WINDOW_SECONDS[name]))
            for name, limit in self._limits.items()
        }

    def wait_seconds(
        self, now: float, *, reserve_too: bool, also_kept: float = 0.0, seconds_too: bool = False
    ) -> float:
        """Return how long until every window has room for one more; 0 = now.

        `also_kept` is a share of each window longer than a second that this one leaves beside the exits' (reads leave some to
        entries; a second's room is back before an order misses it), and of windows of a second too where `seconds_too`.
        """
        self._forget(now)
        wait = 0.0
        for name, limit in self._limits.items():
            length = WINDOW_SECONDS[name]
            usable = self._usable(limit, reserve_too, also_kept if length > 1.0 or seconds_too else 0.0)
            if usable <= 0:
                return math.inf
            if self._count(now, length) >= usable:
                wait = max(wait, self._times[-usable] + length - now + MARGIN_SECONDS)
        return wait

    def _usable(self, limit: int, reserve_too: bool, also_kept: float = 0.0) -> int:
        if reserve_too:
            return limit
        usable = limit - kept_for_exits(limit, self._exit_share)
        return max(min(1, usable), usable - math.ceil(limit * also_kept - 1e-9))

    def _count(self, now: float, length: float) -> int:
        # The window reaches back to, but not over, now - length: two messages exactly that far apart never share one.
        return len(self._times) - bisect_right(self._times, now - length)

    def _forget(self, now: float) -> None:
        del self._times[: bisect_right(self._times, now - self._longest)]


def kept_for_exits(limit: int, share: float) -> int:
    """Return how many of a window's messages are kept for exits: the share rounded up, at least 1, never all of them."""
    return max(0, min(limit - 1, max(1, math.ceil(limit * share - 1e-9))))
