"""The quotes that clients subscribed to: each instrument's servable quote, encoded once a mode and change. Pure.

A quote that may not be served any more (rules 1.4.7-2) is told as stale, without figures.
"""

from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Protocol

import attrs

from onebroker.actors.catalogue.interface import Instrument
from onebroker.actors.quotes.document import ltp_document, quote_document
from onebroker.actors.quotes.fold import Quote
from onebroker.http import render


class Mode(StrEnum):
    """How much of a quote is told."""

    LTP = "ltp"
    """What `GET /api/instruments/ltp` answers, and whether it is stale."""
    QUOTE = "quote"
    """What `GET /api/instruments/quote` answers, without depth."""
    DEPTH = "depth"
    """The whole of it."""


class QuoteSource(Protocol):
    """Where quotes come from; each reading of `servable` counts as being asked for."""

    def servable(self, instrument: Instrument) -> Quote | None: ...

    def stale_since(self, instrument_id: str) -> float | None:
        """Return since when the newest quote is marked stale; None when it is not marked, or there is none."""

    def known(self, instrument_id: str) -> bool:
        """Tell whether any quote, usable or not, is held."""

    def now(self) -> float:
        """Return epoch seconds."""


@attrs.define(eq=False)
class _Slot:
    instrument: Instrument
    quote: Quote | None = None
    """None while there is none that may be served."""
    stale_since: float | None = None
    encoded: dict[Mode, bytes] = attrs.field(factory=dict)
    watchers: dict[Callable[[str], None], None] = attrs.field(factory=dict)


class QuoteBoard:
    def __init__(self, source: QuoteSource) -> None:
        self._source = source
        self._slots: dict[str, _Slot] = {}
        self.on_watched: Callable[[], object] = int
        """Called when the watched instruments are others than before; set by the feed."""

    def __len__(self) -> int:
        return len(self._slots)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the instruments that are watched, as they are now."""
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
        """Look at an instrument's quote again, and mark it for those who watch it when it is another."""
        slot = self._slots.get(instrument_id)
        if slot is None:
            return
        quote, stale_since = slot.quote, slot.stale_since
        self._read(slot)
        if slot.quote is not quote or slot.stale_since != stale_since:
            for mark in slot.watchers:
                mark(instrument_id)

    def rename(self, instrument: Instrument) -> None:
        """Take another mapping's record of a watched instrument."""
        slot = self._slots.get(instrument.instrument_id)
        if slot is not None and slot.instrument != instrument:
            slot.instrument = instrument
            slot.encoded.clear()
            for mark in slot.watchers:
                mark(instrument.instrument_id)

    def encoded(self, instrument_id: str, mode: Mode) -> bool:
        """Tell whether `element` has its answer at hand."""
        return mode in self._slots[instrument_id].encoded

    def element(self, instrument_id: str, mode: Mode) -> bytes:
        """Return the instrument's quote as JSON. It must be watched."""
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
