"""The catalogue actor: builds the day's mapping and publishes its snapshot.

A restart begins with the newest existing file, so instruments are known at once. A build replaces nothing if it fails, or if it would
lose what today's mapping holds (a broker, or one of a broker's files). While something is lost, the build is tried again (lesson 15).
The actor's loop reads and writes no file itself: the builder does, off the loop.
"""

import logging
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import assert_never

import trio

from onebroker.actors.catalogue.archive import Archive, stored_report, unmappable
from onebroker.actors.catalogue.build_rules import (
    MOST_LOST_RETRY_SECONDS,
    MOST_RETRY_SECONDS,
    Mapped,
    build_due,
    losses,
    mark_shrunk,
    retry_seconds,
    seconds_to_next_look,
    standing,
)
from onebroker.actors.catalogue.builder import Builder, BuildFailed
from onebroker.actors.catalogue.download import Source, download
from onebroker.actors.catalogue.interface import CatalogueState, Snapshot
from onebroker.actors.catalogue.messages import BuildDone, BuildNow, CatalogueMessage, GetSnapshot, Look
from onebroker.actors.catalogue.progress import BuildProgress, ProgressKeeper, Stage
from onebroker.actors.catalogue.report import BuildReport
from onebroker.actors.catalogue.snapshot import TableSnapshot
from onebroker.actors.kernel.events import Events
from onebroker.actors.kernel.mailbox import Mailbox, Reply
from onebroker.actors.kernel.published import Published
from onebroker.actors.store.durable import Durable
from onebroker.brokers.transport.interface import Transport
from onebroker.config.calendars import Calendar
from onebroker.config.clock import Clock, from_epoch
from onebroker.config.events import CatalogueBuilt
from onebroker.config.messages import instruments
from onebroker.config.refusal import Refusal

MOST_BETWEEN_LOOKS_SECONDS = 60.0
"""Longest wait between two looks: the wall clock may be set during a wait."""
MOST_OLDER = 2
"""Number of older dates kept mapped (architecture 8)."""
FOLDER = "catalogue"
"""Name of the catalogue's folder inside the data directory."""

_NOTHING = BuildReport(rows=0, content_hash="", brokers={})
_log = logging.getLogger("onebroker.catalogue")


