"""What the quote book holds: live quotes per instrument and broker, and quotes fetched over REST.

Only the quote book's actor writes it. Everybody may read it without awaiting, because every quote in it is immutable. For each
instrument it holds one live quote per broker and one fetched quote, for at most MOST_KEPT instruments.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from heapq import nsmallest
from typing import TypeVar

import msgspec

from onebroker.actors.quotes.doubted_ticks import Doubts, leaps_alone, strays
from onebroker.actors.quotes.followers import Followers
from onebroker.actors.quotes.tick_fold import Quote, fold, unified
from onebroker.brokers.records import Tick

H = TypeVar("H")

FETCHED_SECONDS = 2 * 24 * 3600
"""How long a fetched quote is kept (rules 1.4.7)."""
LIVE_SECONDS = 10 * 24 * 3600.0
"""A live quote older than this is useless: no market stays closed so long."""
MOST_KEPT = 50_000
"""Most instruments with a live quote, and most with a fetched quote. Beyond it the oldest are dropped."""


class QuoteBook:
    """`order` is the brokers' priority."""

    def __init__(self, order: Sequence[str], *, followers: Followers | None = None) -> None:
        self._order = tuple(order)
        self._live: dict[str, dict[str, Quote]] = {}
        self._fetched: dict[str, Quote] = {}
        self._ticked: set[str] = set()
        self._marked: set[str] = set()
        self.followers = Followers() if followers is None else followers
        self.dropped = 0
        """Number of ticks without a price, or older than the quote held for that broker."""
        self.doubts = Doubts()
        self.held_back = 0
        """Number of ticks that had to wait for a second source or a second tick (`doubted_ticks.py`)."""

    # Reading

    def live(self, instrument_id: str) -> Quote | None:
        """Return the unified quote."""
        by_broker = self._live.get(instrument_id)
        return None if by_broker is None else unified(by_broker, self._order)

    def of_brokers(self, instrument_id: str) -> Mapping[str, Quote]:
        """Return the live quote held for each broker."""
        return self._live.get(instrument_id, {})

    def fetched(self, instrument_id: str) -> Quote | None:
        return self._fetched.get(instrument_id)

    def newest(self, instrument_id: str) -> Quote | None:
        """Return the live or the fetched quote, whichever was received more recently (rules 1.4.7-1)."""
        live, fetched = self.live(instrument_id), self._fetched.get(instrument_id)
        if live is None or fetched is None:
            return live or fetched
        return fetched if fetched.received_at > live.received_at else live

    def __iter__(self) -> Iterator[str]:
        """Iterate over the instruments with a live quote."""
        return iter(self._live)

    def __len__(self) -> int:
        return len(self._live)

    # Writing (the actor only)

    def take(self, instrument_id: str, broker: str, tick: Tick, received_at: float) -> Quote | None:
        """Fold in one tick. Return the quote now held for that broker, or None when the tick was dropped or held back."""
        by_broker = self._live.get(instrument_id)
        quote = fold(None if by_broker is None else by_broker.get(broker), broker, tick, received_at)
        if quote is None:
            self.dropped += 1
            return None
        if by_broker is None:
            by_broker = self._live[instrument_id] = {}
        if self.doubts.holds_back(instrument_id, quote, by_broker, self._fetched.get(instrument_id)):
            self.held_back += 1
            if not by_broker:
                del self._live[instrument_id]
            return None
        taken = self._put(instrument_id, quote, by_broker)
        for confirmed in self.doubts.released(instrument_id, quote):
            self._put(instrument_id, confirmed, by_broker)
        return taken

    def _put(self, instrument_id: str, quote: Quote, by_broker: dict[str, Quote]) -> Quote:
        if strays(quote, by_broker.get(quote.broker), by_broker.values()):
            quote = msgspec.structs.replace(quote, stray=True)
        by_broker[quote.broker] = quote
        self._ticked.add(instrument_id)
        self._tell(instrument_id)
        return quote

    def _tell(self, instrument_id: str) -> None:
        if self.followers.follows(instrument_id):
            self.followers.changed(instrument_id, self.live(instrument_id))

    def restore(self, instrument_id: str, quote: Quote) -> None:
        """Put back a live quote from the store, with its true time of receipt. A quote already held for that broker stays."""
        held = msgspec.structs.replace(quote, restored=True)
        self._live.setdefault(instrument_id, {}).setdefault(quote.broker, held)

    def restore_fetched(self, instrument_id: str, quote: Quote) -> None:
        """Put back a fetched quote from the store. A fetched quote already held stays."""
        self._fetched.setdefault(instrument_id, quote)

    def keep_fetched(self, instrument_id: str, quote: Quote) -> None:
        if leaps_alone(quote, self.live(instrument_id), self._fetched.get(instrument_id)):
            quote = msgspec.structs.replace(quote, stray=True)
        self._fetched[instrument_id] = quote
        for confirmed in self.doubts.released(instrument_id, quote):
            self._put(instrument_id, confirmed, self._live.setdefault(instrument_id, {}))
        self.followers.changed(instrument_id)

    def mark_stale(self, instrument_ids: Iterable[str], orphaned: Callable[[str, Quote], bool], now: float) -> None:
        """Mark the live quotes of these instruments for which `orphaned(instrument_id, quote)` is true: no feed renews them. A new
        tick clears the mark."""
        for instrument_id in instrument_ids:
            by_broker = self._live.get(instrument_id, {})
            for broker, quote in by_broker.items():
                if quote.stale_since is None and orphaned(instrument_id, quote):
                    by_broker[broker] = msgspec.structs.replace(quote, stale_since=now)
                    self._marked.add(instrument_id)
                    self._tell(instrument_id)

    def drain_changed(self) -> tuple[set[str], set[str]]:
        """Return the instruments that ticked since the last call, and the instruments with a quote newly marked stale."""
        changed = self._ticked, self._marked
        self._ticked, self._marked = set(), set()
        return changed

    def forget_live(self, before: float, carried: Collection[str]) -> list[str]:
        """Drop live quotes received before `before` (epoch seconds), and the oldest beyond MOST_KEPT. Instruments in `carried` stay.
        Return the dropped instruments."""
        self.doubts.forget(before)
        newest = {
            instrument_id: max(quote.received_at for quote in by_broker.values())
            for instrument_id, by_broker in self._live.items()
            if instrument_id not in carried
        }
        return _drop(self._live, newest, before, MOST_KEPT)

    def forget_fetched(self, before: float) -> list[str]:
        """Drop fetched quotes received before `before` (epoch seconds), and the oldest beyond MOST_KEPT. Return the dropped
        instruments."""
        received = {instrument_id: quote.received_at for instrument_id, quote in self._fetched.items()}
        return _drop(self._fetched, received, before, MOST_KEPT)


def _drop(held: dict[str, H], received: Mapping[str, float], before: float, most: int) -> list[str]:
    """Remove from `held` the entries received before `before`, then the oldest in `received` until `most` are left. Return the removed."""
    outdated = [instrument_id for instrument_id, at in received.items() if at < before]
    beyond = len(held) - len(outdated) - most
    if beyond > 0:
        outdated += nsmallest(beyond, received.keys() - set(outdated), key=received.__getitem__)
    for instrument_id in outdated:
        del held[instrument_id]
    return outdated
