"""A market whose days have known candles, brokers that give them over real mailboxes, and the service's history and collector.

All on trio's clock: the stores are in memory and nothing uses threads. What the brokers were asked stands in their `calls`.
"""

import contextlib
from collections.abc import AsyncIterator, Callable
from datetime import date, datetime, time, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self, cast

import attrs
import trio

from onebroker.actors.catalogue.interface import CatalogueState, Instrument
from onebroker.actors.catalogue.interface import Snapshot as WholeSnapshot
from onebroker.actors.history.actor import HistoryActor
from onebroker.actors.history.adjust import day_start
from onebroker.actors.history.backfill_job import BackfillOrder, BackfillProgress, Summary
from onebroker.actors.history.backfill_runner import Backfiller
from onebroker.actors.history.candle_collector import CandleCollector
from onebroker.actors.history.candle_run import CandleRunContext
from onebroker.actors.history.daily_loader import CollectorView, DailyLoader
from onebroker.actors.history.disk_room import DiskRoom, Room
from onebroker.actors.history.memory import MemoryHistory
from onebroker.actors.history.messages import Backfill, CollectorMessage, HistoryMessage, LastLoad
from onebroker.actors.history.selection import Choosing, Selection
from onebroker.actors.kernel.mailbox import Mailbox, open_mailbox
from onebroker.actors.kernel.published import Published
from onebroker.actors.kernel.supervisor import FOREVER, Child, CrashLog, open_supervisor
from onebroker.actors.quotes.book import QuoteBook
from onebroker.actors.sessions.messages import NotOffered, ReadCandles, SessionMessage
from onebroker.actors.sessions.session_view import LoginState, SessionView
from onebroker.actors.store.durable_memory import MemoryDurable
from onebroker.brokers.records import Candle, Listing
from onebroker.config.calendars import Calendar, calendar_from_documents
from onebroker.config.clock import IST, Clock
from onebroker.config.instruments import Identity, calendar_of

EVER = (-(2**60), 2**60)


def calendar_with(holidays: dict[str, str], specials: tuple[dict[str, Any], ...] = ()) -> Calendar:
    """Return NSE (equity) and MCX (commodity) with holidays (day -> name) of the equity calendar, and special sessions."""
    equity = {
        "pre_open": {"opens": "09:00", "closes": "09:15"},
        "sessions": [{"name": "normal", "opens": "09:15", "closes": "15:30"}],
    }
    commodity = {
        "sessions": [
            {"name": "morning", "opens": "09:00", "closes": "17:00"},
            {"name": "evening", "opens": "17:00", "closes": "23:30", "closes_during_us_standard_time": "23:55"},
        ]
    }  # fmt: skip
    closed = [{"date": day, "closed": "all", "name": name} for day, name in sorted(holidays.items())]
    return calendar_from_documents(
        [
            {
                "exchange": "nse",
                "trading_hours": {"timezone": "Asia/Kolkata", "equity": equity},
                "holidays": {"equity": closed},
                "special_sessions": list(specials),
            },
            {
                "exchange": "mcx",
                "trading_hours": {"timezone": "Asia/Kolkata", "commodity": commodity},
                "holidays": {},
                "special_sessions": [],
            },
        ]
    )


def instrument(identity: Identity, codes: tuple[str, ...]) -> Instrument:
    name = identity.natural_key
    return Instrument(
        instrument_id=identity.instrument_id, identity=identity, name=None, isin=None, lot_size=1, tick_size=0.05,
        freeze_quantity=None,
        listings={code: Listing(broker_token=f"{code}:{name}", tradingsymbol=name, exchange=identity.exchange) for code in codes},
    )  # fmt: skip


@attrs.frozen
class Call:
    at: datetime
    broker: str
    name: str
    first: date
    last: date


