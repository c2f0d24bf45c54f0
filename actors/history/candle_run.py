"""Reads candles of many instruments from many brokers at once, and has them stored.

Each broker in service works through the jobs that are left, one read after the other, so a faster broker reads more (`job_assignment`
decides which broker reads what). The candles go to the history actor in parts; each part is reported to the owner of the run once it
is on disk.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from typing import TypeVar

import attrs
import trio

from onebroker.actors.history.adjust import day_end, day_start
from onebroker.actors.history.broker_candles import Judged, Question, Refused, judge
from onebroker.actors.history.candle_jobs import Job, Outcome, Part
from onebroker.actors.history.disk_room import Room
from onebroker.actors.history.interface import CANDLE_VALUES, MICROSECONDS, HistoryError, HistoryStore
from onebroker.actors.history.job_assignment import BrokersLeft, Line
from onebroker.actors.history.messages import HistoryMessage, TakeFile
from onebroker.actors.history.price_basis import JUDGED_DAYS, ex_dates
from onebroker.actors.history.row_rules import Rules
from onebroker.actors.kernel.mailbox import ActorNotRunning, Address, AskTimedOut, Reply
from onebroker.actors.kernel.published import Published
from onebroker.actors.quotes.wanted_instruments import Session
from onebroker.actors.sessions.messages import LoginNeeded, ReadCandles
from onebroker.actors.store.durable import Durable, DurableError
from onebroker.actors.store.durable_history import Factor
from onebroker.actors.store.merge_result import Merged
from onebroker.brokers.codec.candle_rows import spans
from onebroker.brokers.codec.contained import OddRows
from onebroker.brokers.records import Candle, Listing
from onebroker.brokers.requests import BrokerError
from onebroker.config.calendars import Calendar
from onebroker.config.clock import Clock
from onebroker.config.instruments import ADJUSTABLE_SEGMENTS, bare_segment
from onebroker.config.intervals import DAY, INTERVALS
from onebroker.config.late_modules import pl
from onebroker.config.refusal import Refusal

T = TypeVar("T")

MOST_PART_INSTRUMENTS = 50
MOST_PART_ROWS = 50_000
PART_SECONDS = 5.0
"""When the oldest candles have waited this long, the next answer makes the part be stored."""
READ_SECONDS = 1800.0
"""Time limit of one read, which waits behind everything else in the broker's budget, call by call."""
TAKE_SECONDS = 120.0
_STAGED = "brokers-"
"""Prefix of the names of staged files."""
MOST_READ_DAYS, MOST_INTRADAY_READ_DAYS = 1400, 30
"""Most days of one read: stopping a run waits for no more than one such read."""

BROKEN = (HistoryError, DurableError, ActorNotRunning, AskTimedOut, Refusal, OSError)
"""Errors that end a run: the stores, the mapping or the disk cannot be used now."""

InWorker = Callable[..., Awaitable[Judged]]
"""Runs `judge` in a worker thread. Tests under a mocked clock, where nothing may use threads, run it at once."""


@attrs.frozen(kw_only=True)
class CandleRunContext:
    """The parts of the service that a run uses."""

    sessions: Mapping[str, Session]
    history: Address[HistoryMessage]
    """The only writer of the store."""
    store: HistoryStore
    """Used only for reading."""
    clock: Clock
    calendar: Calendar
    staging: Path
    room: Published[Room] = attrs.field(factory=lambda: Published(Room(reserve=0)))
    """Nothing is read while there is no room to write."""
    in_worker: InWorker = trio.to_thread.run_sync


@attrs.frozen(kw_only=True)
class Orders:
    """The jobs of a run, and its callbacks."""

    jobs: Sequence[Job]
    codes: Sequence[str]
    """Brokers that may be asked."""
    factors: Mapping[str, Sequence[Factor]]
    """instrument_id -> its adjustment factors."""
    stop: Callable[[], bool]
    """Called before each read; true ends the run. Jobs left then are in no part."""
    taken: Callable[[Part], Awaitable[None]]
    """Called with each part once it is on disk, one part after the other."""
    stepped: Callable[[], None]
    """Called whenever there is something new to show."""


