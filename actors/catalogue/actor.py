"""The catalogue actor: builds the day's mapping and publishes its snapshot.

A restart begins with the newest file there is, so instruments are known at once. A build that fails, or that would lose a
broker today's mapping holds, replaces nothing; while a broker is lost the build is tried again (lesson 15).
"""

import logging
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import assert_never

import msgspec
import trio
from polars.exceptions import PolarsError

from onebroker.actors.catalogue.builder import Builder, BuildFailed
from onebroker.actors.catalogue.download import Source, download
from onebroker.actors.catalogue.files import file_name, move_into_place
from onebroker.actors.catalogue.interface import CatalogueState, Snapshot
from onebroker.actors.catalogue.messages import BuildDone, BuildNow, CatalogueMessage, GetSnapshot, Look
from onebroker.actors.catalogue.report import BrokerReport, BuildReport
from onebroker.actors.catalogue.snapshot import TableSnapshot
from onebroker.actors.catalogue.state import (
    MOST_LOST_RETRY_SECONDS,
    MOST_RETRY_SECONDS,
    Mapped,
    build_due,
    retry_seconds,
    seconds_to_next_look,
    standing,
)
from onebroker.actors.kernel.mailbox import Mailbox, Reply
from onebroker.actors.kernel.published import Published
from onebroker.actors.store.durable import CatalogueFile, Durable, DurableError
from onebroker.brokers.transport.interface import Transport
from onebroker.config.calendars import Calendar
from onebroker.config.clock import Clock, from_epoch
from onebroker.config.messages import instruments
from onebroker.config.refusal import Refusal

MOST_BETWEEN_LOOKS_SECONDS = 60.0
"""The wall clock may be set while a wait runs."""
MOST_OLDER = 2
"""Older dates kept mapped (architecture 8)."""
SHRUNK = 0.5
"""A broker or segment with less than this share of yesterday's rows is named in the log."""
FOLDER = "catalogue"
"""Name of the catalogue's folder inside the data directory."""

_UNMAPPABLE = (OSError, ValueError, PolarsError)
_log = logging.getLogger("onebroker.catalogue")


