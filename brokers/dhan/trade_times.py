"""How Dhan's feed counts trade times: the Indian wall clock counted as if it were UTC, 19,800 s ahead of the epoch.

Two public live clients found this, and the official SDK agrees. The documents call it EPOCH, and no raw capture was seen.
So every connection checks the rule: the first trade that happens during the connection cannot be older than the
connection. This tells the two ways of counting apart.
"""

from typing import Final

from onebroker.brokers.codec.fields import epoch_seconds

SHIFT_SECONDS: Final = 19_800
"""India's offset from UTC."""
_HALF: Final = SHIFT_SECONDS / 2


class TradeTimes:
    """The way in which one connection counts trade times."""

    def __init__(self, opened: float) -> None:
        """`opened` is the epoch second at which the connection began; 0 = not known, and nothing is checked."""
        self._opened = opened
        self._shift = SHIFT_SECONDS
        self._checked = not opened
        self._first: dict[str, int] = {}

    def epoch(self, token: str, written: int) -> float | None:
        """Return a packet's trade time as epoch seconds; None for zero and for a time outside 1970 to 2100."""
        if epoch_seconds(written) is None:
            return None
        if not self._checked:
            self._check(token, written)
        return float(written - self._shift)

    def _check(self, token: str, written: int) -> None:
        """Find the way of counting from a trade time that moved since the instrument's first packet: that trade happened
        now. Without a shift it lies after the connection's start by about the connection's age, with the shift by 19,800
        s more. A time nearer to the start is not shifted."""
        if written <= self._first.setdefault(token, written):
            return
        self._shift = 0 if written < self._opened + _HALF else SHIFT_SECONDS
        self._checked = True
        self._first.clear()
