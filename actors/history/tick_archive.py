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
from onebroker.actors.history.archive_marks import ArchiveMarks
from onebroker.actors.history.archive_merge import write_missing
from onebroker.actors.history.archive_place import ArchivePlace, PlaceAway
from onebroker.actors.history.disk_room import MEGABYTE, free_bytes
from onebroker.actors.history.interface import HistoryError, HistoryStore
from onebroker.actors.kernel.published import Published
from onebroker.config.clock import Clock
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
        marks: ArchiveMarks,
        published: Published[ArchiveState] | None = None,
        free_bytes: Callable[[Path], int] = free_bytes,
    ) -> None:
        self._store = store
        self._keeping = keeping
        self._clock = clock
        self._published = Published(ArchiveState()) if published is None else published
        self._free_bytes = free_bytes
        self._marks = marks
        self._rows: dict[date, int] = {}
        """Day -> ticks in its file, as last read."""
        self._wake = trio.Event()

    def wake(self) -> None:
        """Ticks were loaded into days that are marked: look at once."""
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
        counts = self._marks.counts()  # before the marks are read: a later mark makes a difference to them
        safe, failed = await self._archive(days, counts, await self._marks.days(), first_kept)
        self._publish(waiting=None if self._keeping.place is None else len(days) - len(safe))
        if first_kept is not None:
            await self._drop(days, safe, first_kept)
        if failed is not None:
            raise failed

    async def _archive(
        self, days: Mapping[date, int], counts: Mapping[date, int], marked: Set[date], first_kept: date | None
    ) -> tuple[Mapping[date, int], HistoryError | None]:
        """Return the days that may be removed, each with how often it had been marked, and the first failure. One bad file does not keep the other
        days back."""
        safe: dict[date, int] = {}
        failed: HistoryError | None = None
        for day, rows in days.items():
            count = counts.get(day, 0)
            leaves = first_kept is not None and day < first_kept
            try:
                await self._archive_day(day, rows, is_marked=day in marked, leaves=leaves)
                if day in marked:
                    await self._marks.remove(day, count)
                safe[day] = count
            except HistoryError as error:
                failed = error if failed is None else failed
                if isinstance(error, PlaceAway):
                    break
        return safe, failed

    async def _drop(self, days: Iterable[date], safe: Mapping[date, int], first_kept: date) -> None:
        # A load marks its days before it stores: what is stored before the removal below is seen here.
        unsafe = [day for day in days if day < first_kept and safe.get(day) != self._marks.count(day)]
        # Days are removed from the oldest on: a day that has no file keeps the days after it.
        until = min([first_kept, *unsafe])
        if any(day < until for day in days):
            count = await self._store.drop_ticks(day_start(until))
            _log.info("%s ticks of days before %s were removed from the store", count, until)

    async def _archive_day(self, day: date, rows: int, *, is_marked: bool, leaves: bool) -> None:
        """See that the file of a day has all of its ticks. `leaves`: the day is to be removed now, so its file is read again. Raises HistoryError."""
        place = self._keeping.place
        if place is None or (self._rows.get(day) == rows and not is_marked and not leaves):
            return
        kept = await place.rows(day)
        if kept != rows or is_marked:
            await self._write(place, day, rows, is_there=kept is not None)
            written, needed = await place.rows(day), max(rows, kept or 0)
            if written is None or written < needed:
                raise HistoryError(sentences.archived_less(day, written, needed))
            self._publish(last_day=day, written_at=self._clock.epoch())
            _log.info("%s ticks of %s were archived", written, day)
            kept = written
        self._rows[day] = kept

    async def _write(self, place: ArchivePlace, day: date, rows: int, *, is_there: bool) -> None:
        """Write the file of a day. What an earlier file has and the store has not is put into the store first, which never overwrites a tick of it."""
        draft = await place.draft(day)
        missing = draft.with_name(f"{draft.name}.missing")
        try:
            await self._find_room(draft, day, rows * TICK_BYTES * (2 if is_there else 1))
            await self._store.copy_ticks(day_start(day), day_end(day), draft)
            if is_there:
                async with place.kept(day) as kept:
                    count = await write_missing(kept, draft, missing)
                if count:
                    await self._store.put_ticks(missing)
                    draft = await place.draft(day)
                    await self._store.copy_ticks(day_start(day), day_end(day), draft)
            await place.publish(day, draft)
        finally:
            for file in (draft, missing):  # also what is half written: it would fill the disk
                file.unlink(missing_ok=True)

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
