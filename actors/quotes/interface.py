"""Quotes as other actors read them, without awaiting."""

from collections.abc import Iterable
from typing import Protocol

from onebroker.actors.quotes.fold import Quote
from onebroker.actors.quotes.followers import Follower
from onebroker.brokers.records import Tick


class QuoteReader(Protocol):
    def usable_price(self, instrument_id: str) -> float | None:
        """Return the last price of the unified quote when usable by the rule of rules 1.4.7 (rounded as quotes are)."""

    def usable_tick(self, instrument_id: str) -> Tick | None:
        """Return the unified quote's tick when it may be acted on (order-engine 0, usable quote), else None."""


class LiveQuotes(QuoteReader, Protocol):
    def usable_quote(self, instrument_id: str) -> Quote | None:
        """Return the unified quote that `usable_tick` is of, with when it was received."""

    def is_usable(self, instrument_id: str, quote: Quote) -> bool:
        """Tell whether a unified quote of a moment ago may be acted on, by the rule of `usable_tick`."""

    def is_stale(self, instrument_id: str) -> bool:
        """Tell whether a live quote is there that may not be acted on any more."""

    def follow(self, instrument_ids: Iterable[str]) -> Follower:
        """Return a follower of these instruments, to be closed: the feeds carry them as long, and it hears of each change."""
