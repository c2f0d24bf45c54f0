"""What the quote book holds: live quotes per instrument and broker, and quotes fetched over REST.

Written by the quote book's actor only; read by anybody, without awaiting (every quote in it is immutable).
"""

from collections.abc import Callable, Iterator, Sequence

import msgspec

from onebroker.actors.quotes.fold import Quote, fold, unified
from onebroker.brokers.records import Tick

FETCHED_SECONDS = 2 * 24 * 3600
"""How long a fetched quote is kept (spec 1 §4.7)."""


class QuoteBook:
    """`order` is the brokers' priority."""

    def __init__(self, order: Sequence[str]) -> None:
        self._order = tuple(order)
        self._live: dict[str, dict[str, Quote]] = {}
        self._fetched: dict[str, Quote] = {}
        self._changed: set[str] = set()
        self.dropped = 0
        """Ticks without a price, or older than the one held of that broker."""

    # Reading

    def live(self, instrument_id: str) -> Quote | None:
        """Return the unified quote."""
        by_broker = self._live.get(instrument_id)
        return None if by_broker is None else unified(by_broker, self._order)

    def fetched(self, instrument_id: str) -> Quote | None:
        return self._fetched.get(instrument_id)

    def newest(self, instrument_id: str) -> Quote | None:
        """Return the live or the fetched quote, whichever was received more recently (spec 1 §4.7, rule 1)."""
        live, fetched = self.live(instrument_id), self._fetched.get(instrument_id)
        if live is None or fetched is None:
            return live or fetched
        return fetched if fetched.received_at > live.received_at else live

    def __iter__(self) -> Iterator[str]:
        return iter(self._live)

    # Writing (the actor only)

    def take(self, instrument_id: str, broker: str, tick: Tick, received_at: float) -> bool:
        """Fold in one tick; tell whether it was taken."""
        by_broker = self._live.setdefault(instrument_id, {})
        quote = fold(by_broker.get(broker), broker, tick, received_at)
        if quote is None:
            self.dropped += 1
            return False
        by_broker[broker] = quote
        self._changed.add(instrument_id)
        return True

    def restore(self, instrument_id: str, quote: Quote) -> None:
        """Put back a quote from the store, with the time at which it was truly received."""
        self._live.setdefault(instrument_id, {})[quote.broker] = quote

    def keep_fetched(self, instrument_id: str, quote: Quote) -> None:
        self._fetched[instrument_id] = quote

    def forget_fetched(self, before: float) -> None:
        """Drop fetched quotes received before `before` (epoch seconds)."""
        for instrument_id in [key for key, quote in self._fetched.items() if quote.received_at < before]:
            del self._fetched[instrument_id]

    def mark_stale(self, orphaned: Callable[[str, str], bool], now: float) -> None:
        """Mark every live quote for which `orphaned(instrument_id, broker)`: no feed renews it. A new tick ends that."""
        for instrument_id, by_broker in self._live.items():
            for broker, quote in by_broker.items():
                if quote.stale_since is None and orphaned(instrument_id, broker):
                    by_broker[broker] = msgspec.structs.replace(quote, stale_since=now)
                    self._changed.add(instrument_id)

    def drain_changed(self) -> dict[str, Quote]:
        """Return the unified quote of each instrument that changed since the last call."""
        changed, self._changed = self._changed, set()
        quotes = ((instrument_id, self.live(instrument_id)) for instrument_id in sorted(changed))
        return {instrument_id: quote for instrument_id, quote in quotes if quote is not None}
