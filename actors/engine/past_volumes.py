"""The volumes of stored candles as the engine reads them, for types whose slices follow the market's usual day (order-engine 3.55)."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from onebroker.actors.engine.presets.volumes import Volume
from onebroker.actors.history.interface import MICROSECONDS, HistoryError, HistoryStore
from onebroker.config.clock import from_epoch

_MINUTES = 5


class PastVolumes(Protocol):
    async def five_minutes(self, instrument_id: str, first: datetime, last: datetime) -> Sequence[Volume]:
        """Return the stored five-minute candles with first <= began < last, oldest first; none when they cannot be read now."""


class NoVolumes:
    """Implements `PastVolumes` where nothing is stored."""

    async def five_minutes(self, _: str, __: datetime, ___: datetime) -> Sequence[Volume]:
        return ()


class StoredVolumes:
    """Implements `PastVolumes` over the history store."""

    def __init__(self, store: HistoryStore) -> None:
        self._store = store

    async def five_minutes(self, instrument_id: str, first: datetime, last: datetime) -> Sequence[Volume]:
        try:
            frame = await self._store.candles(instrument_id, _MINUTES, _micro(first), _micro(last))
        except HistoryError:
            return ()
        rows = frame.select("time", "volume").iter_rows()
        return tuple(Volume(from_epoch(time / MICROSECONDS), volume) for time, volume in rows if volume)


def _micro(moment: datetime) -> int:
    return int(moment.timestamp()) * MICROSECONDS
