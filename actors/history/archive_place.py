"""Where archived ticks are: the seam of their places, and a folder of this machine (docs/history.md). `bucket_place` is the other place.

The ticks of a day are the file `day=YYYY-MM-DD/ticks.parquet` of the place. A new file begins as a draft on this machine, and has its name when it is whole.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import date
from io import BytesIO
from pathlib import Path
from typing import Protocol, TypeVar

import trio

from onebroker.actors.history.interface import HistoryError
from onebroker.actors.kernel.panics import LibraryPanicked, panics_as_faults
from onebroker.actors.store.data_directory import sync_folder, write_whole
from onebroker.config.late_modules import pl

T = TypeVar("T")

NOTE_NAME = "onebroker.txt"
NOTE = b"onebroker writes the ticks of each day that is over here, a Parquet file a day: day=YYYY-MM-DD/ticks.parquet\n"
"""Written at each start: whether the place takes files shows then, and not after the first day."""


class PlaceAway(HistoryError):
    """Nothing can be read from the place or written to it now: it does not answer, or it refuses us."""


class ArchivePlace(Protocol):
    """Every method raises HistoryError for a file that cannot be read or written; PlaceAway when that holds for every file."""

    async def try_out(self) -> None:
        """Write a note and read it back."""

    async def days(self) -> Mapping[date, int]:
        """Return the days that have a file, with its bytes, oldest first."""

    async def rows(self, day: date) -> int | None:
        """Return the ticks in the file of a day, as its end says; None when there is no such file."""

    async def draft(self, day: date) -> Path:
        """Return where a new file of the day is to be written on this machine; nothing is there."""

    async def publish(self, day: date, draft: Path) -> None:
        """Make the draft the file of the day, whole or not at all. An earlier file is replaced, and the draft may be gone."""

    def kept(self, day: date) -> AbstractAsyncContextManager[Path]:
        """Yield the file of a day on this machine. It is to be read only, and only in the block."""


def name_of(day: date) -> str:
    """Return the name of a day's file in its place."""
    return f"day={day.isoformat()}/ticks.parquet"


def day_of(name: str) -> date | None:
    """Return the day of a name that `name_of` gives, else None."""
    try:
        day = date.fromisoformat(name.removeprefix("day=").removesuffix("/ticks.parquet"))
    except ValueError:
        return None
    return day if name == name_of(day) else None


def rows_of(parquet: Path | BytesIO) -> int:
    """Return the rows of a Parquet file. Its end is enough, and only that is read. Raises OSError, PolarsError."""
    return int(pl.scan_parquet(parquet).select(pl.len()).collect().item())


class FolderPlace:
    """A folder of this machine. It is made when it is not there; only its owner may enter it then."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def try_out(self) -> None:
        await self._in_thread(self._write_note)

    async def days(self) -> Mapping[date, int]:
        return await self._in_thread(self._days)

    async def rows(self, day: date) -> int | None:
        return await self._in_thread(lambda: self._rows(day), day)

    async def draft(self, day: date) -> Path:
        beside = self._file(day).with_name("ticks.parquet.part")
        await self._in_thread(lambda: prepare(beside), day)
        return beside

    async def publish(self, day: date, draft: Path) -> None:
        await self._in_thread(lambda: _rename(draft, self._file(day)), day)

    @asynccontextmanager
    async def kept(self, day: date) -> AsyncIterator[Path]:
        yield self._file(day)

    def _file(self, day: date) -> Path:
        return self._folder / name_of(day)

    def _write_note(self) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_whole(self._folder / NOTE_NAME, NOTE)

    def _days(self) -> dict[date, int]:
        days = {day_of(f"{file.parent.name}/{file.name}"): file for file in self._folder.glob("day=*/ticks.parquet")}
        return {day: days[day].stat().st_size for day in sorted(day for day in days if day is not None)}

    def _rows(self, day: date) -> int | None:
        file = self._file(day)
        return rows_of(file) if file.exists() else None

    async def _in_thread(self, work: Callable[[], T], day: date | None = None) -> T:
        what = str(self._folder) if day is None else f"the archive of {day}"
        try:
            with panics_as_faults():
                return await trio.to_thread.run_sync(work)
        except (LibraryPanicked, pl.exceptions.PolarsError) as error:
            raise HistoryError(f"{what}: {error}") from error
        except OSError as error:
            raise PlaceAway(f"{what}: {error}") from error


def prepare(draft: Path) -> None:
    """Make room for a draft: its folder, without an earlier draft. Raises OSError."""
    draft.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft.unlink(missing_ok=True)


def _rename(draft: Path, file: Path) -> None:
    """Give the draft the file's name once it is on disk."""
    with draft.open("rb") as written:
        os.fsync(written.fileno())
    draft.chmod(0o600)
    draft.replace(file)
    sync_folder(file.parent)
