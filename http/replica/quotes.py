"""The quotes of a replica: those that the service sends, for the instruments that somebody reads."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec
import trio

from onebroker.actors.catalogue.interface import Instrument
from onebroker.actors.quotes.followers import Followers
from onebroker.actors.quotes.tick_fold import Quote
from onebroker.config.clock import Clock
from onebroker.http.replica import rebuilt

READ_SECONDS = 120.0
"""An instrument that no stream follows and nobody has read for this time is not followed at the service any more."""


class MirroredQuotes:
    """Implements `board_writer.StreamedQuotes`."""

    def __init__(self, clock: Clock, is_heard: Callable[[], bool]) -> None:
        """`is_heard` tells whether the service is heard now. While it is not, no quote may be served."""
        self.followers = Followers()
        self.on_instrument: Callable[[Instrument], None] = _nothing
        """Called when the record of a known instrument has changed."""
        self._clock = clock
        self._is_heard = is_heard
        self._instruments: dict[str, Instrument] = {}
        self._held: dict[str, Quote] = {}
        self._unservable: set[str] = set()
        self._read_at: dict[str, float] = {}
        self._came = trio.Event()

    def __iter__(self) -> Iterator[str]:
        """Iterate over the instruments that somebody follows or has read lately."""
        since = self._clock.monotonic() - READ_SECONDS
        self._read_at = {name: at for name, at in self._read_at.items() if at >= since}
        return iter({*self.followers, *self._read_at})

    @property
    def known(self) -> frozenset[str]:
        """The instruments that the service has shown."""
        return frozenset(self._instruments)

    def touch(self, instrument_id: str) -> None:
        """Note that somebody reads the instrument."""
        self._read_at[instrument_id] = self._clock.monotonic()

    def instrument(self, instrument_id: str) -> Instrument | None:
        """Return the instrument; None if the service has not shown it yet."""
        return self._instruments.get(instrument_id)

    async def wait_news(self) -> None:
        """Wait until the service shows another instrument, or is lost."""
        await self._came.wait()

    def stored(self, instrument: Instrument) -> Quote | None:
        self.touch(instrument.instrument_id)
        if not self._is_heard() or instrument.instrument_id in self._unservable:
            return None
        return self._held.get(instrument.instrument_id)

    def stored_quote(self, instrument_id: str) -> tuple[Instrument, Quote] | None:
        """Return a known instrument with its quote, if the quote may be served."""
        known = self._instruments.get(instrument_id)
        stored = None if known is None else self.stored(known)
        return None if known is None or stored is None else (known, stored)

    def newest(self, instrument_id: str) -> Quote | None:
        return self._held.get(instrument_id)

    async def replaced(self) -> None:
        await trio.sleep_forever()  # each quote is replaced on its own

    def take(self, shown: Mapping[str, Any]) -> None:
        """Take a quote as the stream shows it in the mode `depth`."""
        instrument_id = shown["instrument_id"]
        self._know(rebuilt.instrument(shown))
        quote = rebuilt.quote(shown)
        held = self._held.get(instrument_id)
        if quote is not None:
            self._held[instrument_id] = quote
            self._unservable.discard(instrument_id)
        else:
            self._unservable.add(instrument_id)
            if held is not None:
                self._held[instrument_id] = msgspec.structs.replace(held, stale_since=shown["stale_since"])
        self.followers.changed(instrument_id, quote)

    def doubt_all(self) -> None:
        """Serve no quote before the service has sent it again."""
        self._unservable.update(self._held)
        for instrument_id in tuple(self.followers):
            self.followers.changed(instrument_id)
        self._tell_news()

    def forget(self, instrument_ids: frozenset[str]) -> None:
        """Forget instruments that are not followed at the service any more."""
        for instrument_id in instrument_ids:
            self._instruments.pop(instrument_id, None)
            self._held.pop(instrument_id, None)
            self._unservable.discard(instrument_id)

    def _know(self, instrument: Instrument) -> None:
        known = self._instruments.get(instrument.instrument_id)
        if known is not None and (instrument.lot_size is None or known == instrument):
            return
        self._instruments[instrument.instrument_id] = instrument
        if known is not None:
            self.on_instrument(instrument)
        self._tell_news()

    def _tell_news(self) -> None:
        came, self._came = self._came, trio.Event()
        came.set()


def _nothing(_instrument: Instrument) -> None:
    pass
