"""The volumes of stored candles, for types whose slices follow the market's usual day (order-engine 3.55)."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Protocol

from onebroker.actors.engine.presets.volume_profile import Volume
from onebroker.actors.history.interface import MICROSECONDS, HistoryError, HistoryStore
from onebroker.config.clock import from_epoch

_MINUTES = 5


class PastVolumes(Protocol):
    async def five_minutes(self, instrument_id: str, first: datetime, last: datetime) -> Sequence[Volume]:
        """Return the stored five-minute candles with first <= began < last, oldest first. Days without them are summed from 1-minute candles.
        Empty when they cannot be read now. `first` and `last` are midnights in India."""


class NoVolumes:
    """Implements `PastVolumes` where nothing is stored."""

    async def five_minutes(self, _: str, __: datetime, ___: datetime) -> Sequence[Volume]:
        return ()


class StoredVolumes:
    """Implements `PastVolumes` over the history store."""

    def __init__(self, store: HistoryStore) -> None:
        self._store = store

    async def five_minutes(self, instrument_id: str, first: datetime, last: datetime) -> Sequence[Volume]:
        span = (_micro(first), _micro(last))
        try:
            minutes = await self._store.minutes_besides(instrument_id, _MINUTES, *span)
            stored = await self._store.candles(instrument_id, _MINUTES, *span)
        except HistoryError:
            return ()
        volumes: dict[int, int | None] = dict(_summed(minutes.select("time", "volume").iter_rows()))
        volumes.update(stored.select("time", "volume").iter_rows())
        return tuple(
            Volume(from_epoch(time / MICROSECONDS), volume) for time, volume in sorted(volumes.items()) if volume
        )


def _summed(minutes: Iterable[tuple[int, int | None]]) -> dict[int, int]:
    """Return five-minute volumes summed from one-minute volumes: sessions open at whole five minutes."""
    sums: dict[int, int] = {}
    for time, volume in minutes:
        start = time - time % (_MINUTES * 60 * MICROSECONDS)
        sums[start] = sums.get(start, 0) + (volume or 0)
    return sums


def _micro(moment: datetime) -> int:
    return int(moment.timestamp()) * MICROSECONDS
