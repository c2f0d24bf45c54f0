"""The history actor: answers candles from its cache or the store, and is the only writer of the store (architecture 8).

Slow work runs in child tasks: many series are read at once, writes run one after another in the store's order. Any load makes every
series cached before it outdated (rules 1.4.8). This includes a series that was being read during the load.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Literal, assert_never

import attrs
import trio

from onebroker.actors.catalogue.interface import CatalogueState
from onebroker.actors.history.adjust import adjust_candles, day_end, day_start, steps
from onebroker.actors.history.archive_marks import ArchiveMarks, days_of
from onebroker.actors.history.candle_cache import CandleCache, Entry, holds, range_to_read, widens
from onebroker.actors.history.disk_room import DiskRoom
from onebroker.actors.history.earlier_names import (
    Part,
    candles_of,
    factors_of,
    minutes_besides_of,
    parts_stored,
    take_rename,
)
from onebroker.actors.history.encode import EncodedCandles, encode_candles
from onebroker.actors.history.interface import CANDLE_VALUES, HistoryError, HistoryStore
from onebroker.actors.history.messages import (
    CandleAnswer,
    CandleQuery,
    CheckStore,
    GetCandles,
    HistoryMessage,
    HoldStore,
    LastLoad,
    ReleaseStore,
    TakeFactors,
    TakeFile,
    TakeRename,
)
from onebroker.actors.history.resampling import with_made
from onebroker.actors.history.store_check import check_store
from onebroker.actors.history.tick_archive import ArchiveState, TickArchive, TickKeeping
from onebroker.actors.history.tick_buffer import PUT_SECONDS, TickBuffer, write_ticks
from onebroker.actors.kernel.mailbox import Mailbox, Reply
from onebroker.actors.kernel.published import Published
from onebroker.actors.store.durable import Durable, DurableError
from onebroker.actors.store.durable_history import Factor
from onebroker.actors.store.merge_result import Merged
from onebroker.config.calendars import Calendar
from onebroker.config.clock import Clock
from onebroker.config.instruments import Identity
from onebroker.config.intervals import INTERVALS
from onebroker.config.late_modules import pl
from onebroker.config.messages import history as sentences
from onebroker.config.refusal import Refusal

RECORDED_FILE = "recorded.parquet"
LAST_PUT_SECONDS = 5.0
LOOK_SECONDS = 5.0
"""Seconds between two looks at the disk; the actor also looks before every write."""
RELEASE_SECONDS = 30.0
"""Pages and freed memory stay at least so long after a read, at most twice as long."""
NOBODY = str(uuid.UUID(int=0))

_log = logging.getLogger("onebroker.history")


@attrs.define
class _Hold:
    """A time in which nothing is written to the store."""

    released: trio.Event = attrs.field(factory=trio.Event)
    is_still: bool = False


class HistoryActor:
    """Takes the messages of `messages.py`."""

    def __init__(
        self,
        *,
        mailbox: Mailbox[HistoryMessage],
        store: HistoryStore,
        durable: Durable,
        catalogue: Published[CatalogueState],
        clock: Clock,
        calendar: Calendar,
        recorded: TickBuffer | None = None,
        staging: Path | None = None,
        last_load: Published[LastLoad | None] | None = None,
        room: DiskRoom | None = None,
        keeping: TickKeeping | None = None,
        marks: ArchiveMarks | None = None,
        archive: Published[ArchiveState] | None = None,
    ) -> None:
        """`recorded` ticks are staged in the folder `staging` and put into the store every few seconds; recording needs both arguments.

        Nothing is written while `room` reports too little free space; None = no check, write until the disk refuses. `keeping`: what becomes of the
        ticks of days that are over; None = they are kept. `marks`: the days that are to be archived again; needed by `keeping`. `archive`: where its state is published.
        """
        self._mailbox = mailbox
        self._store = store
        self._durable = durable
        self._catalogue = catalogue
        self._clock = clock
        self._calendar = calendar
        self._recorded = recorded
        self._staging = staging
        self._last_load = last_load
        self._room = room
        self._marks = marks
        self._archive = (
            TickArchive(store, keeping, clock, marks, archive)
            if keeping is not None and keeping.is_wanted and marks is not None
            else None
        )
        self._cache = CandleCache()
        self._loads = 0
        self._holds: dict[str, _Hold] = {}

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        async with trio.open_nursery() as nursery:
            if self._room is not None:
                self._look()
                nursery.start_soon(self._keep_looking)
            if self._recorded is not None and self._staging is not None:
                nursery.start_soon(self._keep_recording, self._recorded, self._staging / RECORDED_FILE)
            if self._archive is not None:
                nursery.start_soon(self._archive.keep)
            nursery.start_soon(self._open)
            nursery.start_soon(self._keep_releasing)
            task_status.started()
            async for message in self._mailbox:
                match message:
                    case GetCandles():
                        self._answer(message, nursery)
                    case TakeFile():
                        nursery.start_soon(self._take_file, message)
                    case TakeFactors():
                        nursery.start_soon(self._take_factors, message)
                    case TakeRename():
                        nursery.start_soon(self._take_rename, message)
                    case CheckStore():
                        nursery.start_soon(self._check, message)
                    case HoldStore():
                        hold = self._holds[message.hold] = _Hold()
                        nursery.start_soon(self._hold, message, hold)
                    case ReleaseStore():
                        self._release_hold(message)
                    case _:
                        assert_never(message)

    async def _open(self) -> None:
        """Open the store's file before the first question, and log an error if it cannot be used. The query reads no rows."""
        try:
            await self._store.candles(NOBODY, 1, 0, 0)
        except HistoryError as error:
            _log.error("the history store cannot be used: %s", error)

    async def _keep_releasing(self) -> None:
        """Give the memory of answers back half a minute after the last of them."""
        while True:
            await trio.sleep(RELEASE_SECONDS)
            try:
                await self._store.release()
            except HistoryError as error:
                _log.warning("memory of the history store could not be given back: %s", error)

    # Reading

    def _answer(self, message: GetCandles, nursery: trio.Nursery) -> None:
        query = message.query
        entry = self._cache.entry(query, self._loads, self._clock.monotonic())
        if entry is not None and holds(entry, query):
            message.reply.answer(CandleAnswer(rows=_rows(entry.candles, query), source="cache"))
        else:
            nursery.start_soon(self._read, query, range_to_read(entry, query), message.reply)

    async def _read(self, query: CandleQuery, days: tuple[date, date], reply: Reply[CandleAnswer]) -> None:
        first, last = days
        loads = self._loads
        try:
            parts = await parts_stored(self._durable, query.instrument_id)
            factors = await factors_of(self._durable, parts) if query.basis == "adjusted" else None
            stored, bare = await self._stored(query, parts, day_start(first), day_end(last))
        except HistoryError as error:
            reply.refuse(Refusal(503, sentences.store_failed(str(error))))
            return
        except DurableError as error:
            reply.refuse(Refusal(503, sentences.factors_unreadable(str(error))))
            return
        candles, rows = await trio.to_thread.run_sync(_encode, query, stored, bare, self._calendar.detached(), factors)
        entry = Entry(first=first, last=last, candles=candles, loads=loads, built_at=self._clock.monotonic())
        if loads == self._loads and widens(entry, self._cache.entry(query, loads, entry.built_at)):
            self._cache.put(query, entry)
        reply.answer(CandleAnswer(rows=rows, source="database"))

    async def _stored(
        self, query: CandleQuery, parts: Sequence[Part], start: int, end: int
    ) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return a series' stored candles, and the 1-minute candles of the days without a stored candle of its interval. Raises HistoryError."""
        minutes = INTERVALS[query.interval]
        bare = pl.DataFrame(schema=CANDLE_VALUES)
        if minutes != 1:
            # Read these first, so that no day is in neither frame: a candle loaded meanwhile is in the second one.
            bare = await minutes_besides_of(self._store, parts, minutes, start, end)
        return await candles_of(self._store, parts, minutes, start, end), bare

    # Writing

    async def _keep_looking(self) -> None:
        while True:
            await trio.sleep(LOOK_SECONDS)
            self._look()

    def _look(self) -> str | None:
        """Look at the disk; pause or resume the recording of ticks. Return why nothing may be written now, or None."""
        refusal = None if self._room is None else self._room.look().refusal
        if self._recorded is not None:
            self._recorded.paused = refusal is not None
        return refusal

    async def _take_file(self, message: TakeFile) -> None:
        refusal = self._look()
        if refusal is not None:
            message.reply.refuse(HistoryError(refusal))
            return
        put = self._store.put_candles if message.kind == "candles" else self._put_ticks
        try:
            merged = await put(message.file)
        except HistoryError as error:
            message.reply.refuse(error)
            return
        self._loaded(message.kind, merged)
        message.reply.answer(merged)

    async def _put_ticks(self, file: Path) -> Merged:
        """Put loaded ticks, whose days are to be archived again. Raises HistoryError."""
        if self._marks is not None:
            await self._marks.add(await days_of(file))
        merged = await self._store.put_ticks(file)
        if self._archive is not None:
            self._archive.wake()
        return merged

    async def _take_factors(self, message: TakeFactors) -> None:
        try:
            merged = await self._durable.put_factors(message.factors)
        except DurableError as error:
            message.reply.refuse(error)
            return
        self._loaded("factors", merged)
        message.reply.answer(merged)

    async def _take_rename(self, message: TakeRename) -> None:
        try:
            changed = await take_rename(self._durable, message.rename, forget=message.forget)
        except (DurableError, ValueError) as error:
            message.reply.refuse(error)
            return
        self._loads += 1  # series read before this are no longer served
        message.reply.answer(changed)

    def _loaded(self, kind: Literal["candles", "ticks", "factors"], merged: Merged) -> None:
        """Make every series that was read before outdated, and publish the load."""
        self._loads += 1
        if self._last_load is not None:
            self._last_load.set(LastLoad(kind=kind, at=self._clock.epoch(), merged=merged))

    async def _keep_recording(self, recorded: TickBuffer, file: Path) -> None:
        try:
            while True:
                await trio.sleep(PUT_SECONDS)
                await self._put_recorded(recorded, file)
        finally:
            with trio.move_on_after(LAST_PUT_SECONDS, shield=True):
                await self._put_recorded(recorded, file)

    async def _put_recorded(self, recorded: TickBuffer, file: Path) -> None:
        """Put the waiting ticks into the store. This does not count as a load, because ticks produce no candles."""
        self._look()
        entries = recorded.drain()
        if not entries:
            return
        try:
            left_out = await trio.to_thread.run_sync(write_ticks, entries, file)
            await self._store.put_ticks(file)
        except (HistoryError, OSError) as error:
            recorded.put_back(entries)
            _log.warning("recorded ticks could not be put and wait (%s dropped so far): %s", recorded.dropped, error)
            return
        if left_out:
            recorded.dropped += len(left_out)
            first = left_out[0]
            _log.warning(
                "%s recorded ticks have figures that cannot be stored and are dropped, the first one of %s from %s: %r",
                len(left_out), first.instrument_id, first.quote.broker, first.quote.tick,
            )  # fmt: skip

    # Holding

    async def _hold(self, message: HoldStore, hold: _Hold) -> None:
        """Keep writes waiting. Recorded ticks wait in memory meanwhile, as they do when the disk is slow."""
        try:
            async with self._store.still():
                with trio.move_on_after(message.seconds):
                    hold.is_still = True
                    message.reply.answer(None)
                    await hold.released.wait()
        except HistoryError as error:
            message.reply.refuse(error)
        finally:
            hold.is_still = False
            self._holds.pop(message.hold, None)

    def _release_hold(self, message: ReleaseStore) -> None:
        """End a hold, also one that has not begun yet."""
        hold = self._holds.pop(message.hold, None)
        message.reply.answer(hold is not None and hold.is_still)
        if hold is not None:
            hold.released.set()

    # Checking

    async def _check(self, message: CheckStore) -> None:
        try:
            message.reply.answer(await check_store(self._store, self._durable, self._identity_of))
        except (HistoryError, DurableError) as error:
            message.reply.refuse(error)

    async def _identity_of(self, instrument_id: str) -> Identity | None:
        found = self._catalogue.value.find_ever(instrument_id)
        if found is not None:
            return found.instrument.identity
        return await self._durable.history_instrument(instrument_id)


def _encode(
    query: CandleQuery, stored: pl.DataFrame, bare: pl.DataFrame, calendar: Calendar, factors: Sequence[Factor] | None
) -> tuple[EncodedCandles, bytes]:
    """Return the whole series, and the rows that the query asks for; in a worker thread, since a year of minutes is megabytes."""
    frame = with_made(stored, bare, INTERVALS[query.interval], query.market, calendar)
    if factors is not None:
        frame = adjust_candles(frame, steps(factors, query.known_as_of))
    candles = encode_candles(frame, query.places)
    return candles, _rows(candles, query)


def _rows(candles: EncodedCandles, query: CandleQuery) -> bytes:
    return candles.between(day_start(query.first), day_end(query.last))
