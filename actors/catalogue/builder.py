"""How a build is run and its file mapped: in a worker process and a thread (the service), or here (under a mocked clock)."""

import shutil
import sys
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Protocol

import attrs
import msgspec
import trio

from onebroker.actors.catalogue.build import build_catalogue
from onebroker.actors.catalogue.files import map_frame
from onebroker.actors.catalogue.report import BuildJob, BuildReport
from onebroker.actors.catalogue.snapshot import TableSnapshot
from onebroker.brokers.broker import Registry

MOST_ERROR_CHARACTERS = 400


class BuildFailed(Exception):
    """The build did not come to a report; nothing was replaced."""


@attrs.frozen(kw_only=True)
class Downloads:
    """What was fetched for one build."""

    bodies: Mapping[str, Sequence[bytes]] = attrs.field(repr=False)
    """Broker code -> its files, in the order of its requests."""
    lost: Mapping[str, str]
    """Broker code -> why there are none."""
    day: date
    """India calendar day of the fetch: what expired before it is not listed any more."""


class Builder(Protocol):
    async def build(self, downloads: Downloads, output: Path) -> BuildReport:
        """Write the catalogue file. Raises BuildFailed."""

    async def load(self, path: Path, mapping_date: date) -> TableSnapshot:
        """Map a catalogue file. Raises what `files.map_frame` raises, and ValueError when it is another kind of file."""


class ProcessBuilder:
    """Builds in a fresh interpreter (cancelling kills it) and maps in a worker thread."""

    def __init__(self, folder: Path) -> None:
        self._incoming = folder / "incoming"

    async def build(self, downloads: Downloads, output: Path) -> BuildReport:
        await trio.to_thread.run_sync(self._clear)
        try:
            files = await trio.to_thread.run_sync(self._keep, downloads.bodies)
            job = BuildJob(output=str(output), files=files, lost=dict(downloads.lost), day=downloads.day.isoformat())
            done = await trio.run_process(
                [sys.executable, "-m", "onebroker.actors.catalogue.build"],
                stdin=msgspec.json.encode(job), capture_stdout=True, capture_stderr=True, check=False,
            )  # fmt: skip
            if done.returncode != 0:
                raise BuildFailed(f"the build ended with {done.returncode}: {_tail(done.stderr)}")
            return msgspec.json.decode(done.stdout, type=BuildReport)
        except (OSError, msgspec.DecodeError) as error:
            raise BuildFailed(str(error)) from error
        finally:
            self._clear()

    async def load(self, path: Path, mapping_date: date) -> TableSnapshot:
        return await trio.to_thread.run_sync(lambda: TableSnapshot(map_frame(path), mapping_date))

    def _clear(self) -> None:
        """Remove downloads, those of a killed build included."""
        shutil.rmtree(self._incoming, ignore_errors=True)

    def _keep(self, bodies: Mapping[str, Sequence[bytes]]) -> dict[str, list[str]]:
        self._incoming.mkdir(parents=True, mode=0o700)
        files: dict[str, list[str]] = {}
        for code, parts in bodies.items():
            paths = [self._incoming / f"{code}-{number}" for number in range(len(parts))]
            for path, body in zip(paths, parts, strict=True):
                path.write_bytes(body)
            files[code] = [str(path) for path in paths]
        return files


class InProcessBuilder:
    """Builds and maps at once, without processes and threads, so that it works under a mocked clock. For tests."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    async def build(self, downloads: Downloads, output: Path) -> BuildReport:
        await trio.lowlevel.checkpoint()
        try:
            return build_catalogue(downloads.bodies, downloads.lost, output, self._registry, downloads.day)
        except OSError as error:
            raise BuildFailed(str(error)) from error

    async def load(self, path: Path, mapping_date: date) -> TableSnapshot:
        await trio.lowlevel.checkpoint()
        return TableSnapshot(map_frame(path), mapping_date)


def _tail(stderr: bytes | None) -> str:
    """Return the last line a failed interpreter wrote: the exception."""
    lines = (stderr or b"").decode(errors="replace").strip().splitlines()
    return lines[-1][:MOST_ERROR_CHARACTERS] if lines else "no error was written"
