"""The quotes that clients subscribed to: each instrument's servable quote, encoded once for each mode and change. Pure.

A quote that must no longer be served (rules 1.4.7-2) is sent as stale, without figures.
"""

from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Protocol

import attrs

from onebroker.actors.catalogue.interface import Instrument
from onebroker.actors.quotes.quote_document import ltp_document, quote_document
from onebroker.actors.quotes.tick_fold import Quote
from onebroker.http import render


class Mode(StrEnum):
    """How much of a quote is sent."""

    LTP = "ltp"
    """The answer of `GET /api/instruments/ltp`, and whether the quote is stale."""
    QUOTE = "quote"
    """The answer of `GET /api/instruments/quote`, without depth."""
    DEPTH = "depth"
    """The whole answer of that route."""


class QuoteSource(Protocol):
    """The source of quotes. Each call of `servable` counts as a request for the instrument's quote."""

    def servable(self, instrument: Instrument) -> Quote | None: ...

    def stale_since(self, instrument_id: str) -> float | None:
        """Return since when the newest quote is marked stale; None if it is not marked, or if there is no quote."""

    def known(self, instrument_id: str) -> bool:
        """Tell whether the source holds any quote of the instrument, usable or not."""

    def now(self) -> float:
        """Return epoch seconds."""


@attrs.define(eq=False)
class _Slot:
    instrument: Instrument
    quote: Quote | None = None
    """None while there is no quote that may be served."""
    stale_since: float | None = None
    encoded: dict[Mode, bytes] = attrs.field(factory=dict)
    watchers: dict[Callable[[str], None], None] = attrs.field(factory=dict)


class QuoteBoard:
    def __init__(self, source: QuoteSource) -> None:
        self._source = source
        self._slots: dict[str, _Slot] = {}
        self.on_watched: Callable[[], object] = int
        """Called when the set of watched instruments changes; the feed sets it."""

    def __len__(self) -> int:
        return len(self._slots)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the instruments that are watched at this moment."""
        return iter(tuple(self._slots))

    def watch(self, instrument: Instrument, mark: Callable[[str], None]) -> None:
        """Call `mark(instrument_id)` whenever the instrument's quote changes or becomes stale."""
        slot = self._slots.get(instrument.instrument_id)
        if slot is None:
            slot = self._slots[instrument.instrument_id] = _Slot(instrument)
            self._read(slot)
            self.on_watched()
        slot.watchers[mark] = None

    def unwatch(self, instrument_id: str, mark: Callable[[str], None]) -> None:
        slot = self._slots.get(instrument_id)
        if slot is not None:
            slot.watchers.pop(mark, None)
            if not slot.watchers:
                del self._slots[instrument_id]
                self.on_watched()

    def refresh(self, instrument_id: str) -> None:
        """Read an instrument's quote again; if it has changed, mark the instrument for its watchers."""
        slot = self._slots.get(instrument_id)
        if slot is None:
            return
        quote, stale_since = slot.quote, slot.stale_since
        self._read(slot)
        if slot.quote is not quote or slot.stale_since != stale_since:
            for mark in slot.watchers:
                mark(instrument_id)

    def rename(self, instrument: Instrument) -> None:
        """Take the record of a watched instrument from another mapping."""
        slot = self._slots.get(instrument.instrument_id)
        if slot is not None and slot.instrument != instrument:
            slot.instrument = instrument
            slot.encoded.clear()
            for mark in slot.watchers:
                mark(instrument.instrument_id)

    def encoded(self, instrument_id: str, mode: Mode) -> bool:
        """Tell whether `element` has the answer ready."""
        return mode in self._slots[instrument_id].encoded

    def element(self, instrument_id: str, mode: Mode) -> bytes:
        """Return the instrument's quote as JSON. The instrument must be watched."""
        slot = self._slots[instrument_id]
        encoded = slot.encoded.get(mode)
        if encoded is None:
            encoded = slot.encoded[mode] = render.encode(_document(slot, mode, self._source.now()))
        return encoded

    def _read(self, slot: _Slot) -> None:
        instrument_id = slot.instrument.instrument_id
        quote = self._source.servable(slot.instrument)
        if quote is slot.quote and (quote is not None or slot.stale_since is not None):
            return
        slot.encoded.clear()
        slot.quote = quote
        slot.stale_since = None
        if quote is None and self._source.known(instrument_id):
            slot.stale_since = self._source.stale_since(instrument_id) or self._source.now()


def _document(slot: _Slot, mode: Mode, now: float) -> dict[str, object]:
    if slot.quote is None:
        return {**slot.instrument.identity.fields(), "stale": True, "stale_since": slot.stale_since}
    if mode is Mode.LTP:
        return {**ltp_document(slot.quote, slot.instrument, "cache", now), "stale": False, "stale_since": None}
    whole = quote_document(slot.quote, slot.instrument, "cache", now)
    if mode is Mode.QUOTE:
        del whole["depth"]
    return whole
