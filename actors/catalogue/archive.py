"""The catalogue's files and their rows in the durable store: everything kept for restarts and for older dates.

A date's row names its mapping file and the matching file of unlisted instruments. First the files are put in place, under names that
no row holds. Then the row is written, and only then the replaced files are removed. So after a crash at any point the rows name whole
files that belong together; a file without a row is overwritten some day.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import msgspec

from onebroker.actors.catalogue.arrow_files import content_hash_of, file_name, move_into_place
from onebroker.actors.catalogue.builder import Builder, BuildFailed
from onebroker.actors.catalogue.contract_renames import of_contracts, renames_of
from onebroker.actors.catalogue.interface import NONE_UNLISTED, Unlisted
from onebroker.actors.catalogue.report import BuildReport, UnlistedJob, UnlistedReport
from onebroker.actors.catalogue.snapshot import TableSnapshot
from onebroker.actors.catalogue.unlisted import MOST_LOOKED_THROUGH, UnlistedTable, map_unlisted
from onebroker.actors.store.durable import CatalogueFile, Durable, DurableError
from onebroker.actors.store.durable_history import Rename
from onebroker.config.late_modules import pl

UNLISTED_PREFIX = "unlisted."

_log = logging.getLogger("onebroker.catalogue")


def unmappable() -> tuple[type[Exception], ...]:
    """Return the errors of mapping a file that is damaged, missing or not ours."""
    return (OSError, ValueError, pl.exceptions.PolarsError)


class Archive:
    """The existing mapping dates. Its only owner is the catalogue actor."""

    def __init__(self, *, folder: Path, durable: Durable, builder: Builder) -> None:
        self._folder = folder
        self._durable = durable
        self._builder = builder
        self._files: dict[date, CatalogueFile] = {}
        self._stored: dict[date, CatalogueFile] = {}
        """The rows as the durable store has them."""
        self.renames: tuple[Rename, ...] = ()
        """Contracts whose id changed because their strike was adjusted, by day."""
        self.unlisted: Unlisted = NONE_UNLISTED
        self._unlisted_file = ""
        self.unlisted_doubtful = False
        """Whether the unlisted file may lack instruments of earlier mappings. If so, the next build looks through all of these mappings."""

    async def open(self) -> None:
        """Read the rows and prepare the folder. Raises DurableError."""
        try:
            await self._builder.off_loop(self._prepare)
        except OSError as error:  # each build will report it
            _log.error("the catalogue's folder cannot be made: %s", error)
        self._stored = {file.mapping_date: file for file in await self._durable.catalogue_files()}
        self._files = dict(self._stored)
        self.renames = of_contracts(await self._durable.renames())
        await self._open_unlisted()
        await self._builder.off_loop(self._sweep)

    def _prepare(self) -> None:
        """Make the folder. Import polars here, in the builder's thread, instead of where a table is used first. Raises OSError."""
        unmappable()
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    async def newest(self) -> tuple[CatalogueFile, TableSnapshot] | None:
        """Map the newest file that can be mapped; dates whose files cannot be mapped are treated as absent."""
        for day, file in sorted(self._files.items(), reverse=True):
            try:
                return file, await self.load(day)
            except unmappable() as error:
                _log.error("the catalogue of %s cannot be mapped: %s", day, error)
                del self._files[day]
        return None

    def day_at(self, day: date) -> date | None:
        """Return the latest mapping date on or before `day`."""
        return max((known for known in self._files if known <= day), default=None)

    async def load(self, day: date) -> TableSnapshot:
        """Map the file of a mapping date. Raises the errors in `unmappable`."""
        return await self._builder.load(self._folder / self._files[day].file, day)

    def reports_before(self, day: date) -> Iterator[BuildReport]:
        """Yield the reports of the dates before `day`, newest first."""
        for known in sorted(self._files, reverse=True):
            if known < day:
                yield stored_report(self._files[known])

    # A build

    def candidate(self, day: date) -> Path:
        """Return where a build writes its mapping; `unlisted_job` gives the place of the other file."""
        return self._folder / f".{day}.candidate"

    def unlisted_job(self, day: date) -> UnlistedJob:
        """Return a build's task for the instruments that are no longer listed."""
        before: dict[str, date] = {}
        for known in sorted(self._files, reverse=True):
            if known < day:
                before.setdefault(self._files[known].file, known)  # a file of several dates counts for its last date
        files = [(self._files[day].file, day)] if day in self._files else []
        files += list(before.items())[:MOST_LOOKED_THROUGH]
        return UnlistedJob(
            output=str(self._unlisted_candidate(day)),
            base=str(self._folder / self._unlisted_file) if self._unlisted_file else "",
            earlier=[(known.isoformat(), str(self._folder / file)) for file, known in files],
            look_through=self.unlisted_doubtful,
        )

    async def keep(self, day: date, report: BuildReport) -> str | None:
        """Put a build's files in place and write its row. Return why a restart would not know the build, or None.

        Raises BuildFailed when the files cannot be put in place; then nothing has changed.
        """
        try:
            file = await self._builder.off_loop(lambda: self._place(day, report))
        except OSError as error:
            raise BuildFailed(f"its files cannot be put in place: {error}") from error
        self._files[day] = file
        await self._take_unlisted(report)
        try:
            await self._keep_renames(day, report)
            await self._durable.put_catalogue_file(file)
        except DurableError as error:
            _log.error("the catalogue of %s could not be entered in the durable store: %s", day, error)
            return f"it could not be entered in the durable store: {error}"
        replaced, self._stored[day] = self._stored.get(day), file
        await self._builder.off_loop(lambda: self._remove_replaced(replaced))
        return None

    async def _keep_renames(self, day: date, report: BuildReport) -> None:
        """Keep the renames of contracts that the exchange changed. Raises DurableError; even then they are known until a restart."""
        found = renames_of(report.adjusted, day)
        if not found:
            return
        _log.warning(
            "the exchange changed %s contracts since the mapping before, their ids are others now: %s",
            len(found),
            ", ".join(f"{source} {count}" for source, count in Counter(rename.source for rename in found).items()),
        )
        kept = {(rename.old_id, rename.from_day): rename for rename in (*self.renames, *found)}
        self.renames = tuple(sorted(kept.values(), key=lambda rename: (rename.from_day, rename.old_id)))
        await self._durable.put_renames(found)

    def _place(self, day: date, report: BuildReport) -> CatalogueFile:
        name = self._place_mapping(day, report)
        report.unlisted_file = self._place_unlisted(day, report.unlisted)
        return CatalogueFile(
            mapping_date=day,
            file=name,
            rows=report.rows,
            counts={code: broker.rows for code, broker in report.brokers.items()},
            content_hash=report.content_hash,
            report=msgspec.json.encode(report),
        )

    def _place_mapping(self, day: date, report: BuildReport) -> str:
        """Name the built file. If the mapping equals an earlier day's, that day's file is used, provided it is still unchanged."""
        candidate = self.candidate(day)
        same = {file.file for file in self._files.values() if file.content_hash == report.content_hash}
        for name in sorted(same):
            if content_hash_of(self._folder / name) == report.content_hash:
                candidate.unlink(missing_ok=True)
                return name
        name = self._free_name(file_name(day))
        move_into_place(candidate, self._folder / name)
        return name

    def _place_unlisted(self, day: date, unlisted: UnlistedReport | None) -> str:
        candidate = self._unlisted_candidate(day)
        if unlisted is None or (unlisted.trouble is not None and not unlisted.content_hash):
            return self._unlisted_file
        if not unlisted.content_hash:
            return ""
        current = self._folder / self._unlisted_file if self._unlisted_file else None
        if current is not None and content_hash_of(current) == unlisted.content_hash:
            candidate.unlink(missing_ok=True)
            return self._unlisted_file
        name = self._free_name(f"{UNLISTED_PREFIX}{file_name(day)}")
        move_into_place(candidate, self._folder / name)
        return name

    def _free_name(self, wanted: str) -> str:
        """Return a name that no row holds, neither here nor in the durable store."""
        rows = (*self._files.values(), *self._stored.values())
        taken = {name for file in rows for name in (file.file, stored_report(file).unlisted_file)} | {
            self._unlisted_file
        }
        stem = wanted.removesuffix(".arrow")
        names = (wanted, *(f"{stem}.{number}.arrow" for number in range(2, len(taken) + 3)))
        return next(name for name in names if name not in taken)

    def _remove_replaced(self, replaced: CatalogueFile | None) -> None:
        kept = {file.file for file in (*self._files.values(), *self._stored.values())}
        if replaced is not None and replaced.file not in kept:
            self._remove(self._folder / replaced.file)
        self._sweep()

    def _sweep(self) -> None:
        """Remove files that no build needs: half-written files, and files of unlisted instruments except the newest row's and the current one."""
        newest = self._stored.get(max(self._stored, default=date.min))
        kept = {self._unlisted_file, "" if newest is None else stored_report(newest).unlisted_file}
        for pattern in (".*.candidate", ".*.writing", f"{UNLISTED_PREFIX}*.arrow"):
            for path in self._folder.glob(pattern):
                if path.name not in kept:
                    self._remove(path)

    def _remove(self, path: Path) -> None:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            _log.warning("%s cannot be removed: %s", path.name, error)

    # Instruments no longer listed

    def _unlisted_candidate(self, day: date) -> Path:
        return self._folder / f".{UNLISTED_PREFIX}{day}.candidate"

    async def _open_unlisted(self) -> None:
        """Map the file of unlisted instruments that the newest row names."""
        if not self._files:
            return
        report = stored_report(self._files[max(self._files)])
        self.unlisted_doubtful = not _whole(report)
        self._unlisted_file = report.unlisted_file
        if not self._unlisted_file:
            return
        mapped = await self._map_unlisted()
        if mapped is None:
            self.unlisted_doubtful = True  # the next build makes the file again
        else:
            self.unlisted = mapped

    async def _take_unlisted(self, report: BuildReport) -> None:
        grown = report.unlisted
        if grown is None:
            return
        if grown.trouble is not None:
            _log.error("instruments no longer listed: %s", grown.trouble)
        self.unlisted_doubtful = not _whole(report)
        mapped = self.unlisted is not NONE_UNLISTED or not report.unlisted_file
        if report.unlisted_file != self._unlisted_file or not mapped:
            self._unlisted_file = report.unlisted_file
            self.unlisted = (await self._map_unlisted() if self._unlisted_file else None) or NONE_UNLISTED

    async def _map_unlisted(self) -> UnlistedTable | None:
        path = self._folder / self._unlisted_file
        try:
            return await self._builder.off_loop(lambda: map_unlisted(path))
        except unmappable() as error:
            _log.error("the file of instruments no longer listed cannot be mapped: %s", error)
            return None


def _whole(report: BuildReport) -> bool:
    """Tell whether a build left a file of all the unlisted instruments that could be read."""
    grown = report.unlisted
    return grown is not None and (grown.trouble is None or bool(grown.content_hash))


def stored_report(file: CatalogueFile) -> BuildReport:
    """Return the report of a row; if it cannot be read, return a report that has only the row's counts."""
    try:
        return msgspec.json.decode(file.report, type=BuildReport)
    except msgspec.DecodeError:
        return BuildReport(rows=file.rows, content_hash=file.content_hash, brokers={})
