"""Ticks of days that are over: written as Parquet, a file a day, and removed from the store after their time (docs/history.md).

The file of a day in its place (`archive_place`) has the columns of `interface.TICK_SCHEMA`, so that any program reads it, and `history load ticks` takes
it back. A day is removed from the store only when its file has all of its ticks; without an archive it is removed all the same, because the setting
says so.

Ticks of an archived day may be loaded later, also when the day was removed. Then the file is put back, the loaded ticks over it, and the file is
written anew: no tick that was in either is lost.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Set
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import attrs
import trio

from onebroker.actors.history.adjust import day_end, day_start
from onebroker.actors.history.archive_place import ArchivePlace, PlaceAway
from onebroker.actors.history.disk_room import MEGABYTE, free_bytes
from onebroker.actors.history.interface import INDIA_DAY, INDIA_OFFSET, HistoryError, HistoryStore
from onebroker.actors.kernel.published import Published
from onebroker.config.clock import Clock
from onebroker.config.late_modules import pl
from onebroker.config.messages import history as sentences

LOOK_SECONDS = 900.0
"""How often the days are looked at. The first look is so long after the start, when the service has other work."""

TICK_BYTES = 120
"""What a tick takes in a file at most, about; with five levels of depth it is 40."""

_log = logging.getLogger("onebroker.history")


@attrs.frozen(kw_only=True)
class TickKeeping:
    """What the settings say about the ticks of days that are over."""

    place: ArchivePlace | None = None
    """Where the Parquet files are; None = none are written."""
    days: int | None = None
    """Days for which the store keeps ticks, the present day not counted; None = for ever."""
    reserve: int = 0
    """Bytes that a draft leaves free on its disk."""

    @property
    def is_wanted(self) -> bool:
        return self.place is not None or self.days is not None


@attrs.frozen(kw_only=True)
class ArchiveState:
    """The published state of the archive."""

    place: str | None = None
    """The place, as the settings name it; None = ticks are not archived."""
    waiting: int | None = None
    """Days that are over and have not all of their ticks in the archive; None = not looked yet, or no archive."""
    last_day: date | None = None
    """The day whose file was written last since the start."""
    written_at: float | None = None
    """Epoch seconds of that."""
    trouble: str | None = None
    """Why ticks are not archived, or not removed after their time; None = they are."""


class TickArchive:
    """Archives and removes ticks. `keep` runs as long as the history actor."""

    def __init__(
        self,
        store: HistoryStore,
        keeping: TickKeeping,
        clock: Clock,
        published: Published[ArchiveState] | None = None,
        free_bytes: Callable[[Path], int] = free_bytes,
    ) -> None:
        self._store = store
        self._keeping = keeping
        self._clock = clock
        self._published = Published(ArchiveState()) if published is None else published
        self._free_bytes = free_bytes
        self._loaded: set[date] = set()
        """Days into which ticks were loaded since their file was written."""
        self._rows: dict[date, int] = {}
        """Day -> ticks in its file, as last read."""
        self._wake = trio.Event()

    def loaded(self, days: Iterable[date]) -> None:
        """Ticks of these days were loaded: their files are old."""
        self._loaded.update(days)
        self._wake.set()

    async def keep(self) -> None:
        await self._tried(self._try_out)
        while True:
            with trio.move_on_after(LOOK_SECONDS):
                await self._wake.wait()
            self._wake = trio.Event()
            await self._tried(self.look)

    async def _tried(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do work of the archive; publish and log when it fails."""
        try:
            await work()
        except HistoryError as error:
            self._publish(trouble=str(error))
            _log.warning("ticks could not be archived, or removed after their time; they are tried again: %s", error)
        else:
            self._publish(trouble=None)

    async def _try_out(self) -> None:
        if self._keeping.place is not None:
            await self._keeping.place.try_out()

    async def look(self) -> None:
        """Archive the days that are over and removed those whose time has come. Raises HistoryError, for the first day that failed."""
        if self._published.value.trouble is not None:
            await self._try_out()
        today = self._clock.today()
        days = {day: rows for day, rows in (await self._store.tick_days()).iter_rows() if day < today}
        first_kept = None if self._keeping.days is None else today - timedelta(days=self._keeping.days)
        safe, failed = await self._archive(days, first_kept)
        self._publish(waiting=None if self._keeping.place is None else len(days) - len(safe))
        if first_kept is not None:
            await self._drop(days, safe, first_kept)
        if failed is not None:
            raise failed

    async def _archive(
        self, days: Mapping[date, int], first_kept: date | None
    ) -> tuple[set[date], HistoryError | None]:
        """Return the days that may be removed, and the first failure. One bad file does not keep the other days back."""
        safe: set[date] = set()
        failed: HistoryError | None = None
        for day, rows in days.items():
            try:
                if await self._archived(day, rows, leaves=first_kept is not None and day < first_kept):
                    safe.add(day)
            except HistoryError as error:
                failed = error if failed is None else failed
                if isinstance(error, PlaceAway):
                    break
        return safe, failed

    async def _drop(self, days: Iterable[date], safe: Set[date], first_kept: date) -> None:
        unsafe = [day for day in days if day < first_kept and day not in safe]
        # Days are removed from the oldest on: a day that has no file keeps the days after it.
        until = min([first_kept, *unsafe])
        if any(day < until for day in days):
            count = await self._store.drop_ticks(day_start(until))
            _log.info("%s ticks of days before %s were removed from the store", count, until)

    async def _archived(self, day: date, rows: int, *, leaves: bool) -> bool:
        """Whether the day may be removed: its file has all of its ticks. Writes the file where it has not. `leaves`: the day is to be removed now, so
        its file is read again. Raises HistoryError.
        """
        place = self._keeping.place
        if place is None:
            return True
        if self._rows.get(day) == rows and day not in self._loaded and not leaves:
            return True
        try:
            kept = await place.rows(day)
            if kept == rows and day not in self._loaded:
                self._rows[day] = rows
                return True
            self._loaded.discard(day)
            await self._write(place, day, rows, is_there=kept is not None)
            written = await place.rows(day)
        except HistoryError:
            self._loaded.add(day)
            raise
        if written is None or written < max(rows, kept or 0):
            self._loaded.add(day)
            raise HistoryError(sentences.archived_less(day, written, max(rows, kept or 0)))
        self._rows[day] = written
        self._publish(last_day=day, written_at=self._clock.epoch())
        _log.info("%s ticks of %s were archived", written, day)
        return True

    async def _write(self, place: ArchivePlace, day: date, rows: int, *, is_there: bool) -> None:
        """Write the file of a day, with what an earlier file has and the store has not."""
        draft = await place.draft(day)
        try:
            await self._find_room(draft, day, rows * TICK_BYTES * (2 if is_there else 1))
            await self._store.copy_ticks(day_start(day), day_end(day), draft)
            if is_there:
                async with place.kept(day) as kept:
                    await self._store.put_ticks(kept)
                await self._store.put_ticks(draft)  # what was loaded later counts
                draft = await place.draft(day)
                await self._store.copy_ticks(day_start(day), day_end(day), draft)
            await place.publish(day, draft)
        finally:
            draft.unlink(missing_ok=True)  # also a half written one: it would fill the disk

    async def _find_room(self, draft: Path, day: date, needed: int) -> None:
        """Raise HistoryError if the draft would fill its disk, which may be that of the store of orders."""
        try:
            free = await trio.to_thread.run_sync(self._free_bytes, draft.parent)
        except OSError as error:
            raise PlaceAway(f"the archive of {day}: the free space of its disk cannot be told: {error}") from error
        if free < needed + self._keeping.reserve:
            raise HistoryError(
                sentences.archive_without_room(
                    day, free // MEGABYTE, needed // MEGABYTE, self._keeping.reserve // MEGABYTE
                )
            )

    def _publish(self, **changed: Any) -> None:
        state = attrs.evolve(self._published.value, **changed)
        if state != self._published.value:
            self._published.set(state)


def days_of(file: Path) -> tuple[date, ...]:
    """Return the days in India of the ticks of a Parquet file of TICK_SCHEMA. Raises OSError, PolarsError."""
    midnight = ((pl.col("time") + INDIA_OFFSET) // INDIA_DAY).cast(pl.Int32).cast(pl.Date)
    return tuple(pl.scan_parquet(file).select(midnight.unique()).collect().to_series().to_list())
