"""How unread quotes are kept: all of them in order, up to a bound; beyond it, only the most important."""

from collections.abc import Sequence
from typing import Protocol, TypeVar

from onebroker.brokers.records import Tick

MOST_UNREAD = 64
"""The most unread quotes of one instrument. Quotes are read within milliseconds, so more are rare."""


class HasTick(Protocol):
    @property
    def tick(self) -> Tick: ...


Q = TypeVar("Q", bound=HasTick)


def outline(quotes: Sequence[Q]) -> list[Q]:
    """Return the first quote, the ones with the lowest and the highest last price, and the newest, in their order."""
    prices = [quote.tick.last_price for quote in quotes]
    kept = {0, prices.index(min(prices)), prices.index(max(prices)), len(quotes) - 1}
    return [quotes[number] for number in sorted(kept)]
