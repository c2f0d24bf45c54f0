"""Copies all candles from one store to another, a month at a time, and compares both by counts and hashes.

A copy that was cut off goes on: a month, or a day of a large month, that is equal on both sides is not copied again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Protocol

import attrs
import trio

from onebroker.actors.history.interface import MICROSECONDS
from onebroker.actors.store.merge_result import Merged
from onebroker.config.late_modules import pl

MOST_ROWS = 500_000
"""A month with more candles is copied and compared day by day: so many are in memory at a time."""
_DAY = 86_400 * MICROSECONDS

Span = tuple[int, int]
Tell = Callable[[str, int, int], None]
"""Called with what is copied, its rows that are done, and all its rows."""


class CandleStore(Protocol):
    """What a copy needs of a store."""

    async def candle_days(self) -> dict[int, int]: ...

    async def candle_rows(self, start: int, end: int) -> pl.DataFrame: ...

    async def put_candles(self, file: Path) -> Merged: ...


@attrs.frozen(kw_only=True)
class CandleContents:
    """What a store holds."""

    rows: int
    sha256: str
    """Over the candles as CSV: by month, and in it by instrument, interval and time."""


async def copy_candles(
    source: CandleStore, target: CandleStore, folder: Path, tell: Tell
) -> tuple[CandleContents, CandleContents]:
    """Make `target` hold the candles of `source`, and return both contents as they are at the end. Raises HistoryError, OSError.

    `folder` takes one file at a time on the way.
    """
    given, found = await source.candle_days(), await target.candle_days()
    total, done = sum(given.values()), 0
    file = folder / "moving-candles.parquet"
    await trio.Path(folder).mkdir(mode=0o700, parents=True, exist_ok=True)
    for span in _spans(given):
        rows = await source.candle_rows(*span)
        is_there = any(span[0] <= day * _DAY < span[1] for day in found)
        if not is_there or not rows.equals(await target.candle_rows(*span)):
            await trio.to_thread.run_sync(rows.write_parquet, file)
            await target.put_candles(file)
        done += rows.height
        tell("candles", done, total)
    await trio.Path(file).unlink(missing_ok=True)
    return await contents(source), await contents(target)


async def contents(store: CandleStore) -> CandleContents:
    """Return what a store holds. Raises HistoryError."""
    days = await store.candle_days()
    hashed = hashlib.sha256()
    for span in _spans(days):
        rows = await store.candle_rows(*span)
        hashed.update(await trio.to_thread.run_sync(_text, rows))
    return CandleContents(rows=sum(days.values()), sha256=hashed.hexdigest())


def _text(rows: pl.DataFrame) -> bytes:
    return rows.write_csv(include_header=False).encode()


def _spans(days: Mapping[int, int]) -> Iterator[Span]:
    """Yield the times from which to which is copied at once: thirty days, or single days where there are more candles than `MOST_ROWS`."""
    for first in sorted({day - day % 30 for day in days}):
        inside = [day for day in range(first, first + 30) if day in days]
        if sum(days[day] for day in inside) <= MOST_ROWS:
            yield first * _DAY, (first + 30) * _DAY
        else:
            yield from ((day * _DAY, (day + 1) * _DAY) for day in inside)