class CatalogueActor:
    """Takes the messages of `messages.py`."""

    def __init__(
        self,
        *,
        mailbox: Mailbox[CatalogueMessage],
        published: Published[CatalogueState],
        progress: Published[BuildProgress],
        sources: Mapping[str, Source],
        transports: Mapping[str, Transport],
        durable: Durable,
        builder: Builder,
        clock: Clock,
        calendar: Calendar,
        folder: Path,
        events: Events | None = None,
    ) -> None:
        self._mailbox = mailbox
        self._events = events or Events()
        self._published = published
        self._progress = ProgressKeeper(progress)
        self._sources = sources
        self._transports = transports
        self._builder = builder
        self._clock = clock
        self._calendar = calendar
        self._archive = Archive(folder=folder, durable=durable, builder=builder)
        self._latest: TableSnapshot | None = None
        self._older: dict[date, Snapshot] = {}
        self._newest: Mapped | None = None
        self._report = _NOTHING
        """Report of the newest mapping."""
        self._failure: str | None = None
        """Why the last build failed."""
        self._not_kept: str | None = None
        """Why a restart would not know the newest mapping."""
        self._failures = 0
        """Builds in a row that failed or lost something."""
        self._retry_at = 0.0
        """Monotonic seconds; before this time the actor starts no build by itself."""
        self._building = False
        self._waiting: list[Reply[BuildReport]] = []

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        self._progress.stage(Stage.IDLE)
        await self._restore()
        self._publish()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._keep_looking)
            if self._latest is not None:
                nursery.start_soon(self._make_findable, self._latest)
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
        await self._archive.open()
        found = await self._archive.newest()
        if found is None:
            return
        file, self._latest = found
        self._report = stored_report(file)
        self._newest = Mapped(day=file.mapping_date, built_at=from_epoch(self._report.built_at))
        if self._incomplete or self._archive.unlisted_doubtful or set(self._sources) - set(file.counts):
            self._failures = 1

    # Time

    async def _keep_looking(self) -> None:
        while True:
            self._mailbox.address.replace("look", Look())
            wait = min(seconds_to_next_look(self._clock.now()), MOST_BETWEEN_LOOKS_SECONDS)
            retry = self._retry_at - self._clock.monotonic()
            with trio.move_on_after(min(wait, retry) if retry > 0 else wait):
                await self._clock.wait_step()

    def _look(self, nursery: trio.Nursery) -> None:
        again = self._failures > 0 and self._mapped_on(self._clock.today())
        if (self._due or again) and self._clock.monotonic() >= self._retry_at:
            self._start_build(nursery)
        self._publish()

    @property
    def _due(self) -> bool:
        return build_due(self._newest, self._clock.now(), self._calendar)

    def _mapped_on(self, day: date) -> bool:
        return self._newest is not None and self._newest.day == day

    @property
    def _incomplete(self) -> bool:
        return bool(self._report.lost or self._report.missing)

    # Building

    def _start_build(self, nursery: trio.Nursery) -> None:
        if not self._building:
            self._building = True
            nursery.start_soon(self._build, self._clock.today())

    async def _build(self, day: date) -> None:
        """Fetch, build and map; the actor's loop does the rest. Only the loop replaces the file of a day that is already mapped."""
        candidate = self._archive.candidate(day)
        try:
            downloads = await download(self._sources, self._transports, self._clock, self._progress, self._builder)
            self._progress.stage(Stage.BUILDING)
            report = await self._builder.build(downloads, candidate, self._archive.unlisted_job(day))
            snapshot = await self._builder.load(candidate, day) if report.rows else None
            if snapshot is not None:
                await self._make_findable(snapshot)
            done = BuildDone(day=day, report=report, snapshot=snapshot)
        except BuildFailed as failed:
            done = BuildDone(day=day, report=failed, snapshot=None)
        except unmappable() as error:
            done = BuildDone(day=day, report=BuildFailed(f"the file it wrote cannot be mapped: {error}"), snapshot=None)
        await self._mailbox.address.tell(done)

    async def _make_findable(self, snapshot: TableSnapshot) -> None:
        """Build the index of `find`, off the loop. A mapping without it serves everything else."""
        try:
            await self._builder.off_loop(snapshot.build_finder)
        except unmappable() as error:
            _log.error("the search over the instruments of %s cannot be built: %s", snapshot.mapping_date, error)

    async def _finish(self, done: BuildDone) -> None:
        """Take over a finished build: put its files in place, write the row in the durable store, then swap the snapshot."""
        self._building = False
        try:
            report, snapshot = self._worth_taking(done)
            report.built_at = self._clock.epoch()
            mark_shrunk(report, self._archive.reports_before(done.day))
            self._not_kept = await self._archive.keep(done.day, report)
        except BuildFailed as failed:
            self._failed(failed)
            return
        self._latest = snapshot
        self._newest = Mapped(day=done.day, built_at=from_epoch(report.built_at))
        self._report = report
        self._failure = None
        lacking = self._not_kept is not None or self._incomplete or self._archive.unlisted_doubtful
        self._count_failures(failed=lacking, most_seconds=MOST_LOST_RETRY_SECONDS)
        self._events.tell(_built(report, done.day))
        _say(report, done.day)
        self._publish_end()
        self._answer_waiting(report)

    def _worth_taking(self, done: BuildDone) -> tuple[BuildReport, TableSnapshot]:
        """Return the build's report and snapshot. Raises BuildFailed when it has nothing, or less than that day's mapping already holds."""
        if isinstance(done.report, BuildFailed):
            raise done.report
        if done.snapshot is None:
            raise BuildFailed(_nothing(done.report))
        if self._mapped_on(done.day) and (lost := losses(done.report, self._report)):
            raise BuildFailed(f"it would lose {_listed(lost)}")
        return done.report, done.snapshot

    def _failed(self, failed: BuildFailed) -> None:
        self._failure = str(failed)
        waited_for = self._due or not self._mapped_on(self._clock.today())
        self._count_failures(failed=True, most_seconds=MOST_RETRY_SECONDS if waited_for else MOST_LOST_RETRY_SECONDS)
        _log.error("the instrument catalogue was not built: %s", failed)
        self._publish_end()
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

    # Reading

    def _publish_end(self) -> None:
        """Publish the result of a build, then its end: a reader that sees IDLE finds the new mapping."""
        self._publish()
        self._progress.stage(Stage.IDLE)

    def _publish(self) -> None:
        verdict = standing(
            self._newest, self._clock.now(), self._calendar, building=self._building, failure=self._failure
        )
        state = CatalogueState(
            latest=self._latest,
            published_today=verdict.published_today,
            reason=verdict.reason,
            lost=self._report.lost,
            missing=self._report.missing,
            shrunk=self._report.shrunk,
            trouble=self._failure or self._not_kept,
            unlisted=self._archive.unlisted,
            renames=self._archive.renames,
        )
        if state != self._published.value:
            self._published.set(state)

    async def _answer_snapshot(self, message: GetSnapshot) -> None:
        day = self._archive.day_at(message.day)
        if day is None or self._mapped_on(day):
            message.reply.answer(None if day is None else self._latest)
            return
        try:
            message.reply.answer(await self._mapped(day))
        except unmappable() as error:
            _log.error("the catalogue of %s cannot be mapped: %s", day, error)
            message.reply.refuse(Refusal(503, instruments.file_unreadable(day)))

    async def _mapped(self, day: date) -> Snapshot:
        known = self._older.pop(day, None) or await self._archive.load(day)
        self._older[day] = known
        while len(self._older) > MOST_OLDER:
            del self._older[next(iter(self._older))]
        return known


def _built(report: BuildReport, day: date) -> CatalogueBuilt:
    brokers = tuple(sorted(report.brokers.keys() - report.lost.keys()))
    return CatalogueBuilt(day=day.isoformat(), instruments=report.rows, brokers=brokers)


def _say(report: BuildReport, day: date) -> None:
    """Log as warnings what a mapping lacks (lesson 15)."""
    if report.lost:
        _log.warning("the catalogue of %s holds nothing of %s", day, _listed(report.lost))
    if report.before_trouble:
        _log.warning(
            "whether strikes were adjusted is not known: the mapping before cannot be read: %s", report.before_trouble
        )
    for code, broker in report.brokers.items():
        if broker.error is not None:
            continue
        if broker.missing:
            _log.warning("%s: %s of its files gave nothing: %s", code, len(broker.missing), _listed(broker.missing))
        if broker.absent:
            _log.warning("%s: its files have no column %s: what it says is not known", code, ", ".join(broker.absent))
        for segment, count in broker.shrunk.items():
            _log.warning(
                "%s lists %s instruments in %s, after %s", code, broker.segments.get(segment, 0), segment, count
            )
        if broker.ambiguous:
            _log.warning("%s: %s ambiguous listings left out, %s ...", code, broker.ambiguous, broker.examples[:1])


def _nothing(report: BuildReport) -> str:
    return f"no broker gave an instrument ({_listed(report.lost)})" if report.lost else "there is no broker to ask"


def _listed(lost: Mapping[str, str]) -> str:
    return "; ".join(f"{code}: {why}" for code, why in lost.items())
