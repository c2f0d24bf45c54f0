"""How Dhan's feed counts trade times: as the Indian wall clock counted as if it were UTC, 19,800 s ahead of the epoch.

Two public live clients found it so and the official SDK agrees; the documents call it EPOCH, and no raw capture was seen. So the
rule is checked on every connection: the first trade that happens while we listen is not older than the connection, and
tells the two ways of counting apart.
"""

from typing import Final

from onebroker.brokers.codec.fields import epoch_seconds

SHIFT_SECONDS: Final = 19_800
"""India's offset from UTC."""
_HALF: Final = SHIFT_SECONDS / 2


class TradeTimes:
    """One connection's way of counting."""

    def __init__(self, opened: float) -> None:
        """`opened` is the epoch second at which the connection began; 0 = not known, and nothing is checked."""
        self._opened = opened
        self._shift = SHIFT_SECONDS
        self._checked = not opened
        self._first: dict[str, int] = {}

    def epoch(self, token: str, written: int) -> float | None:
        """Return a packet's trade time as epoch seconds; zero is none, and so is what is no time of these centuries."""
        if epoch_seconds(written) is None:
            return None
        if not self._checked:
            self._check(token, written)
        return float(written - self._shift)

    def _check(self, token: str, written: int) -> None:
        """A trade time that moved since the instrument's first packet is a trade of now: about the connection's age after its
        beginning, or that and the shift. What lies nearer to the beginning is not shifted."""
        if written <= self._first.setdefault(token, written):
            return
        self._shift = 0 if written < self._opened + _HALF else SHIFT_SECONDS
        self._checked = True
        self._first.clear()
