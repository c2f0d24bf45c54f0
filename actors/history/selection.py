"""Chooses the instruments to read candles of: the named ones, or those that have candles already, are open, held or followed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import msgspec
import trio

from onebroker.actors.catalogue.interface import CatalogueState, Instrument, Snapshot
from onebroker.actors.history.interface import HistoryStore
from onebroker.actors.kernel.published import Published
from onebroker.actors.quotes.book import QuoteBook
from onebroker.actors.quotes.known_instruments import KnownInstruments
from onebroker.actors.quotes.wanted_instruments import OwnInstruments, Session
from onebroker.config.instruments import EXCHANGES, bare_segment, prefixed_segment
from onebroker.config.intervals import INTERVALS
from onebroker.config.late_modules import pl

MOST_INSTRUMENTS = 10_000
"""Most instruments in one selection, some 5 KB each."""
SLICE = 50
"""Number of instruments read from the mapping before other tasks get a turn."""


class TooMany(Exception):
    """The selection has more instruments than are read at once."""


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """The instruments a person named. An empty selection stands for all that have candles, are open, held or followed."""

    ids: tuple[str, ...] = ()
    exchange: str | None = None
    segment: str | None = None
    """Bare, such as `equities`."""
    symbols: tuple[str, ...] = ()
    """Symbols or underlyings, upper case."""

    @property
    def nothing(self) -> bool:
        return self == Selection()


@attrs.frozen
class Selected:
    instruments: tuple[Instrument, ...]
    """Listed by at least one broker."""
    unlisted: tuple[str, ...]
    """The named ids that no broker lists today."""


class Choosing:
    """Finds the instruments of a selection."""

    def __init__(
        self,
        *,
        catalogue: Published[CatalogueState],
        sessions: Mapping[str, Session],
        book: Published[QuoteBook],
        store: HistoryStore,
    ) -> None:
        self._catalogue = catalogue
        self._sessions = sessions
        self._book = book
        self._store = store
        self._known = KnownInstruments(catalogue)
        self._own = OwnInstruments()

    async def standing(self, interval: str) -> tuple[Instrument, ...]:
        """Return the listed instruments that have candles of that interval, are open, held or followed. Raises HistoryError."""
        series = await self._store.series()
        stored = series.filter(pl.col("minutes") == INTERVALS[interval])["instrument_id"].to_list()
        views = {code: session.view.value for code, session in self._sessions.items()}
        own = self._own.needs(views, self._known.id_of, self._known.snapshot)
        ids = dict.fromkeys((*stored, *own, *self._book.value.followers))
        return self._listed(ids)[0]

    async def chosen(self, selection: Selection, interval: str) -> Selected:
        """Return the instruments of a selection. Raises HistoryError, TooMany, and Refusal when the mapping cannot be read."""
        snapshot = self._catalogue.value.latest
        if snapshot is None:
            return Selected((), selection.ids)
        if selection.nothing:
            return Selected(await self.standing(interval), ())
        named, unlisted = self._listed(dict.fromkeys(selection.ids))
        if selection.exchange is None and selection.segment is None and not selection.symbols:
            return Selected(named, unlisted)
        return Selected((*named, *await _of_filter(snapshot, selection)), unlisted)

    def _listed(self, ids: Mapping[str, Any]) -> tuple[tuple[Instrument, ...], tuple[str, ...]]:
        found = {instrument_id: self._known.instrument(instrument_id) for instrument_id in ids}
        listed = tuple(instrument for instrument in found.values() if instrument is not None and instrument.listings)
        return listed, tuple(
            instrument_id
            for instrument_id, instrument in found.items()
            if instrument is None or not instrument.listings
        )


async def _of_filter(snapshot: Snapshot, selection: Selection) -> list[Instrument]:
    """Return the instruments of the mapping that match the exchange, segment and symbols."""
    exchanges = (selection.exchange,) if selection.exchange is not None else tuple(map(str, EXCHANGES))
    ids: list[str] = []
    for exchange in exchanges:
        segment = None if selection.segment is None else prefixed_segment(exchange, bare_segment(selection.segment))
        ids += snapshot.master.ids(exchange, segment, selection.symbols)
        await trio.lowlevel.checkpoint()
    if len(ids) > MOST_INSTRUMENTS:
        raise TooMany(f"{len(ids)} instruments are too many at once ({MOST_INSTRUMENTS} are the most); choose fewer")
    found: list[Instrument] = []
    for number, instrument_id in enumerate(ids):
        if number % SLICE == 0:
            await trio.lowlevel.checkpoint()
        instrument = snapshot.instrument_once(instrument_id)
        if instrument is not None and instrument_id not in selection.ids:
            found.append(instrument)
    return found
