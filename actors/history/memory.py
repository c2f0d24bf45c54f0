"""The history store in memory, without threads: for tests under a mocked clock. It keeps the same contract as DuckDB's store."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import trio

from onebroker.actors.history.interface import (
    CANDLE_KEY,
    CANDLE_SCHEMA,
    CANDLE_VALUES,
    INDIA_DAY,
    INDIA_OFFSET,
    LAST_DAY_REACH,
    LAST_DAY_SCHEMA,
    MOST_TICKS,
    SERIES_SCHEMA,
    TICK_KEY,
    TICK_SCHEMA,
    TICK_VALUES,
    HistoryError,
)
from onebroker.actors.store.merge_result import Merged
from onebroker.config.intervals import DAY_MINUTES
from onebroker.config.late_modules import pl


class MemoryHistory:
    """Implements `HistoryStore`; `fail_with` makes every call fail until `come_back`."""

    def __init__(self) -> None:
        self._candles = pl.DataFrame(schema=CANDLE_SCHEMA)
        self._ticks = pl.DataFrame(schema=TICK_SCHEMA)
        self._away: HistoryError | None = None
        self._writing = trio.Lock()
        self._closed = 0
        """How often the store was closed; a query that began before a close ends."""

    def fail_with(self, error: HistoryError) -> None:
        self._away = error

    def come_back(self) -> None:
        self._away = None

    async def put_candles(self, file: Path) -> Merged:
        async with self._writing:
            await self._contact()
            self._candles, merged = merge(self._candles, _read(file), CANDLE_KEY)
            return merged

    async def put_ticks(self, file: Path) -> Merged:
        async with self._writing:
            await self._contact()
            self._ticks, merged = merge(self._ticks, _read(file), TICK_KEY)
            return merged

    async def candles(self, instrument_id: str, minutes: int, start: int, end: int) -> pl.DataFrame:
        await self._contact()
        return self._series(instrument_id, minutes, start, end)

    async def last_days(self, instrument_ids: Sequence[str], before: int) -> pl.DataFrame:
        await self._contact()
        series = [
            self._series(instrument_id, DAY_MINUTES, before - LAST_DAY_REACH, before)
            .tail(1)
            .select(pl.lit(instrument_id).alias("instrument_id"), "time", "close", "oi")
            for instrument_id in instrument_ids
        ]
        return pl.concat([pl.DataFrame(schema=LAST_DAY_SCHEMA), *series])

    def _series(self, instrument_id: str, minutes: int, start: int, end: int) -> pl.DataFrame:
        wanted = (pl.col("instrument_id") == instrument_id) & (pl.col("minutes") == minutes) & _within(start, end)
        priced = pl.any_horizontal(pl.col(name) != 0 for name in ("open", "high", "low", "close"))
        return self._candles.filter(wanted & priced).sort("time").select(*CANDLE_VALUES)

    async def minutes_besides(self, instrument_id: str, minutes: int, start: int, end: int) -> pl.DataFrame:
        await self._contact()
        bare, stored = (self._series(instrument_id, length, start, end) for length in (1, minutes))
        day = ((pl.col("time") + INDIA_OFFSET) // INDIA_DAY).alias("day")
        return bare.with_columns(day).join(stored.select(day), on="day", how="anti", maintain_order="left").drop("day")

    async def ticks(self, instrument_id: str, start: int, end: int) -> AsyncGenerator[pl.DataFrame, None]:
        await self._contact()
        opened = self._closed
        wanted = (pl.col("instrument_id") == instrument_id) & _within(start, end)
        found = self._ticks.filter(wanted).sort("time", "broker", "sequence").select(*TICK_VALUES)
        for place in range(0, found.height, MOST_TICKS):
            await self._contact()
            if self._closed != opened:
                raise HistoryError("the history store was closed")
            yield found.slice(place, MOST_TICKS)

    async def tick_days(self) -> pl.DataFrame:
        await self._contact()
        midnight = (pl.col("time") + INDIA_OFFSET) // INDIA_DAY
        days = self._ticks.group_by(midnight.cast(pl.Int32).cast(pl.Date).alias("day")).agg(
            rows=pl.len().cast(pl.Int64)
        )
        return days.sort("day")

    async def copy_ticks(self, start: int, end: int, file: Path) -> None:
        await self._contact()
        try:
            self._ticks.filter(_within(start, end)).sort(*TICK_KEY).select(*TICK_SCHEMA).write_parquet(file)
        except OSError as error:
            raise HistoryError(str(error)) from error

    async def drop_ticks(self, before: int) -> int:
        async with self._writing:
            await self._contact()
            kept = self._ticks.filter(pl.col("time") >= before)
            dropped, self._ticks = self._ticks.height - kept.height, kept
            return dropped

    async def series(self) -> pl.DataFrame:
        await self._contact()
        parts = [
            frame.group_by("instrument_id", "minutes").agg(
                rows=pl.len().cast(pl.Int64), first=pl.col("time").min(), last=pl.col("time").max()
            )
            for frame in (self._candles, self._ticks.with_columns(minutes=pl.lit(None, pl.Int32)))
        ]
        return pl.concat(parts).select(*SERIES_SCHEMA).sort("instrument_id", "minutes", nulls_last=True)

    @asynccontextmanager
    async def still(self) -> AsyncIterator[None]:
        async with self._writing:
            await self._contact()
            yield

    async def release(self) -> None:
        await trio.lowlevel.checkpoint()

    async def close(self) -> None:
        await trio.lowlevel.checkpoint()
        self._closed += 1

    async def _contact(self) -> None:
        await trio.lowlevel.checkpoint()
        if self._away is not None:
            raise self._away


def merge(stored: pl.DataFrame, given: pl.DataFrame, key: tuple[str, ...]) -> tuple[pl.DataFrame, Merged]:
    """Return `stored` merged with the rows of `given`, and the counts of these rows."""
    distinct = given.unique(maintain_order=True, keep="last")
    newest = distinct.unique(key, maintain_order=True, keep="last")
    fresh = newest.join(stored, on=key, how="anti")
    known = newest.join(stored.select(key), on=key, how="semi")
    same = known.join(stored, on=stored.columns, how="semi", nulls_equal=True)
    merged = Merged(
        added=fresh.height,
        replaced=known.height - same.height + distinct.height - newest.height,
        equal=same.height + given.height - distinct.height,
    )
    return pl.concat([stored.join(newest, on=key, how="anti"), newest]), merged


def _within(start: int, end: int) -> pl.Expr:
    return (pl.col("time") >= start) & (pl.col("time") < end)


def _read(file: Path) -> pl.DataFrame:
    try:
        return pl.read_parquet(file)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise HistoryError(str(error)) from error