class CatalogueActor:
    """Asked with the messages of `messages.py`."""

    def __init__(
        self,
        *,
        mailbox: Mailbox[CatalogueMessage],
        published: Published[CatalogueState],
        sources: Mapping[str, Source],
        transport: Transport,
        durable: Durable,
        builder: Builder,
        clock: Clock,
        calendar: Calendar,
        folder: Path,
    ) -> None:
        self._mailbox = mailbox
        self._published = published
        self._sources = sources
        self._transport = transport
        self._durable = durable
        self._builder = builder
        self._clock = clock
        self._calendar = calendar
        self._folder = folder
        self._files: dict[date, CatalogueFile] = {}
        self._latest: TableSnapshot | None = None
        self._older: dict[date, Snapshot] = {}
        self._newest: Mapped | None = None
        self._lost: dict[str, str] = {}
        self._failure: str | None = None
        self._failures = 0
        """Builds in a row that failed or lost a broker."""
        self._retry_at = 0.0
        """Monotonic seconds before which no build is started by itself."""
        self._building = False
        self._waiting: list[Reply[BuildReport]] = []

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        await self._restore()
        self._publish()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._keep_looking)
            task_status.started()
            async for message in self._mailbox:
                match message:
                    case Look():
                        self._look(nursery)
                    case BuildNow():
                        self._waiting.append(message.reply)
                        self._start_build(nursery)
                    case BuildDone():
                        await self._finish(message)
                    case GetSnapshot():
                        await self._answer_snapshot(message)
                    case _:
                        assert_never(message)

    # Start

    async def _restore(self) -> None:
        """Map the newest file that can be mapped. Raises DurableError when the list of files cannot be read."""
        self._files = {file.mapping_date: file for file in await self._durable.catalogue_files()}
        for day, file in sorted(self._files.items(), reverse=True):
            try:
                self._latest = await self._builder.load(self._folder / file.file, day)
            except _UNMAPPABLE as error:
                _log.error("the catalogue of %s cannot be mapped: %s", day, error)
                del self._files[day]
                continue
            report = _stored_report(file)
            self._newest = Mapped(day=day, built_at=from_epoch(report.built_at))
            self._lost = report.lost
            if self._lost or set(self._sources) - set(file.counts):
                self._failures = 1
            return

    # Time

    async def _keep_looking(self) -> None:
        while True:
            self._mailbox.address.replace("look", Look())
            wait = min(seconds_to_next_look(self._clock.now()), MOST_BETWEEN_LOOKS_SECONDS)
            retry = self._retry_at - self._clock.monotonic()
            await trio.sleep(min(wait, retry) if retry > 0 else wait)

    def _look(self, nursery: trio.Nursery) -> None:
        due = build_due(self._newest, self._clock.now(), self._calendar)
        missing = self._failures > 0 and self._mapped_today
        if (due or missing) and self._clock.monotonic() >= self._retry_at:
            self._start_build(nursery)
        self._publish()

    @property
    def _mapped_today(self) -> bool:
        return self._newest is not None and self._newest.day == self._clock.today()

    # Building

    def _start_build(self, nursery: trio.Nursery) -> None:
        if not self._building:
            self._building = True
            nursery.start_soon(self._build, self._clock.today())

    async def _build(self, day: date) -> None:
        """Fetch, build and map; the loop does the rest. The file of a day that is mapped already is replaced only then."""
        candidate = self._folder / f".{day}.candidate"
        try:
            downloads = await download(self._sources, self._transport, self._clock)
            report = await self._builder.build(downloads, candidate)
            snapshot = await self._builder.load(candidate, day) if report.rows else None
            done = BuildDone(day=day, report=report, snapshot=snapshot)
        except BuildFailed as failed:
            done = BuildDone(day=day, report=failed, snapshot=None)
        except _UNMAPPABLE as error:
            done = BuildDone(day=day, report=BuildFailed(f"the file it wrote cannot be mapped: {error}"), snapshot=None)
        await self._mailbox.address.tell(done)

    async def _finish(self, done: BuildDone) -> None:
        """Take the build in: file in place, row in the durable store, then the swap."""
        self._building = False
        if isinstance(done.report, BuildFailed) or done.snapshot is None:
            failed = done.report if isinstance(done.report, BuildFailed) else BuildFailed(_nothing(done.report))
            self._failed(failed)
            return
        report = done.report
        if self._mapped_today and set(report.lost) - set(self._lost):
            self._failed(BuildFailed(f"it would lose {_listed(report.lost)}"))
            return
        report.built_at = self._clock.epoch()
        self._warn_shrunk(report)
        stored = await self._store_file(done.day, report)
        self._latest = done.snapshot
        self._newest = Mapped(day=done.day, built_at=from_epoch(report.built_at))
        self._lost = report.lost
        self._failure = None
        self._count_failures(failed=not stored or bool(self._lost), most_seconds=MOST_LOST_RETRY_SECONDS)
        if self._lost:
            _log.warning("the catalogue of %s holds nothing of %s", done.day, _listed(self._lost))
        self._publish()
        self._answer_waiting(report)

    async def _store_file(self, day: date, report: BuildReport) -> bool:
        """Keep the file for restarts; without the durable store the mapping still serves, and is built again later."""
        file = self._place(day, report)
        self._files[day] = file
        try:
            await self._durable.put_catalogue_file(file)
        except DurableError as error:
            _log.error("the catalogue of %s could not be entered in the durable store: %s", day, error)
            return False
        return True

    def _place(self, day: date, report: BuildReport) -> CatalogueFile:
        """Give the built file its name; a day equal to an earlier one keeps that one's file."""
        candidate = self._folder / f".{day}.candidate"
        same = [file for file in self._files.values() if file.content_hash == report.content_hash]
        name = next((file.file for file in same if (self._folder / file.file).exists()), None)
        if name is None:
            name = file_name(day)
            move_into_place(candidate, self._folder / name)
        else:
            candidate.unlink(missing_ok=True)
        return CatalogueFile(
            mapping_date=day,
            file=name,
            rows=report.rows,
            counts={code: broker.rows for code, broker in report.brokers.items()},
            content_hash=report.content_hash,
            report=msgspec.json.encode(report),
        )

    def _failed(self, failed: BuildFailed) -> None:
        self._failure = str(failed)
        self._count_failures(failed=True, most_seconds=MOST_RETRY_SECONDS)
        _log.error("the instrument catalogue was not built: %s", failed)
        self._publish()
        waiting, self._waiting = self._waiting, []
        for reply in waiting:
            reply.refuse(failed)

    def _count_failures(self, *, failed: bool, most_seconds: float) -> None:
        self._failures = self._failures + 1 if failed else 0
        wait = retry_seconds(self._failures, most_seconds) if failed else 0.0
        self._retry_at = self._clock.monotonic() + wait

    def _answer_waiting(self, report: BuildReport) -> None:
        waiting, self._waiting = self._waiting, []
        for reply in waiting:
            reply.answer(report)

    def _warn_shrunk(self, report: BuildReport) -> None:
        """Say loudly what went missing since the mapping before (lesson 15)."""
        file = None if self._newest is None else self._files.get(self._newest.day)
        before = {} if file is None else _stored_report(file).brokers
        for code, broker in report.brokers.items():
            old = before.get(code, BrokerReport())
            for segment, count in old.segments.items():
                now = broker.segments.get(segment, 0)
                if now < count * SHRUNK and broker.error is None:
                    _log.warning("%s lists %s instruments in %s, after %s", code, now, segment, count)
            if broker.ambiguous:
                _log.warning("%s: %s ambiguous listings left out, %s ...", code, broker.ambiguous, broker.examples[:1])

    # Reading

    def _publish(self) -> None:
        verdict = standing(
            self._newest, self._clock.now(), self._calendar, building=self._building, failure=self._failure
        )
        state = CatalogueState(
            latest=self._latest, published_today=verdict.published_today, reason=verdict.reason, lost=self._lost
        )
        if state != self._published.value:
            self._published.set(state)

    async def _answer_snapshot(self, message: GetSnapshot) -> None:
        days = [day for day in self._files if day <= message.day]
        if not days:
            message.reply.answer(None)
            return
        day = max(days)
        if self._newest is not None and day == self._newest.day:
            message.reply.answer(self._latest)
            return
        try:
            message.reply.answer(await self._mapped(day))
        except _UNMAPPABLE as error:
            _log.error("the catalogue of %s cannot be mapped: %s", day, error)
            message.reply.refuse(Refusal(503, instruments.file_unreadable(day)))

    async def _mapped(self, day: date) -> Snapshot:
        known = self._older.pop(day, None) or await self._builder.load(self._folder / self._files[day].file, day)
        self._older[day] = known
        while len(self._older) > MOST_OLDER:
            del self._older[next(iter(self._older))]
        return known


def _stored_report(file: CatalogueFile) -> BuildReport:
    try:
        return msgspec.json.decode(file.report, type=BuildReport)
    except msgspec.DecodeError:
        return BuildReport(rows=file.rows, content_hash=file.content_hash, brokers={})


def _nothing(report: BuildReport) -> str:
    return f"no broker gave an instrument ({_listed(report.lost)})" if report.lost else "there is no broker to ask"


def _listed(lost: Mapping[str, str]) -> str:
    return "; ".join(f"{code}: {why}" for code, why in lost.items())
