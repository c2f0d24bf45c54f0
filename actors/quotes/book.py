"""What the quote book holds: live quotes per instrument and broker, and quotes fetched over REST.

Written by the quote book's actor only; read by anybody, without awaiting (every quote in it is immutable). Of each instrument
one quote a broker is held and one fetched, of at most MOST_KEPT instruments.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from heapq import nsmallest
from typing import TypeVar

import msgspec

from onebroker.actors.quotes.doubt import Doubts, strays
from onebroker.actors.quotes.fold import Quote, fold, unified
from onebroker.actors.quotes.followers import Followers
from onebroker.brokers.records import Tick

H = TypeVar("H")

FETCHED_SECONDS = 2 * 24 * 3600
"""How long a fetched quote is kept (rules 1.4.7)."""
LIVE_SECONDS = 10 * 24 * 3600.0
"""A live quote older than this serves nobody: no market is closed so long."""
MOST_KEPT = 50_000
"""Instruments with a live quote, and with a fetched one, that are kept; the oldest beyond it are forgotten."""


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
        """Ticks without a price, or older than the one held of that broker."""
        self.doubts = Doubts()
        self.held_back = 0
        """Ticks that waited for a second source, or a second tick (`doubt.py`)."""

    # Reading

    def live(self, instrument_id: str) -> Quote | None:
        """Return the unified quote."""
        by_broker = self._live.get(instrument_id)
        return None if by_broker is None else unified(by_broker, self._order)

    def of_brokers(self, instrument_id: str) -> Mapping[str, Quote]:
        """Return what is held of each broker."""
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
        """Fold in one tick; return what is held of that broker now, or None when the tick was dropped."""
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
        """Put back a live quote from the store, with the time at which it was truly received; one that is there stays."""
        held = msgspec.structs.replace(quote, restored=True)
        self._live.setdefault(instrument_id, {}).setdefault(quote.broker, held)

    def restore_fetched(self, instrument_id: str, quote: Quote) -> None:
        """The same for a fetched one."""
        self._fetched.setdefault(instrument_id, quote)

    def keep_fetched(self, instrument_id: str, quote: Quote) -> None:
        self._fetched[instrument_id] = quote
        for confirmed in self.doubts.released(instrument_id, quote):
            self._put(instrument_id, confirmed, self._live.setdefault(instrument_id, {}))
        self.followers.changed(instrument_id)

    def mark_stale(self, instrument_ids: Iterable[str], orphaned: Callable[[str, Quote], bool], now: float) -> None:
        """Mark the live quotes of these for which `orphaned(instrument_id, quote)`: no feed renews them. A new tick ends
        that."""
        for instrument_id in instrument_ids:
            by_broker = self._live.get(instrument_id, {})
            for broker, quote in by_broker.items():
                if quote.stale_since is None and orphaned(instrument_id, quote):
                    by_broker[broker] = msgspec.structs.replace(quote, stale_since=now)
                    self._marked.add(instrument_id)
                    self._tell(instrument_id)

    def drain_changed(self) -> tuple[set[str], set[str]]:
        """Return the instruments that ticked since the last call, and those of which a quote was marked stale."""
        changed = self._ticked, self._marked
        self._ticked, self._marked = set(), set()
        return changed

    def forget_live(self, before: float, carried: Collection[str]) -> list[str]:
        """Drop what was received before `before` (epoch seconds), and beyond MOST_KEPT the oldest that no feed carries;
        return the instruments."""
        self.doubts.forget(before)
        newest = {
            instrument_id: max(quote.received_at for quote in by_broker.values())
            for instrument_id, by_broker in self._live.items()
            if instrument_id not in carried
        }
        return _drop(self._live, newest, before, MOST_KEPT)

    def forget_fetched(self, before: float) -> list[str]:
        """Drop fetched quotes received before `before`, and the oldest beyond MOST_KEPT; return the instruments."""
        received = {instrument_id: quote.received_at for instrument_id, quote in self._fetched.items()}
        return _drop(self._fetched, received, before, MOST_KEPT)


def _drop(held: dict[str, H], received: Mapping[str, float], before: float, most: int) -> list[str]:
    """Take out of `held` what was received too early, then the oldest of `received` until `most` are left."""
    outdated = [one for one, at in received.items() if at < before]
    beyond = len(held) - len(outdated) - most
    if beyond > 0:
        outdated += nsmallest(beyond, received.keys() - set(outdated), key=received.__getitem__)
    for one in outdated:
        del held[one]
    return outdated
