"""The interface of the history store: twelve calls (architecture 4, 8), and the frames that go in and come out.

Times are whole microseconds since the epoch (UTC); prices are rupees as traded, unadjusted; quantities are units.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

from onebroker.actors.store.merge_result import Merged
from onebroker.config.clock import IST
from onebroker.config.intervals import INTERVALS
from onebroker.config.late_modules import LateSchema, pl

MICROSECONDS = 1_000_000
MOST_TICKS = 20_000
"""Most rows of one frame of `ticks`: only this many are in memory at a time."""

INDIA_OFFSET = int(IST.utcoffset(None).total_seconds()) * MICROSECONDS
INDIA_DAY = 24 * 3600 * MICROSECONDS

INTERVAL_NAMES = {minutes: name for name, minutes in INTERVALS.items()}

CANDLE_VALUES = LateSchema(
    lambda: {
        "time": pl.Int64(),
        "open": pl.Float64(),
        "high": pl.Float64(),
        "low": pl.Float64(),
        "close": pl.Float64(),
        "volume": pl.Int64(),
        "oi": pl.Int64(),
    }
)
CANDLE_SCHEMA = LateSchema(lambda: {"instrument_id": pl.String(), "minutes": pl.Int32(), **CANDLE_VALUES})
"""Columns of a file for `put_candles`. `minutes` is the interval (config.intervals); a day candle begins at midnight in India."""


def levels_type() -> pl.DataType:
    """Return the type of `buy` and `sell`."""
    return pl.List(pl.Struct({"price": pl.Float64, "quantity": pl.Int64, "orders": pl.Int64}))


TICK_VALUES = LateSchema(
    lambda: {
        "time": pl.Int64(),
        "broker": pl.String(),
        "last_price": pl.Float64(),
        "average_price": pl.Float64(),
        "open": pl.Float64(),
        "high": pl.Float64(),
        "low": pl.Float64(),
        "close": pl.Float64(),
        "last_quantity": pl.Int64(),
        "volume": pl.Int64(),
        "buy_quantity": pl.Int64(),
        "sell_quantity": pl.Int64(),
        "oi": pl.Int64(),
        "buy": levels_type(),
        "sell": levels_type(),
    }
)
TICK_SCHEMA = LateSchema(lambda: {"instrument_id": pl.String(), "sequence": pl.Int32(), **TICK_VALUES})
"""Columns of a file for `put_ticks`; `buy` and `sell` are null when no depth was recorded. `sequence` counts the ticks of one instrument,
time and broker from 0 (actors.history.tick_sequence).
"""

CANDLE_KEY = ("instrument_id", "minutes", "time")
TICK_KEY = ("instrument_id", "time", "broker", "sequence")

LAST_DAY_SCHEMA = LateSchema(
    lambda: {"instrument_id": pl.String(), "time": pl.Int64(), "close": pl.Float64(), "oi": pl.Int64()}
)
"""The last day candles of several instruments, one a row."""
LAST_DAY_REACH = 14 * INDIA_DAY
"""A day candle older than this is not the last day's."""

SERIES_SCHEMA = LateSchema(
    lambda: {
        "instrument_id": pl.String(),
        "minutes": pl.Int32(),
        "rows": pl.Int64(),
        "first": pl.Int64(),
        "last": pl.Int64(),
    }
)
"""The stored series, one per row; `minutes` is null for ticks."""


TICK_DAYS_SCHEMA = LateSchema(lambda: {"day": pl.Date(), "rows": pl.Int64()})
"""The days in India of which ticks are stored, and their ticks."""


class HistoryError(Exception):
    """The history store cannot be read or written now; nothing of the call was written."""


class HistoryStore(Protocol):
    """Every method raises HistoryError when the store cannot be used."""

    async def put_candles(self, file: Path) -> Merged:
        """Store a Parquet file of CANDLE_SCHEMA, whole or not at all; it is on disk when this returns. Of two rows with the same key the later
        one counts.
        """

    async def put_ticks(self, file: Path) -> Merged:
        """Store a Parquet file of TICK_SCHEMA, with the same rules."""

    async def candles(self, instrument_id: str, minutes: int, start: int, end: int) -> pl.DataFrame:
        """Return the candles with start <= time < end as CANDLE_VALUES, oldest first.

        Candles whose prices are all 0 are left out: brokers give them for minutes without a trade, and earlier versions stored them.
        """

    async def last_days(self, instrument_ids: Sequence[str], before: int) -> pl.DataFrame:
        """Return the last day candle of each of these instruments with time < `before`, at most LAST_DAY_REACH earlier, as LAST_DAY_SCHEMA.

        Candles without prices are left out, as in `candles`. The order has no meaning.
        """

    async def minutes_besides(self, instrument_id: str, minutes: int, start: int, end: int) -> pl.DataFrame:
        """Return the 1-minute candles with start <= time < end, as `candles` does, of the India days without a stored candle of `minutes`.

        `start` and `end` are midnights in India.
        """

    def ticks(self, instrument_id: str, start: int, end: int) -> AsyncGenerator[pl.DataFrame, None]:
        """Yield the ticks with start <= time < end as frames of TICK_VALUES with at most MOST_TICKS rows, ordered by time, broker and sequence.

        All frames come from one state of the store. Closing the generator ends the query.
        """

    async def tick_days(self) -> pl.DataFrame:
        """Return the days of which ticks are stored as TICK_DAYS_SCHEMA, oldest first."""

    async def copy_ticks(self, start: int, end: int, file: Path) -> None:
        """Write the ticks with start <= time < end into a new Parquet file of TICK_SCHEMA, by instrument, time, broker and sequence. `put_ticks`
        takes it back."""

    async def drop_ticks(self, before: int) -> int:
        """Remove the ticks with time < `before`, and return their number."""

    async def series(self) -> pl.DataFrame:
        """Return the stored series as SERIES_SCHEMA, by instrument and interval."""

    def still(self) -> AbstractAsyncContextManager[None]:
        """Let nothing be written while the block runs: the files on disk stay as they are, and hold everything that was put. Reads go on, and
        writes wait."""

    async def release(self) -> None:
        """Give back memory that only makes reading fast, if nothing was read since the last call and nothing is being read."""

    async def close(self) -> None:
        """End every query and release the file; a later call opens it again."""
