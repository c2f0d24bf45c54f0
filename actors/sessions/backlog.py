"""What is kept of quotes that nobody has read yet: all of them, in their order, up to a bound; of more, what matters most."""

from collections.abc import Sequence
from typing import Protocol, TypeVar

from onebroker.brokers.records import Tick

MOST_UNREAD = 64
"""Quotes of one instrument; they are read within milliseconds, so that more are rare."""


class HasTick(Protocol):
    @property
    def tick(self) -> Tick: ...


Q = TypeVar("Q", bound=HasTick)


def outline(quotes: Sequence[Q]) -> list[Q]:
    """Return the first, the lowest, the highest and the newest by last price, in their order."""
    prices = [quote.tick.last_price for quote in quotes]
    kept = {0, prices.index(min(prices)), prices.index(max(prices)), len(quotes) - 1}
    return [quotes[number] for number in sorted(kept)]
