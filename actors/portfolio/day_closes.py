"""The last stored day close of instruments that nobody else gives a price of (architecture 7): asked of the history store between two
builds, known without waiting during one.
"""

from collections.abc import Iterable
from typing import Protocol

from onebroker.actors.history.interface import MICROSECONDS, HistoryError, HistoryStore
from onebroker.config.clock import Clock
from onebroker.config.intervals import DAY_MINUTES

AGAIN_SECONDS = 3600.0
"""How long an answer counts, also that there is no candle: day candles come once a day."""
MOST_AT_ONCE = 100
"""Instruments asked about before one build: about a millisecond and a half each. The next build asks about the others."""
OLDEST_DAYS = 366
"""A close older than that is no price."""


class DayCloses(Protocol):
    """What a document needs of them."""

    async def learn(self, instrument_ids: Iterable[str]) -> None:
        """Ask about those that are not known, or not known any more. What cannot be read stays as it is."""

    def close(self, instrument_id: str) -> float | None:
        """Return the last known close, rupees."""


class StoredDayCloses:
    """Implements `DayCloses` over the history store."""

    def __init__(self, history: HistoryStore, clock: Clock) -> None:
        self._history = history
        self._clock = clock
        self._closes: dict[str, float] = {}
        self._asked: dict[str, float] = {}
        """instrument_id -> monotonic seconds of the answer."""

    async def learn(self, instrument_ids: Iterable[str]) -> None:
        now = self._clock.monotonic()
        wanted = [
            one for one in dict.fromkeys(instrument_ids) if now - self._asked.get(one, -AGAIN_SECONDS) >= AGAIN_SECONDS
        ]
        try:
            for instrument_id in wanted[:MOST_AT_ONCE]:
                await self._ask(instrument_id)
                self._asked[instrument_id] = now
        except HistoryError:
            return

    def close(self, instrument_id: str) -> float | None:
        return self._closes.get(instrument_id)

    async def _ask(self, instrument_id: str) -> None:
        end = int(self._clock.epoch() * MICROSECONDS)
        start = end - OLDEST_DAYS * 86_400 * MICROSECONDS
        closes = (await self._history.candles(instrument_id, DAY_MINUTES, start, end))["close"]
        if len(closes):
            self._closes[instrument_id] = float(closes[-1])
