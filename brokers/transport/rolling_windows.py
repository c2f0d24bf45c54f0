"""Send times of one sort of message, counted in rolling windows (order-engine 4.5): the counting under `budget.py`.

The count is exact, without buckets. A time is stored until the longest window has passed it, so at most that window's
limit of times is stored. This module knows no priorities, days or brokers.
"""

import math
from bisect import bisect_left, bisect_right, insort

from onebroker.brokers.broker import Windows

WINDOW_SECONDS = {"second": 1.0, "minute": 60.0, "half_hour": 1800.0, "hour": 3600.0}
"""The fields of `Windows` that are rolling windows, and their lengths."""

MARGIN_SECONDS = 0.001
"""Added to every wait, so that float rounding never ends a wait a moment too early."""


class Ledger:
    """Send times of one sort of message (orders, or all calls), counted in its windows."""

    def __init__(self, windows: Windows, exit_share: float) -> None:
        self.limits: dict[str, int] = {
            name: limit for name in WINDOW_SECONDS if (limit := getattr(windows, name)) is not None
        }
        """Window name -> limit."""
        self.kept: dict[str, int] = {name: kept_for_exits(limit, exit_share) for name, limit in self.limits.items()}
        """Window name -> how many messages of it are kept for exits."""
        self._longest = max((WINDOW_SECONDS[name] for name in self.limits), default=0.0)
        self._times: list[float] = []  # ascending

    def add(self, at: float, count: int = 1) -> None:
        """Count `count` messages sent at `at`."""
        if not self.limits:
            return
        for _ in range(count):
            insort(self._times, at)

    def remove(self, at: float) -> bool:
        """Uncount one message counted at `at`; return False when its time is already forgotten."""
        place = bisect_left(self._times, at)
        found = place < len(self._times) and self._times[place] == at
        if found:
            del self._times[place]
        return found

    def move(self, at: float, to: float) -> None:
        """Count one message at `to` instead of `at`, unless its time is already forgotten."""
        if self.remove(at):
            insort(self._times, to)

    def room(self, now: float, *, of_reserve: float) -> dict[str, int]:
        """Return what is left in each window, never below 0. `of_reserve` is the usable share of the messages kept for exits."""
        self.forget(now)
        return {
            name: max(0, self._usable(name, of_reserve) - self.count(now, WINDOW_SECONDS[name])) for name in self.limits
        }

    def wait_seconds(self, now: float, *, of_reserve: float, also_kept: float = 0.0) -> float:
        """Return how long until every window has room for one more message; 0 = now.

        `of_reserve` is the usable share of the messages kept for exits. `also_kept` is a further share of each window
        that this message leaves to others.
        """
        self.forget(now)
        wait = 0.0
        for name in self.limits:
            length = WINDOW_SECONDS[name]
            usable = self._usable(name, of_reserve, also_kept)
            if usable <= 0:
                return math.inf
            if self.count(now, length) >= usable:
                wait = max(wait, self._times[-usable] + length - now + MARGIN_SECONDS)
        return wait

    def _usable(self, name: str, of_reserve: float, also_kept: float = 0.0) -> int:
        limit, kept = self.limits[name], self.kept[name]
        usable = limit - kept + math.floor(kept * of_reserve)
        return max(min(1, usable), usable - math.ceil(limit * also_kept - 1e-9))

    def ends(self, now: float, length: float) -> list[float]:
        """Return when each message in a window of this length leaves it, soonest first."""
        return [at + length for at in self._times[bisect_right(self._times, now - length) :]]

    def count(self, now: float, length: float) -> int:
        """Return how many messages are in a window of this length that ends now."""
        # The window excludes the instant now - length itself: two messages exactly that far apart never share a window.
        return len(self._times) - bisect_right(self._times, now - length)

    def forget(self, now: float) -> None:
        """Drop the times that every window has passed."""
        del self._times[: bisect_right(self._times, now - self._longest)]


def kept_for_exits(limit: int, share: float) -> int:
    """Return how many of a window's messages are kept for exits: the share rounded up, at least 1, never all of them."""
    return max(0, min(limit - 1, max(1, math.ceil(limit * share - 1e-9))))
