"""A bucket of an object store as the place of archived ticks: Amazon S3, and other stores that speak its protocol (docs/history.md).

The library is obstore, an extra (`onebroker[s3]`), so this module is imported only when the settings name a bucket. Its calls run in worker threads that
are left alone when the service stops: an upload that is cut off leaves no file, because an object has its name when all of it is there.

A file travels as it is, in pieces, so that memory stays small however many ticks a day has. The number of its ticks is read from its end.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import date, timedelta
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import obstore
import trio
from obstore.exceptions import BaseError
from obstore.store import S3Store

from onebroker.actors.history.archive_place import NOTE, NOTE_NAME, PlaceAway, day_of, name_of, prepare, rows_of
from onebroker.actors.history.interface import HistoryError
from onebroker.actors.kernel.panics import LibraryPanicked, panics_as_faults
from onebroker.config.late_modules import pl
from onebroker.config.sections import ObjectStoreSettings, TickPlace

if TYPE_CHECKING:
    from obstore.store import ClientConfig, RetryConfig, S3Config

T = TypeVar("T")

CONNECT_SECONDS = 5
REQUEST_SECONDS = 120
"""Longest request: one piece of a file at four pieces at once, so 170 kB a second are enough."""
RETRIES = 3
RETRY_SECONDS = 60
"""Longest time in which a request is tried again. After that the next look of the archive tries."""
PIECE_BYTES = 5 * 1024 * 1024
PIECES_AT_ONCE = 4
END_BYTES = 256 * 1024
"""So much of a file's end is read first. It holds what Parquet says of ten million ticks."""
LONGEST_REASON = 300
NO_ROWS = "the file is no Parquet file"


class BucketPlace:
    """The folder of a bucket. `staging`: folder of this machine for drafts and for files that are fetched."""

    def __init__(self, place: TickPlace, settings: ObjectStoreSettings, staging: Path) -> None:
        self._shown = str(place)
        self._staging = staging
        self._bucket = _bucket(place, settings)

    async def try_out(self) -> None:
        await self._call(lambda: obstore.put(self._bucket, NOTE_NAME, NOTE))
        await self._call(lambda: obstore.get(self._bucket, NOTE_NAME).bytes())

    async def days(self) -> Mapping[date, int]:
        return await self._call(self._days)

    async def rows(self, day: date) -> int | None:
        return await self._call(lambda: self._rows(name_of(day)), day)

    async def draft(self, day: date) -> Path:
        return await self._prepared(f"archived-{day.isoformat()}.new")

    async def publish(self, day: date, draft: Path) -> None:
        await self._call(
            lambda: obstore.put(
                self._bucket, name_of(day), draft, chunk_size=PIECE_BYTES, max_concurrency=PIECES_AT_ONCE
            ),
            day,
        )

    @asynccontextmanager
    async def kept(self, day: date) -> AsyncIterator[Path]:
        file = await self._prepared(f"archived-{day.isoformat()}")
        try:
            await self._call(lambda: self._fetch(name_of(day), file), day)
            yield file
        finally:
            file.unlink(missing_ok=True)

    async def _prepared(self, name: str) -> Path:
        file = self._staging / name
        try:
            await trio.to_thread.run_sync(prepare, file)
        except OSError as error:
            raise PlaceAway(f"{file} cannot be written: {error}") from error
        return file

    def _days(self) -> dict[date, int]:
        files = {day_of(file["path"]): file["size"] for part in obstore.list(self._bucket) for file in part}
        return {day: files[day] for day in sorted(day for day in files if day is not None)}

    def _rows(self, name: str) -> int | None:
        try:
            size = obstore.head(self._bucket, name)["size"]
        except FileNotFoundError:
            return None
        if not size:
            raise HistoryError(NO_ROWS)
        end = self._end(name, size, END_BYTES)
        # A Parquet file ends with the length of its description and "PAR1", each of 4 bytes.
        described = int.from_bytes(end[-8:-4], "little") + 8
        if len(end) < described <= size:
            end = self._end(name, size, described)
        return rows_of(BytesIO(end))

    def _end(self, name: str, size: int, count: int) -> bytes:
        return bytes(obstore.get_range(self._bucket, name, start=max(0, size - count), end=size))

    def _fetch(self, name: str, file: Path) -> None:
        """Copy an object in pieces. All of them are of one state of it."""
        known = obstore.head(self._bucket, name)
        with file.open("wb") as written:
            for start in range(0, known["size"], PIECE_BYTES):
                end = min(start + PIECE_BYTES, known["size"])
                piece = obstore.get(self._bucket, name, options={"range": (start, end), "if_match": known["e_tag"]})
                written.write(piece.bytes())

    async def _call(self, work: Callable[[], T], day: date | None = None) -> T:
        what = self._shown if day is None else f"the archive of {day} in {self._shown}"
        try:
            with panics_as_faults():
                return await trio.to_thread.run_sync(work, abandon_on_cancel=True)
        except (HistoryError, LibraryPanicked, pl.exceptions.PolarsError) as error:
            raise HistoryError(f"{what}: {error}") from error
        except (OSError, BaseError, ValueError) as error:
            raise PlaceAway(f"{what}: {_reason(error)}") from error


def _bucket(place: TickPlace, settings: ObjectStoreSettings) -> S3Store:
    config: S3Config = {}
    if settings.region is not None:
        config["region"] = settings.region
    if settings.endpoint is not None:
        config["endpoint"] = settings.endpoint.removesuffix("/")
    if settings.access_key_id is not None and settings.secret_access_key is not None:
        config["access_key_id"] = settings.access_key_id
        config["secret_access_key"] = settings.secret_access_key.reveal()
    client: ClientConfig = {
        "allow_http": settings.endpoint is not None and settings.endpoint.startswith("http://"),
        "connect_timeout": timedelta(seconds=CONNECT_SECONDS),
        "timeout": timedelta(seconds=REQUEST_SECONDS),
    }
    retries: RetryConfig = {"max_retries": RETRIES, "retry_timeout": timedelta(seconds=RETRY_SECONDS)}
    return S3Store(
        place.bucket, prefix=place.folder or None, config=config, client_options=client, retry_config=retries
    )


_CODE = re.compile(r"<Code>([^<]+)</Code>(?:.*?<Message>([^<]*)</Message>)?", re.DOTALL)
_CAUSES = (
    (re.compile(r"InvalidCertificate\((?:\s*\w+\()*\s*(\w+)"), "its certificate is not trusted: {}"),
    (re.compile(r"TimedOut|Elapsed|timed out"), "it does not answer in time"),
    (re.compile(r'(?:message|error): "([^"]+)"'), "{}"),
)


def _reason(error: Exception) -> str:
    """Return why a call failed: the object store's own words, or the cause at the bottom of what the library tells."""
    told = str(error)
    if (code := _CODE.search(told)) is not None:
        said = ": ".join(part for part in code.groups() if part)
    else:
        causes = ((cause.search(told), words) for cause, words in _CAUSES)
        first = told.partition("\n\nDebug source")[0]
        said = next((words.format(*found.groups()) for found, words in causes if found is not None), first)
    said = " ".join(said.split())
    return said if len(said) <= LONGEST_REASON else f"{said[:LONGEST_REASON]} ..."
