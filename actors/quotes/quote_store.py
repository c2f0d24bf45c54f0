"""The quote book in the store: the newest live quote of every instrument, and the quotes fetched in the last two days.

A restart begins with both; they keep their true time of receipt. Work on many quotes is cut into slices, and other tasks run between
the slices.
"""

import logging
from collections.abc import Collection, Iterable
from itertools import islice

import msgspec
import trio

from onebroker.actors.quotes.book import FETCHED_SECONDS, LIVE_SECONDS, QuoteBook
from onebroker.actors.quotes.tick_fold import Quote
from onebroker.actors.store import keys
from onebroker.actors.store.interface import HashSet, Set, SetAdd, SetRemove, Store, StoreError
from onebroker.config.clock import Clock

SLICE = 250
"""Quotes encoded or decoded without a pause: about two milliseconds."""

_log = logging.getLogger("onebroker.quotes")


class QuoteStore:
    """Reads a book from the store and writes its changes."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def restore(self, book: QuoteBook) -> bool:
        """Put the stored quotes back into the book; tell whether the store could be read."""
        try:
            await self._restore_live(book)
            await self._restore_fetched(book)
        except StoreError as error:
            _log.warning("stored quotes could not be read yet: %s", error)
            return False
        return True

    async def _restore_live(self, book: QuoteBook) -> None:
        oldest = self._clock.epoch() - LIVE_SECONDS
        outdated = []
        stored = await self._store.hash_all(keys.QUOTES_LIVE)
        for number, (instrument_id, encoded) in enumerate(stored.items()):
            if number % SLICE == 0:
                await trio.lowlevel.checkpoint()
            quote = _decode(encoded)
            if quote is None or quote.received_at < oldest:
                outdated.append(instrument_id)
            else:
                book.restore(instrument_id, quote)
        self.remove_live(outdated)

    async def _restore_fetched(self, book: QuoteBook) -> None:
        ids = sorted(await self._store.members(keys.QUOTES_FETCHED))
        gone = []
        for start in range(0, len(ids), SLICE):
            for instrument_id, encoded in await self._read_fetched(ids[start : start + SLICE]):
                quote = None if encoded is None else _decode(encoded)
                if quote is None:
                    gone.append(instrument_id)
                else:
                    book.restore_fetched(instrument_id, quote)
        self.remove_fetched(gone)

    async def _read_fetched(self, ids: Collection[str]) -> list[tuple[str, bytes | None]]:
        """Read the quotes concurrently: requests made at once go to the store as one batch."""
        found: list[tuple[str, bytes | None]] = []
        failed: list[StoreError] = []

        async def read(instrument_id: str) -> None:
            try:
                found.append((instrument_id, await self._store.get(keys.fetched_quote(instrument_id))))
            except StoreError as error:
                failed.append(error)

        async with trio.open_nursery() as nursery:
            for instrument_id in ids:
                nursery.start_soon(read, instrument_id)
        if failed:
            raise failed[0]
        return found

    async def write_live(self, book: QuoteBook, instrument_ids: Iterable[str]) -> None:
        """Write the unified quotes of these instruments."""
        waiting = iter(instrument_ids)
        while ids := list(islice(waiting, SLICE)):
            quotes = ((instrument_id, book.live(instrument_id)) for instrument_id in ids)
            values = {instrument_id: msgspec.json.encode(quote) for instrument_id, quote in quotes if quote is not None}
            self._store.post(HashSet(keys.QUOTES_LIVE, values))
            await trio.lowlevel.checkpoint()

    def remove_live(self, instrument_ids: Collection[str]) -> None:
        if instrument_ids:
            self._store.post(HashSet(keys.QUOTES_LIVE, {}, tuple(instrument_ids)))

    def write_fetched(self, instrument_id: str, quote: Quote) -> None:
        self._store.post(
            Set(keys.fetched_quote(instrument_id), msgspec.json.encode(quote), FETCHED_SECONDS),
            SetAdd(keys.QUOTES_FETCHED, instrument_id),
        )

    def remove_fetched(self, instrument_ids: Iterable[str]) -> None:
        """Remove the instruments from the set of fetched quotes; the quotes themselves expire."""
        for instrument_id in instrument_ids:
            self._store.post(SetRemove(keys.QUOTES_FETCHED, instrument_id))


def _decode(encoded: bytes) -> Quote | None:
    try:
        return msgspec.json.decode(encoded, type=Quote)
    except msgspec.DecodeError:
        return None
