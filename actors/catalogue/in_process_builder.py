"""Builds a catalogue and maps its file at once, without processes and threads, so that it works under a mocked clock. For tests."""

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import TypeVar

import trio

from onebroker.actors.catalogue.build import before_of, build_catalogue
from onebroker.actors.catalogue.builder import BuildFailed, Downloads
from onebroker.actors.catalogue.incoming_files import Incoming, IncomingMemory, Kept
from onebroker.actors.catalogue.mapping_table import open_table
from onebroker.actors.catalogue.report import BuildReport, UnlistedJob
from onebroker.actors.catalogue.snapshot import TableSnapshot
from onebroker.actors.catalogue.unlisted import grow_unlisted
from onebroker.brokers.broker import Registry

T = TypeVar("T")


class InProcessBuilder:
    """Implements `Builder`."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    async def begin(self) -> None:
        await trio.lowlevel.checkpoint()

    def incoming(self, name: str) -> Incoming:
        return IncomingMemory()

    async def build(self, downloads: Downloads, output: Path, unlisted: UnlistedJob | None = None) -> BuildReport:
        await trio.lowlevel.checkpoint()
        files, day = downloads.files, downloads.day
        try:
            report = build_catalogue(
                {code: [_body(kept) for kept in fetched.bodies] for code, fetched in files.items()}, downloads.lost, output, self._registry, day,
                names={code: fetched.names for code, fetched in files.items()},
                missing={code: fetched.missing for code, fetched in files.items()},
                before=before_of(unlisted, day),
            )  # fmt: skip
        except OSError as error:
            raise BuildFailed(str(error)) from error
        if unlisted is not None and report.rows:
            report.unlisted = grow_unlisted(unlisted, output, day)
        return report

    async def load(self, path: Path, mapping_date: date) -> TableSnapshot:
        return await self.off_loop(lambda: TableSnapshot(open_table(path), mapping_date))

    async def off_loop(self, work: Callable[[], T]) -> T:
        await trio.lowlevel.checkpoint()
        return work()


def _body(kept: Kept) -> bytes:
    return kept.read_bytes() if isinstance(kept, Path) else kept
