"""Marks of days into which ticks were loaded since their file in the archive was written.

A corrected tick leaves the number of a day's ticks as it is, so the file does not show by itself that it is old. A mark is an empty file in the data
directory, made before the ticks are stored, by the service and by a command that works without one. It outlives both, until the day is archived.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import date
from pathlib import Path
from typing import TypeVar

import trio

from onebroker.actors.history.interface import INDIA_DAY, INDIA_OFFSET, HistoryError
from onebroker.actors.kernel.panics import LibraryPanicked, panics_as_faults
from onebroker.config.late_modules import pl

T = TypeVar("T")


class ArchiveMarks:
    """Every method raises HistoryError when the folder cannot be read or written."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._counts: dict[date, int] = {}
        """Day -> how often it was marked since the start of the process. A mark that came during the archiving of its day stays."""

    async def add(self, days: Iterable[date]) -> None:
        marked = tuple(days)
        for day in marked:
            self._counts[day] = self.count(day) + 1
        await self._in_thread(lambda: self._write(marked))

    def count(self, day: date) -> int:
        return self._counts.get(day, 0)

    def counts(self) -> Mapping[date, int]:
        """Return how often each day was marked so far; read it before the day's ticks are read, for `remove`."""
        return dict(self._counts)

    async def days(self) -> frozenset[date]:
        return await self._in_thread(self._read)

    async def remove(self, day: date, count: int) -> None:
        """Remove the mark of a day that was archived, unless it was marked again since the count was read."""
        if self.count(day) == count:
            await self._in_thread(lambda: self._file(day).unlink(missing_ok=True))

    def _file(self, day: date) -> Path:
        return self._folder / day.isoformat()

    def _write(self, days: Iterable[date]) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for day in days:
            self._file(day).touch(0o600)

    def _read(self) -> frozenset[date]:
        return frozenset(date.fromisoformat(file.name) for file in self._folder.glob("????-??-??"))

    async def _in_thread(self, work: Callable[[], T]) -> T:
        try:
            return await trio.to_thread.run_sync(work)
        except OSError as error:
            raise HistoryError(f"the marks of days to be archived again: {error}") from error


async def days_of(file: Path) -> tuple[date, ...]:
    """Return the days in India of the ticks of a Parquet file of TICK_SCHEMA. Raises HistoryError."""
    midnight = ((pl.col("time") + INDIA_OFFSET) // INDIA_DAY).cast(pl.Int32).cast(pl.Date)
    try:
        with panics_as_faults():
            days = await trio.to_thread.run_sync(lambda: pl.scan_parquet(file).select(midnight.unique()).collect())
    except (OSError, LibraryPanicked, pl.exceptions.PolarsError) as error:
        raise HistoryError(f"{file} cannot be read: {error}") from error
    return tuple(days.to_series().to_list())
