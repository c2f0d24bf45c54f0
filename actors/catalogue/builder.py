"""Runs a build in a worker process and maps its file in a thread. `in_process_builder.py` does both in this process, for tests."""

import os
import shutil
import sys
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import Protocol, TypeVar

import attrs
import msgspec
import trio

from onebroker.actors.catalogue.incoming_files import Incoming, IncomingFile, Kept
from onebroker.actors.catalogue.mapping_table import open_table
from onebroker.actors.catalogue.report import BuildJob, BuildReport, UnlistedJob
from onebroker.actors.catalogue.snapshot import TableSnapshot

T = TypeVar("T")

MOST_ERROR_CHARACTERS = 400
CLEARING_SECONDS = 10.0
WORKER_ENVIRONMENT = {"_RJEM_MALLOC_CONF": "dirty_decay_ms:5000,muzzy_decay_ms:5000"}
"""For polars' allocator. By default it returns freed memory at once and requests it again for the next step, which causes half of a
build's page faults. The worker lives for seconds; its memory ends with it.
"""


class BuildFailed(Exception):
    """The build produced no report; nothing was replaced."""


@attrs.frozen(kw_only=True)
class Fetched:
    """One broker's files, in the order of its requests."""

    bodies: tuple[Kept, ...] = attrs.field(repr=False)
    """A file that did not come is `instrument_files.MISSING`."""
    names: tuple[str, ...]
    missing: Mapping[str, str] = attrs.field(factory=dict)
    """Name of a file that did not come -> why."""


@attrs.frozen(kw_only=True)
class Downloads:
    """The files fetched for one build."""

    files: Mapping[str, Fetched]
    """Broker code -> its files."""
    lost: Mapping[str, str]
    """Broker code -> why the broker has no files."""
    day: date
    """India calendar day of the fetch: a contract that expired before it is no longer listed."""


class Builder(Protocol):
    async def begin(self) -> None:
        """Prepare the place for the files of one build. Raises OSError."""

    def incoming(self, name: str) -> Incoming:
        """Return the place of one of these files, kept until the build."""

    async def build(self, downloads: Downloads, output: Path, unlisted: UnlistedJob | None = None) -> BuildReport:
        """Write the catalogue file, and the file of `unlisted` instruments. Raises BuildFailed."""

    async def load(self, path: Path, mapping_date: date) -> TableSnapshot:
        """Map a catalogue file. Raises the errors of `table.open_table`."""

    async def off_loop(self, work: Callable[[], T]) -> T:
        """Do `work`, which reads or writes files, without blocking the loop."""


class ProcessBuilder:
    """Builds in a fresh interpreter (cancelling kills it) and maps in a worker thread."""

    def __init__(self, folder: Path) -> None:
        self._incoming = folder / "incoming"

    async def begin(self) -> None:
        await self.off_loop(self._make_place)

    def incoming(self, name: str) -> Incoming:
        return IncomingFile(self._incoming / name, self.off_loop)

    async def build(self, downloads: Downloads, output: Path, unlisted: UnlistedJob | None = None) -> BuildReport:
        try:
            job = BuildJob(
                output=str(output),
                files={
                    code: [str(kept) if isinstance(kept, Path) else "" for kept in fetched.bodies]
                    for code, fetched in downloads.files.items()
                },
                names={code: list(fetched.names) for code, fetched in downloads.files.items()},
                missing={code: dict(fetched.missing) for code, fetched in downloads.files.items()},
                lost=dict(downloads.lost),
                day=downloads.day.isoformat(),
                unlisted=unlisted,
            )
            done = await trio.run_process(
                [sys.executable, "-m", "onebroker.actors.catalogue.build"],
                stdin=msgspec.json.encode(job), capture_stdout=True, capture_stderr=True, check=False,
                env={**WORKER_ENVIRONMENT, **os.environ},
            )  # fmt: skip
            if done.returncode != 0:
                raise BuildFailed(f"the build ended with {done.returncode}: {_tail(done.stderr)}")
            return msgspec.json.decode(done.stdout, type=BuildReport)
        except (OSError, msgspec.DecodeError) as error:
            raise BuildFailed(str(error)) from error
        finally:
            with trio.move_on_after(CLEARING_SECONDS, shield=True):
                await self.off_loop(self._clear)

    async def load(self, path: Path, mapping_date: date) -> TableSnapshot:
        return await self.off_loop(lambda: TableSnapshot(open_table(path), mapping_date))

    async def off_loop(self, work: Callable[[], T]) -> T:
        return await trio.to_thread.run_sync(work)

    def _clear(self) -> None:
        """Remove the downloads."""
        shutil.rmtree(self._incoming, ignore_errors=True)

    def _make_place(self) -> None:
        self._clear()  # the files of a killed build
        self._incoming.mkdir(parents=True, mode=0o700)


def _tail(stderr: bytes | None) -> str:
    """Return the last line that a failed interpreter wrote: the exception."""
    lines = (stderr or b"").decode(errors="replace").strip().splitlines()
    return lines[-1][:MOST_ERROR_CHARACTERS] if lines else "no error was written"
