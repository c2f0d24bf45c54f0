"""Quotes as the rules of plans see them. Each quote is worked out once, however many plans look at it."""

from onebroker.actors.engine.plan.market import Seen, seen
from onebroker.actors.quotes.tick_fold import Quote
from onebroker.actors.quotes.usable_quotes import last_price_acts

MOST_KEPT = 2048
"""Beyond this number the oldest are dropped, and worked out again when asked for."""


class SeenQuotes:
    """Shared by all plans of an engine."""

    def __init__(self) -> None:
        self._kept: dict[int, tuple[Quote, Seen]] = {}
        """By the quote's identity, which stays unique as long as the quote is kept here."""

    def of(self, quote: Quote) -> Seen:
        kept = self._kept.get(id(quote))
        if kept is None:
            if len(self._kept) >= MOST_KEPT:
                del self._kept[next(iter(self._kept))]
            kept = self._kept[id(quote)] = (
                quote,
                seen(quote.tick, quote.received_at, last_price_acts=last_price_acts(quote)),
            )
        return kept[1]