class Gathering:
    """One run. Created for one call of `run`; its progress can be read meanwhile."""

    def __init__(self, context: CandleRunContext, orders: Orders) -> None:
        self._context = context
        self._orders = orders
        self.brokers = BrokersLeft(
            {code: context.sessions[code] for code in orders.codes if code in context.sessions}, orders.jobs
        )
        self._frames: list[pl.DataFrame] = []
        self._outcomes: list[Outcome] = []
        self._waits_since = 0.0
        self._part = trio.Lock()
        self._broken: Exception | None = None

    async def run(self) -> None:
        """Work through all jobs. Raises one of BROKEN."""
        async with trio.open_nursery() as nursery:
            for code in self.brokers.active:
                nursery.start_soon(self._work, code, nursery.cancel_scope)
        if self._broken is not None:
            raise self._broken
        if not self._orders.stop():
            self._outcomes += self.brokers.unread()
        await self._take_part()

    async def _work(self, code: str, everybody: trio.CancelScope) -> None:
        try:
            while not self._orders.stop():
                line = self.brokers.next(code)
                if line is not None:
                    await self._one(code, line)
                    self._orders.stepped()
                elif not await self.brokers.wait():
                    return
        except BROKEN as error:
            self._broken = error
            everybody.cancel()
        finally:
            self.brokers.wake()

    async def _one(self, code: str, line: Line) -> None:
        """Read one instrument from one broker, and note the result."""
        try:
            candles, odd = await self._read(code, line.job)
            if odd is not None and (not candles or self.brokers.may_be_asked_next(line, code)):
                raise odd  # the series has a hole: the next broker may have all of it
        except (ActorNotRunning, AskTimedOut) as error:
            self.brokers.give_up(code, line, str(error))
            return
        except (BrokerError, LoginNeeded) as error:
            pause = self.brokers.failed(code, line, error)
            self._orders.stepped()
            await self.brokers.pause(pause)
            return
        judged = await self._context.in_worker(judge, candles, await self._question(line.job))
        if odd is not None:
            judged = attrs.evolve(judged, refused=(*judged.refused, *(Refused("", why) for why in odd.odd)))
        if self.brokers.answered(code, line, empty=not (judged.good.height or judged.refused)):
            await self._keep(code, line.job, judged)

    # Reading

    async def _read(self, code: str, job: Job) -> tuple[list[Candle], OddRows[Candle] | None]:
        """Return the candles, and the rows of the answers that could not be read (None when all could)."""
        session, candles = self._context.sessions[code], list[Candle]()
        odd: OddRows[Candle] | None = None
        listing = job.instrument.listings[code]
        days = MOST_READ_DAYS if job.interval == DAY else MOST_INTRADAY_READ_DAYS
        for first, last in spans(job.first, self._last_to_read(job), days):
            make = partial(_question_to_broker, listing, job.interval, first, last)
            try:
                candles += await session.address.ask(make, READ_SECONDS)
            except OddRows as error:
                candles += error.readable
                odd = error if odd is None else OddRows([*odd.odd, *error.odd], odd.of + error.of, candles)
        return candles, odd

    def _events(self, job: Job) -> dict[date, float]:
        if bare_segment(job.instrument.identity.segment) not in ADJUSTABLE_SEGMENTS:
            return {}
        factors = self._orders.factors.get(job.instrument.instrument_id, ())
        return ex_dates(factors, job.first, self._context.clock.today())

    def _last_to_read(self, job: Job) -> date:
        """Return the last day to read. It lies past the newest corporate action, so that `judge` can tell whether prices are adjusted."""
        events = self._events(job)
        if job.interval != DAY or not events or max(events) <= job.last:
            return job.last
        return min(max(events) + timedelta(days=JUDGED_DAYS), self._context.clock.today() - timedelta(days=1))

    async def _question(self, job: Job) -> Question:
        instrument_id, events = job.instrument.instrument_id, self._events(job)
        today = self._context.clock.today()
        stored = pl.DataFrame(schema=CANDLE_VALUES)
        if events:
            stored = await self._context.store.candles(
                instrument_id, INTERVALS[job.interval], day_start(job.first), day_end(today)
            )
        return Question(
            identity=job.instrument.identity,
            rules=Rules(
                calendar=self._context.calendar.detached(), now=round(self._context.clock.epoch() * MICROSECONDS)
            ),
            interval=job.interval,
            first=job.first,
            last=job.last,
            today=today,
            derivative=Line(job).derivative,
            factors=self._orders.factors.get(instrument_id, ()) if events else (),
            stored=stored,
        )

    # Taking in

    async def _keep(self, code: str, job: Job, judged: Judged) -> None:
        good = judged.good
        self.brokers.shares[code].instruments += 1
        self.brokers.shares[code].rows += good.height
        if not self._outcomes:
            self._waits_since = self._context.clock.monotonic()
        self._frames.append(good)
        self._outcomes.append(
            Outcome(
                instrument_id=job.instrument.instrument_id,
                name=job.name,
                broker=code,
                rows=good.height,
                newest=good["time"][-1] if good.height else None,
                refused=judged.refused,
            )
        )
        if (
            len(self._outcomes) >= MOST_PART_INSTRUMENTS
            or sum(frame.height for frame in self._frames) >= MOST_PART_ROWS
            or self._context.clock.monotonic() - self._waits_since >= PART_SECONDS
        ):
            await self._take_part()

    async def _take_part(self) -> None:
        async with self._part:
            frames, outcomes = self._frames, self._outcomes
            self._frames, self._outcomes = [], []
            if not outcomes:
                return
            merged = await self._take([frame for frame in frames if frame.height])
            await self._orders.taken(Part(outcomes=tuple(outcomes), **attrs.asdict(merged)))

    async def _take(self, frames: Sequence[pl.DataFrame]) -> Merged:
        if not frames:
            return Merged()
        self._context.staging.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = self._context.staging / f"{_STAGED}{id(self):x}.parquet"
        try:
            pl.concat(frames).write_parquet(file)
            return await self._context.history.ask(lambda reply: TakeFile("candles", file, reply), TAKE_SECONDS)
        finally:
            file.unlink(missing_ok=True)


def remove_left_behind(staging: Path) -> None:
    """Remove the files that a killed service had staged; call it only while no run is under way."""
    for file in staging.glob(f"{_STAGED}*"):
        file.unlink(missing_ok=True)


def can_read(session: Session) -> bool:
    """Tell whether a broker can be asked for candles now."""
    return session.broker.candles is not None and session.view.value.live


async def all_factors(durable: Durable) -> dict[str, list[Factor]]:
    """Return the adjustment factors of all instruments, by instrument. Raises DurableError."""
    by_instrument: dict[str, list[Factor]] = {}
    for factor in await durable.factors(None):
        by_instrument.setdefault(factor.instrument_id, []).append(factor)
    return by_instrument


def _question_to_broker(
    listing: Listing, interval: str, first: date, last: date, reply: Reply[tuple[Candle, ...]]
) -> ReadCandles:
    return ReadCandles(listing=listing, interval=interval, first=first, last=last, reply=reply)