class Snapshot:
    """As much of a mapping as is asked of it."""

    mapping_date = date(2026, 11, 1)

    def __init__(self, instruments: list[Instrument]) -> None:
        self._by_id = {one.instrument_id: one for one in instruments}
        self._by_token = {
            (code, listing.broker_token): one.instrument_id
            for one in instruments
            for code, listing in one.listings.items()
        }
        self.master = self

    def instrument(self, instrument_id: str) -> Instrument | None:
        return self._by_id.get(instrument_id)

    instrument_once = instrument

    def by_token(self, broker: str, broker_token: str) -> str | None:
        return self._by_token.get((broker, broker_token))

    def ids(self, exchange: str | None, segment: str | None, names: tuple[str, ...] = ()) -> list[str]:
        return [
            one.instrument_id
            for one in self._by_id.values()
            if exchange in (None, one.identity.exchange)
            and segment in (None, one.identity.segment)
            and (not names or one.identity.natural_key.rpartition("|")[2] in names)
        ]


class World:
    """The market, the stores and the brokers outlive the service, which `service` starts and leaving the block ends."""

    def __init__(
        self, start: datetime, calendar: Calendar, folder: Path, codes: tuple[str, ...] = ("alpha", "beta")
    ) -> None:
        self.clock = Clock.following_trio(start)
        self.calendar = calendar
        self.folder = folder
        self.free = 10**12
        """Bytes that the disk has left."""
        room = Published(Room(reserve=10**9))
        self.room = DiskRoom(folder=folder, published=room, free_bytes=lambda _: self.free)
        self.instruments: list[Instrument] = []
        self.catalogue = Published(CatalogueState(latest=None, published_today=True, reason=""))
        self.store = MemoryHistory()
        self.durable = MemoryDurable()
        self.crashes = CrashLog(self.clock)
        self.calls: list[Call] = []
        self.takes = 0
        self.codes = codes
        self.answer: Callable[[str, Instrument, list[Candle]], list[Candle]] = lambda code, one, candles: candles
        """What becomes of an answer; may raise."""
        self.seconds_per_read = 0.2
        self.sessions = {
            code: SimpleNamespace(
                broker=SimpleNamespace(code=code, candles=object(), candles_with_interest=True),
                view=Published(SessionView(broker=code, login=LoginState.LIVE)),
                address=None,
            )
            for code in codes
        }

    def lists(self, *identities: Identity, codes: tuple[str, ...] | None = None) -> list[Instrument]:
        made = [instrument(one, codes or self.codes) for one in identities]
        self.instruments += made
        latest = cast("WholeSnapshot", Snapshot(self.instruments))
        self.catalogue.set(attrs.evolve(self.catalogue.value, latest=latest))
        return made

    def session(self, code: str, **changed: Any) -> None:
        view = self.sessions[code].view
        view.set(attrs.evolve(view.value, **changed))

    # --- the market's own truth -------------------------------------------------------------------------------------

    def days(self, one: Instrument, first: date, last: date) -> list[date]:
        market = (one.identity.exchange, calendar_of(one.identity.segment))
        span = [first + timedelta(days=count) for count in range((last - first).days + 1)]
        return [day for day in span if self.calendar.is_session_day(*market, day)]

    def candle(self, one: Instrument, day: date) -> Candle:
        price = 100.0 + (day.toordinal() * 7 + len(one.identity.natural_key)) % 50
        start = datetime.combine(day, time(), IST).timestamp()
        return Candle(start=start, open=price, high=price + 2, low=price - 2, close=price + 1, volume=day.day, oi=None)

    # --- the brokers ------------------------------------------------------------------------------------------------

    async def _serve(self, code: str, mailbox: Mailbox[SessionMessage]) -> None:
        async for message in mailbox:
            assert isinstance(message, ReadCandles)
            one = next(one for one in self.instruments if one.listings.get(code) == message.listing)
            self.calls.append(
                Call(self.clock.now(), code, one.identity.natural_key.rpartition("|")[2], message.first, message.last)
            )
            await trio.sleep(self.seconds_per_read)
            truth = [self.candle(one, day) for day in self.days(one, message.first, message.last)]
            try:
                message.reply.answer(tuple(self.answer(code, one, truth)))
            except Exception as error:  # noqa: BLE001  # whatever a test has brokers say
                message.reply.refuse(error)

    # --- the service ------------------------------------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def service(self) -> AsyncIterator[Self]:
        async with trio.open_nursery() as brokers, open_supervisor(self.crashes, seed=1) as supervisor:
            for code in self.codes:
                box: Mailbox[SessionMessage] = open_mailbox(f"{code} session", capacity=64)
                box.running = True
                self.sessions[code].address = box.address
                brokers.start_soon(self._serve, code, box)
            history: Mailbox[HistoryMessage] = open_mailbox("history", capacity=64)
            collector: Mailbox[CollectorMessage] = open_mailbox("collector", capacity=64)
            self.view = Published(CollectorView())
            self.progress: Published[BackfillProgress | None] = Published(None)
            self.last_load: Published[LastLoad | None] = Published(None)
            self.collector = collector.address

            async def at_once(work: Callable[..., Any], *arguments: object) -> Any:
                await trio.lowlevel.checkpoint()
                return work(*arguments)

            context = CandleRunContext(
                sessions=self.sessions, history=history.address, store=self.store, clock=self.clock,
                calendar=self.calendar, staging=self.folder / "incoming", in_worker=at_once, room=self.room.published,
            )  # fmt: skip
            choosing = Choosing(
                catalogue=self.catalogue,
                sessions=self.sessions,
                book=Published(QuoteBook(self.codes)),
                store=self.store,
            )
            catalogue, durable, calendar = self.catalogue, self.durable, self.calendar

            def build_history() -> HistoryActor:
                return HistoryActor(
                    mailbox=history, store=self.store, durable=self.durable, catalogue=self.catalogue, clock=self.clock,
                    calendar=self.calendar, last_load=self.last_load, room=self.room,
                )  # fmt: skip

            def build_collector() -> CandleCollector:
                backfiller = Backfiller(
                    context=context, choosing=choosing, catalogue=catalogue, durable=durable, calendar=calendar,
                    reports=self.folder / "refused", progress=self.progress,
                )  # fmt: skip
                loader = DailyLoader(
                    context=context, choosing=choosing, catalogue=catalogue, durable=durable, calendar=calendar, view=self.view
                )  # fmt: skip
                return CandleCollector(mailbox=collector, backfiller=backfiller, loader=loader)

            await supervisor.start(Child(name="history", build=build_history, policy=FOREVER, mailbox=history))
            await supervisor.start(Child(name="collector", build=build_collector, policy=FOREVER, mailbox=collector))
            yield self
            brokers.cancel_scope.cancel()

    async def fill(
        self, first: date, last: date | None = None, *, broker: str | None = None, **selection: Any
    ) -> Summary:
        order = BackfillOrder(first=first, last=last, broker=broker, selection=Selection(**selection))
        return await self.collector.ask(lambda reply: Backfill(order, reply), 24 * 3600)

    async def wait_until(self, moment: datetime) -> None:
        await trio.sleep(moment.timestamp() - self.clock.epoch())

    # --- what the store holds ---------------------------------------------------------------------------------------

    async def stored(self, one: Instrument) -> dict[date, float]:
        """Return day -> close of the day candles."""
        frame = await self.store.candles(one.instrument_id, 1440, *EVER)
        by_start = {day_start(date.fromordinal(number)): date.fromordinal(number) for number in range(736000, 740000)}
        return {by_start[start]: close for start, close in frame.select("time", "close").iter_rows()}

    def truth(self, one: Instrument, first: date, last: date) -> dict[date, float]:
        return {day: self.candle(one, day).close for day in self.days(one, first, last)}

    def not_offered(self, code: str) -> NotOffered:
        return NotOffered(f"{code} has no candles of it")
