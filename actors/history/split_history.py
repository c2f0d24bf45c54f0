"""A history store in two places: candles in PostgreSQL, ticks in DuckDB's file of the data directory."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from onebroker.actors.history.duck import DuckHistory
from onebroker.actors.store.merge_result import Merged
from onebroker.config.late_modules import pl

if TYPE_CHECKING:
    from onebroker.actors.history.postgres_candles import PostgresCandles


class SplitHistory:
    """Implements `HistoryStore`. Candles that are in the file too, from before a move, are not seen."""

    def __init__(self, ticks: DuckHistory, candles: PostgresCandles) -> None:
        self._ticks = ticks
        self._candles = candles

    async def put_candles(self, file: Path) -> Merged:
        return await self._candles.put_candles(file)

    async def put_ticks(self, file: Path) -> Merged:
        return await self._ticks.put_ticks(file)

    async def candles(self, instrument_id: str, minutes: int, start: int, end: int) -> pl.DataFrame:
        return await self._candles.candles(instrument_id, minutes, start, end)

    async def last_days(self, instrument_ids: Sequence[str], before: int) -> pl.DataFrame:
        return await self._candles.last_days(instrument_ids, before)

    async def minutes_besides(self, instrument_id: str, minutes: int, start: int, end: int) -> pl.DataFrame:
        return await self._candles.minutes_besides(instrument_id, minutes, start, end)

    def ticks(self, instrument_id: str, start: int, end: int) -> AsyncGenerator[pl.DataFrame, None]:
        return self._ticks.ticks(instrument_id, start, end)

    async def tick_days(self) -> pl.DataFrame:
        return await self._ticks.tick_days()

    async def copy_ticks(self, start: int, end: int, file: Path) -> None:
        await self._ticks.copy_ticks(start, end, file)

    async def drop_ticks(self, before: int) -> int:
        return await self._ticks.drop_ticks(before)

    async def series(self) -> pl.DataFrame:
        ticks = (await self._ticks.series()).filter(pl.col("minutes").is_null())
        return pl.concat([await self._candles.series(), ticks]).sort("instrument_id", "minutes", nulls_last=True)

    @asynccontextmanager
    async def still(self) -> AsyncIterator[None]:
        async with self._ticks.still(), self._candles.still():
            yield

    async def release(self) -> None:
        await self._ticks.release()

    async def close(self) -> None:
        await self._candles.close()
        await self._ticks.close()
