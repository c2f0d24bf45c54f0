"""Ticks of days that are over: written as Parquet, a file a day, and removed from the store after their time (docs/history.md).

`<archive>/day=YYYY-MM-DD/ticks.parquet` has the columns of `interface.TICK_SCHEMA`, so that any program reads it, and `history load ticks` takes it
back. A file is complete when it has its name: it is written beside and renamed. A day is removed from the store only when its file has all of
its ticks; without an archive it is removed all the same, because the setting says so.

Ticks of an archived day may be loaded later, also when the day was removed. Then the file is put back, the loaded ticks over it, and the file is
written anew: no tick that was in either is lost.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable
from datetime import date, timedelta
from pathlib import Path

import attrs
import trio

from onebroker.actors.history.adjust import day_end, day_start
from onebroker.actors.history.interface import INDIA_DAY, INDIA_OFFSET, HistoryError, HistoryStore
from onebroker.config.clock import Clock
from onebroker.config.late_modules import pl

LOOK_SECONDS = 900.0
"""How often the days are looked at. The first look is so long after the start, when the service has other work."""

_log = logging.getLogger("onebroker.history")


@attrs.frozen(kw_only=True)
class TickKeeping:
    """What the settings say about the ticks of days that are over."""

    archive: Path | None = None
    """Folder of the Parquet files; None = none are written."""
    days: int | None = None
    """Days for which the store keeps ticks, the present day not counted; None = for ever."""

    @property
    def is_wanted(self) -> bool:
        return self.archive is not None or self.days is not None


class TickArchive:
    """Archives and removes ticks. `keep` runs as long as the history actor."""

    def __init__(self, store: HistoryStore, keeping: TickKeeping, clock: Clock) -> None:
        self._store = store
        self._keeping = keeping
        self._clock = clock
        self._loaded: set[date] = set()
        """Days into which ticks were loaded since their file was written."""
        self._wake = trio.Event()

    def loaded(self, days: Iterable[date]) -> None:
        """Ticks of these days were loaded: their files are old."""
        self._loaded.update(days)
        self._wake.set()

    async def keep(self) -> None:
        while True:
            with trio.move_on_after(LOOK_SECONDS):
                await self._wake.wait()
            self._wake = trio.Event()
            try:
                await self.look()
            except HistoryError as error:
                _log.warning(
                    "ticks could not be archived, or removed after their time; they are tried again: %s", error
                )

    async def look(self) -> None:
        """Archive the days that are over and removed those whose time has come. Raises HistoryError."""
        today = self._clock.today()
        days = {day: rows for day, rows in (await self._store.tick_days()).iter_rows() if day < today}
        safe = {day for day, rows in days.items() if await self._archived(day, rows)}
        if self._keeping.days is None:
            return
        first_kept = today - timedelta(days=self._keeping.days)
        unsafe = [day for day in days if day < first_kept and day not in safe]
        # Days are removed from the oldest on: a day that has no file keeps the days after it.
        until = min([first_kept, *unsafe])
        if any(day < until for day in days):
            count = await self._store.drop_ticks(day_start(until))
            _log.info("%s ticks of days before %s were removed from the store", count, until)

    async def _archived(self, day: date, rows: int) -> bool:
        """Whether the day may be removed: its file has all of its ticks. Writes the file where it has not. Raises HistoryError."""
        archive = self._keeping.archive
        if archive is None:
            return True
        file = archive / f"day={day.isoformat()}" / "ticks.parquet"
        try:
            kept = await trio.to_thread.run_sync(rows_of, file)
            if kept == rows and day not in self._loaded:
                return True
            self._loaded.discard(day)
            await self._write(day, file, is_there=kept >= 0)
            written = await trio.to_thread.run_sync(rows_of, file)
            _log.info("%s ticks of %s were archived", written, day)
        except (OSError, pl.exceptions.PolarsError) as error:
            self._loaded.add(day)
            raise HistoryError(f"the archive of {day}: {error}") from error
        return written >= max(rows, kept)

    async def _write(self, day: date, file: Path, *, is_there: bool) -> None:
        """Write the file of a day, with what an earlier file has and the store has not."""
        beside = file.with_name("ticks.parquet.part")
        await trio.to_thread.run_sync(_prepare, beside)
        await self._store.copy_ticks(day_start(day), day_end(day), beside)
        if is_there:
            await self._store.put_ticks(file)
            await self._store.put_ticks(beside)  # what was loaded later counts
            await trio.to_thread.run_sync(_prepare, beside)
            await self._store.copy_ticks(day_start(day), day_end(day), beside)
        await trio.to_thread.run_sync(_rename, beside, file)


def rows_of(file: Path) -> int:
    """Return the rows of a Parquet file; -1 when there is no such file. Raises OSError, PolarsError."""
    if not file.exists():
        return -1
    return int(pl.scan_parquet(file).select(pl.len()).collect().item())


def days_of(file: Path) -> tuple[date, ...]:
    """Return the days in India of the ticks of a Parquet file of TICK_SCHEMA. Raises OSError, PolarsError."""
    midnight = ((pl.col("time") + INDIA_OFFSET) // INDIA_DAY).cast(pl.Int32).cast(pl.Date)
    return tuple(pl.scan_parquet(file).select(midnight.unique()).collect().to_series().to_list())


def _prepare(file: Path) -> None:
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    file.unlink(missing_ok=True)


def _rename(beside: Path, file: Path) -> None:
    """Give the file its name once it is on disk."""
    with beside.open("rb") as written:
        os.fsync(written.fileno())
    beside.chmod(0o600)
    beside.replace(file)
    folder = os.open(file.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
