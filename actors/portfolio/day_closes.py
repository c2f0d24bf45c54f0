"""The last stored day close of instruments without any other price (architecture 7). The history store is asked between two builds; during a
build the closes are known without waiting.
"""

from collections.abc import Iterable
from typing import Protocol

from onebroker.actors.history.interface import MICROSECONDS, HistoryError, HistoryStore
from onebroker.config.clock import Clock
from onebroker.config.intervals import DAY_MINUTES

AGAIN_SECONDS = 3600.0
"""How long an answer counts, even the answer that there is no candle: day candles come once a day."""
MOST_AT_ONCE = 100
"""The most instruments read before one build, at about a millisecond and a half each. The next build reads the others."""
OLDEST_DAYS = 366
"""A close older than this is no price."""


class DayCloses(Protocol):
    """The day closes as a document uses them."""

    async def learn(self, instrument_ids: Iterable[str]) -> None:
        """Read the closes that are not known, or whose answer no longer counts. If the store cannot be read, known closes stay."""

    def close(self, instrument_id: str) -> float | None:
        """Return the last known close in rupees, or None."""


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
            instrument_id
            for instrument_id in dict.fromkeys(instrument_ids)
            if now - self._asked.get(instrument_id, -AGAIN_SECONDS) >= AGAIN_SECONDS
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
