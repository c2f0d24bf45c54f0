"""The last stored day candle before today of options: the open interest that a change counts from, and the last price of a closed market."""

import logging
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time

from onebroker.actors.chain.build import DayCandle
from onebroker.actors.history.interface import MICROSECONDS, HistoryError, HistoryStore
from onebroker.config.clock import IST, Clock

AGAIN_SECONDS = 300.0
"""After this time an instrument without a candle is looked for again: its candles may have been loaded meanwhile."""
MOST_REMEMBERED = 20_000

_log = logging.getLogger("onebroker.chain")


class DayCandles:
    """Remembers candles for the day. Without a store nothing is known."""

    def __init__(self, store: HistoryStore | None, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._day: date | None = None
        self._known: dict[str, DayCandle] = {}
        self._looked: dict[str, float] = {}
        """Instrument -> monotonic seconds of the last look that found nothing."""

    async def of(self, instrument_ids: Sequence[str]) -> Mapping[str, DayCandle]:
        """Return the known candles of these instruments, or of more. A store that cannot be read is logged and makes them unknown."""
        today, now = self._clock.today(), self._clock.monotonic()
        if self._day != today or len(self._known) + len(self._looked) > MOST_REMEMBERED:
            self._day, self._known, self._looked = today, {}, {}
        wanted = [
            one
            for one in instrument_ids
            if one not in self._known and now - self._looked.get(one, -AGAIN_SECONDS) >= AGAIN_SECONDS
        ]
        if wanted and self._store is not None:
            self._looked.update(
                dict.fromkeys(wanted, now)
            )  # also while the store is away: it is not asked at every read
            await self._read(self._store, wanted, today)
        return self._known

    async def _read(self, store: HistoryStore, wanted: Sequence[str], today: date) -> None:
        before = int(datetime.combine(today, time(), IST).timestamp()) * MICROSECONDS
        try:
            found = await store.last_days(wanted, before)
        except HistoryError as error:
            _log.warning("the day candles of options cannot be read: %s", error)
            return
        for instrument_id, at, close, oi in found.select("instrument_id", "time", "close", "oi").iter_rows():
            self._known[instrument_id] = DayCandle(close=close, oi=oi, at=at / MICROSECONDS)
            self._looked.pop(instrument_id, None)
