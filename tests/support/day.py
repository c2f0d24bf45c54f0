"""A trading day in one process: the simulator's dialects without sockets, the store in memory, real session and engine actors.

Everything runs on trio's clock, so `autojump_clock` passes a day in a second. The exchange's ledger is the judge.
"""

import contextlib
import functools
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import date, datetime
from types import TracebackType
from typing import Any, Protocol, Self, TypeAlias, cast

import attrs
import msgspec
import polars as pl
import trio

from onebroker.actors.catalogue.interface import CatalogueState, Instrument
from onebroker.actors.catalogue.merge import merge
from onebroker.actors.catalogue.snapshot import TableSnapshot
from onebroker.actors.clock_watch import ClockWatch
from onebroker.actors.engine.actor import EngineActor
from onebroker.actors.engine.books.day_results import DayResults
from onebroker.actors.engine.context.engine_context import EngineContext, SessionHandle
from onebroker.actors.engine.context.messages import EngineAnswer, EngineMessage, EngineStatus, Place, PlaceBody
from onebroker.actors.engine.context.position_days import PositionDay
from onebroker.actors.engine.context.share_actions import NoShareActions, ShareActions, StoredShareActions
from onebroker.actors.engine.context.trading_gate import TradingGate
from onebroker.actors.engine.desk.actor import DeskActor
from onebroker.actors.engine.desk.messages import (
    CancelOrder,
    DeskMessage,
    Flatten,
    ModifyHeld,
    ModifyOrder,
    StopParent,
)
from onebroker.actors.engine.intake.desk_fields import Limits
from onebroker.actors.engine.orders.order_index import Legs
from onebroker.actors.engine.orders.parent_records import LegChange
from onebroker.actors.engine.placing.write_ahead import session_day
from onebroker.actors.engine.position_watch import PositionWatch
from onebroker.actors.history.interface import HistoryStore
from onebroker.actors.kernel.events import Events
from onebroker.actors.kernel.mailbox import Address, Mailbox, open_mailbox
from onebroker.actors.kernel.published import Published
from onebroker.actors.kernel.supervisor import FOREVER, Child, CrashLog, Supervisor, open_supervisor
from onebroker.actors.portfolio.actor import DocumentActor
from onebroker.actors.portfolio.assembler import DocumentState
from onebroker.actors.portfolio.funds import FundsAssembler
from onebroker.actors.quotes.actor import QuoteBookActor
from onebroker.actors.quotes.book import QuoteBook
from onebroker.actors.quotes.messages import QuoteMessage
from onebroker.actors.quotes.reader import Quotes
from onebroker.actors.sessions.actor import SessionActor, SessionContext
from onebroker.actors.sessions.brokers_in_service import InService, brokers_in_service
from onebroker.actors.sessions.messages import ExchangeRedirect, SessionMessage
from onebroker.actors.sessions.session_view import SessionView
from onebroker.actors.sessions.slices import DocumentMessage
from onebroker.actors.store.durable import Durable
from onebroker.actors.store.durable_memory import MemoryDurable
from onebroker.actors.store.keys import Resource
from onebroker.actors.store.memory import MemoryStore
from onebroker.brokers.broker import Broker, Login, LoginKind, ReadFlow, Registry
from onebroker.brokers.registry import build_registry
from onebroker.brokers.requests import CallKind, WireRequest, WireResponse
from onebroker.brokers.simulator.dialects.dialect import DialectFactory
from onebroker.brokers.simulator.exchange.journal import MemoryJournal
from onebroker.brokers.simulator.host.control_api import ledger_document
from onebroker.brokers.simulator.host.inprocess import InProcessTransport, base_of
from onebroker.brokers.simulator.host.lookup import DIALECTS
from onebroker.brokers.simulator.host.simulation import Recipe, Simulator
from onebroker.brokers.simulator.world.broker_traits import BROKERS, BrokerTraits
from onebroker.brokers.transport.interface import Transport
from onebroker.config.calendars import Calendar, always_open
from onebroker.config.clock import IST, Clock
from onebroker.config.events import Event
from onebroker.config.settings import Settings, build_settings

MONDAY_TEN = datetime(2026, 11, 23, 10, 0, tzinfo=IST)
PAGE_SECONDS = 90.0
"""How long a person opens a login page again that is refused."""
RESOURCES: tuple[Resource, ...] = ("orders", "trades", "positions", "holdings", "funds")

BrokerFiles: TypeAlias = tuple[Callable[[Sequence[bytes]], pl.DataFrame], tuple[bytes, ...]]
"""A broker's parser of its files, and their bodies."""


class DayTransport(Transport, Protocol):
    """A transport that a block opens and closes."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...


async def drive(flow: ReadFlow, transport: Transport) -> list[WireResponse]:
    """Send the requests of a read, each made from the answers before it; return the answers."""
    answers: list[WireResponse] = []
    request = next(flow)
    try:
        while True:
            answers.append(await transport.send(request, 10))
            request = flow.send(answers[-1])
    except StopIteration:
        return answers


@functools.lru_cache(maxsize=8)
def mapping(files: tuple[tuple[str, BrokerFiles], ...], today: date) -> TableSnapshot:
    """The mapping of (broker code, (parser, files)): most days begin with the same files, and none changes it."""
    return TableSnapshot(merge({code: read_files(list(bodies)) for code, (read_files, bodies) in files})[0], today)


@functools.lru_cache(maxsize=32)
def listed(snapshot: TableSnapshot, segment: str, codes: frozenset[str]) -> tuple[Instrument, ...]:
    """The instruments of a stored segment that all of these brokers list: reading every row takes longer than many a story."""
    every = (snapshot.at(row) for row in range(snapshot.count))
    return tuple(one for one in every if one.identity.segment == segment and codes <= set(one.listings))


class Day:
    """The market and the two stores outlive the service, which `service` starts and leaving its block ends."""

    def __init__(
        self,
        *,
        brokers: tuple[str, ...] = ("zerodha", "upstox"),
        start: datetime = MONDAY_TEN,
        calendar: Calendar | None = None,
        number: int = 300,
        holdings: int = 3,
        further: Mapping[str, tuple[Broker, DialectFactory, BrokerTraits]] | None = None,
    ) -> None:
        """`further` maps the code of a broker from outside the package to its (broker, dialect builder, traits). A day's time goes with the number of
        instruments whose quotes it follows, so an account has few `holdings` here: those that every broker has."""
        further = further or {}
        self.registry: Registry = {**build_registry(), **{code: broker for code, (broker, _, _) in further.items()}}
        self.clock = Clock.following_trio(start)
        self.calendar = calendar or always_open()
        self.store = MemoryStore(self.clock)
        self.durable: Durable = MemoryDurable()
        self.codes = brokers
        recipe = Recipe(
            dialects={
                code: {**DIALECTS, **{own: build for own, (_, build, _) in further.items()}}[code] for code in brokers
            },
            traits={**BROKERS, **{own: traits for own, (_, _, traits) in further.items()}},
            calendar=self.calendar,
            clock=self.clock,
            journal=MemoryJournal(),
            instruments=number,
            holdings=holdings,
        )
        self.simulator = Simulator(recipe)
        self.exchange = self.simulator.exchange
        self.person = self.exchange.person
        """A person at the brokers' own apps: `day.person.reduce("zerodha", instrument_id, Product.MIS, 40)`."""
        self.crashes = CrashLog(self.clock)
        self.catalogue = Published(
            CatalogueState(latest=None, published_today=False, reason="the first build is running")
        )
        self.funds: Published[DocumentState | None] = Published(None)
        """The funds document, once `service(funds=True)` keeps one."""
        self.history: HistoryStore | None = None
        """Where a test keeps closes; the engine then looks for corporate actions."""
        self.day_limits = False
        self.heard: list[Event] = []
        """Every event that the service has told, oldest first, over all its lives of this day."""
        self.events = Events(self.heard.append)

    def settings(self) -> Settings:
        registry = self.registry
        brokers: dict[str, dict[str, str]] = {}
        for code in self.codes:
            dialect = self.simulator.gateways[code].dialect
            addresses = {"login_url": base_of(code), **dialect.addresses(base_of(code))}
            brokers[code] = {**dialect.credentials, **addresses}
        keys = {code: registry[code].all_credential_keys for code in self.codes}
        hosts = {code: frozenset(registry[code].endpoints.others) for code in self.codes}
        return build_settings({"brokers": brokers}, known_brokers=keys, second_hosts=hosts)

    def open_transport(self) -> DayTransport:
        """Return the service's transport; crash tests put themselves in between."""
        return InProcessTransport(self.simulator)

    async def read_catalogue(self) -> None:
        files: dict[str, BrokerFiles] = {}
        async with InProcessTransport(self.simulator) as transport:
            for code, handle in self.services.items():
                access = attrs.evolve(handle.access, login=None)
                answers = await drive(handle.broker.instruments.file_requests(access, self.clock.now()), transport)
                # Wrong credentials are refused the list of the files (Kotak Neo), not the files.
                assert all(answer.status in (200, 401) for answer in answers), [answer.body[:200] for answer in answers]
                assert answers[-1].status == 200
                files[code] = (handle.broker.instruments.read_files, tuple(answer.body for answer in answers))
        self.snapshot = mapping(tuple(files.items()), self.clock.today())
        self.catalogue.set(CatalogueState(latest=self.snapshot, published_today=True, reason=""))

    @contextlib.asynccontextmanager
    async def market(self) -> AsyncIterator[Self]:
        async with trio.open_nursery() as nursery:
            await nursery.start(self.simulator.run_market)
            yield self
            nursery.cancel_scope.cancel()

    @contextlib.asynccontextmanager
    async def service(self, *, log_in: bool = True, quotes: bool = False, funds: bool = False) -> AsyncIterator[Self]:
        """Run sessions, engine and desk over whatever the store holds; with `quotes` the quote book too, with `funds` that document."""
        settings = self.settings()
        self.services = brokers_in_service(
            self.registry, settings.brokers, exit_share=settings.engine.exit_share, day_limits=self.day_limits
        )
        if self.catalogue.value.latest is None:
            await self.read_catalogue()
        documents: dict[Resource, Mailbox[DocumentMessage]] = {
            resource: open_mailbox(f"document {resource}", capacity=8) for resource in RESOURCES
        }
        self.documents = documents
        ticks: Mailbox[QuoteMessage] = open_mailbox("quotes", capacity=8)
        self.ticks = ticks
        async with self.open_transport() as transport, open_supervisor(self.crashes, seed=1) as supervisor:
            await supervisor.start(Child(name="clock watch", build=lambda: ClockWatch(self.clock), policy=FOREVER))
            self.sessions: dict[str, SessionHandle] = {}
            for code, service in self.services.items():
                mailbox: Mailbox[SessionMessage] = open_mailbox(f"session {code}", capacity=64)
                view = Published(SessionView(broker=code))
                handle = SessionHandle(broker=service.broker, address=mailbox.address, view=view)
                context = SessionContext(
                    transport=transport,
                    store=self.store,
                    clock=self.clock,
                    calendar=self.calendar,
                    budget=service.budget,
                    view=view,
                    catalogue=self.catalogue,
                    documents={resource: box.address for resource, box in documents.items()},
                    quotes=ticks.address,
                    room=handle.room,
                    counts=handle.counts,
                    events=self.events,
                    seed=1,
                )

                def build(
                    service: InService = service,
                    mailbox: Mailbox[SessionMessage] = mailbox,
                    context: SessionContext = context,
                ) -> SessionActor:
                    return SessionActor(broker=service.broker, access=service.access, mailbox=mailbox, context=context)

                self.sessions[code] = handle
                await supervisor.start(Child(name=f"session {code}", build=build, policy=FOREVER, mailbox=mailbox))
            await self._start_quotes(supervisor, start=quotes)
            if funds:
                await self._start_funds(supervisor)
            await self._start_engine(supervisor, settings)
            if log_in:
                for code in self.codes:
                    await self.log_in(code)
                ready = lambda: self.status.value.running and all(self.has_read(code) for code in self.codes)  # noqa: E731
                await self.until(ready, 120)
            yield self

    async def _start_quotes(self, supervisor: Supervisor, *, start: bool) -> None:
        """Make the reader of quotes, and start the book that it reads; without one there is never a quote."""
        book = Published(QuoteBook(self.codes))
        catalogue, calendar, clock = self.catalogue, self.calendar, self.clock
        self.quotes = Quotes(book=book, address=self.ticks.address, catalogue=catalogue, calendar=calendar, clock=clock)
        build = lambda: QuoteBookActor(  # noqa: E731
            mailbox=self.ticks, published=book, sessions=self.sessions, store=self.store, catalogue=catalogue,
            calendar=calendar, clock=clock, events=self.events,
        )  # fmt: skip
        if start:
            await supervisor.start(Child(name="quotes", build=build, policy=FOREVER, mailbox=self.ticks))

    async def _start_funds(self, supervisor: Supervisor) -> None:
        build = lambda: DocumentActor(  # noqa: E731
            assembler=FundsAssembler(), codes=tuple(self.codes), mailbox=self.documents["funds"], published=self.funds,
            store=self.store, clock=self.clock,
        )  # fmt: skip
        await supervisor.start(
            Child(name="funds document", build=build, policy=FOREVER, mailbox=self.documents["funds"])
        )

    async def _start_engine(self, supervisor: Supervisor, settings: Settings) -> None:
        self.legs = Legs(functools.partial(session_day, self.clock))
        engine_box: Mailbox[EngineMessage] = open_mailbox("engine", capacity=64)
        desk_box: Mailbox[DeskMessage] = open_mailbox("desk", capacity=64)
        self.status = Published(EngineStatus(running=False, reason=""))
        position_days: dict[str, PositionDay] = {}
        results = DayResults(
            sessions=self.sessions,
            catalogue=self.catalogue,
            quotes=self.quotes,
            clock=self.clock,
            calendar=self.calendar,
            position_days=position_days,
        )
        actions: ShareActions = NoShareActions()
        if self.history is not None:
            actions = StoredShareActions(self.history, self.durable, self.quotes, self.calendar, self.clock)
        context = EngineContext(
            actions=actions,
            store=self.store,
            clock=self.clock,
            settings=settings.engine,
            sessions=self.sessions,
            catalogue=self.catalogue,
            calendar=self.calendar,
            quotes=self.quotes,
            legs=self.legs,
            owner="owner",
            funds=self.funds,
            day_results=results,
            position_days=position_days,
            durable=self.durable,
            events=self.events,
            gate=TradingGate(known=False),
        )
        self.engine_context = context
        self.engine: Address[EngineMessage] = engine_box.address
        self.desk: Address[DeskMessage] = desk_box.address
        engine = lambda: EngineActor(mailbox=engine_box, context=context, status=self.status, crashes=self.crashes)  # noqa: E731
        desk = lambda: DeskActor(mailbox=desk_box, context=context, engine=engine_box.address, status=self.status)  # noqa: E731
        watch = lambda: PositionWatch(books=context, store=self.store)  # noqa: E731
        await supervisor.start(Child(name="position watch", build=watch, policy=FOREVER))
        await supervisor.start(Child(name="engine", build=engine, policy=FOREVER, mailbox=engine_box))
        await supervisor.start(Child(name="desk", build=desk, policy=FOREVER, mailbox=desk_box))

    def has_read(self, code: str) -> bool:
        view = self.sessions[code].view.value
        return view.live and view.orders_read_started is not None

    async def log_in(self, code: str, *, other_account: bool = False) -> Login:
        """What a person does: open the broker's page, come back with its redirect. Where none is needed, wait."""
        service = self.services[code]
        if service.broker.login_kind is LoginKind.UNATTENDED:
            await self.until(lambda: self.sessions[code].view.value.live, 120)
            access = self.sessions[code].view.value.access
            assert access is not None
            assert access.login is not None
            return access.login
        page = service.broker.login.login_page(service.access)
        async with InProcessTransport(self.simulator) as transport:
            request = WireRequest(kind=CallKind.LOGIN, method="GET", url=page)
            with trio.fail_after(PAGE_SECONDS):
                while "location" not in (answer := await transport.send(request, 10)).headers:
                    await trio.sleep(5)  # a broker counts its page with the service's calls of this minute
        redirect = answer.headers["location"]
        exchange = functools.partial(ExchangeRedirect, redirect=redirect, other_account=other_account)
        return await self.sessions[code].address.ask(lambda reply: exchange(reply=reply), 10)

    async def until(self, condition: Callable[[], object], seconds: float = 60) -> None:
        """Let the day go on until `condition()`; fail after `seconds` of it."""
        with trio.fail_after(seconds):
            while not condition():
                await trio.sleep(0.05)

    # --- orders -----------------------------------------------------------------------------------------------------

    def listed(self, segment: str) -> list[Instrument]:
        """Return the instruments of a stored segment that every broker lists."""
        return list(listed(self.snapshot, segment, frozenset(self.codes)))

    def equity(self, n: int = 0) -> Instrument:
        """Return the n-th NSE share that every broker lists."""
        return sorted(self.listed("nse_equities"), key=lambda one: cast("str", one.identity.symbol))[n]

    def body(self, instrument: Instrument, **more: Any) -> PlaceBody:
        price = more.pop("price", None)
        fields: dict[str, Any] = {
            "transaction_type": "BUY",
            "product": "CNC",
            "order_type": "LIMIT" if price is not None else "MARKET",
            "validity": "DAY",
            "quantity": 10,
            "disclosed_quantity": 0,
            "trigger_price": None,
            "after_market": False,
            "tag": None,
            "broker": None,
            "closes_position": False,
            "sent": {},
            **more,
        }
        return PlaceBody(instrument=instrument, price=price, **fields)

    async def place(
        self, order: PlaceBody, *, intent_id: str = "i-1", dry_run: bool = False, wait: float = 5.0
    ) -> EngineAnswer:
        now = self.clock.monotonic()
        return await self.engine.ask(
            lambda reply: Place(
                intent_id=intent_id, order=order, dry_run=dry_run, routed=now, deadline=now + wait, reply=reply
            ),
            wait,
        )

    async def cancel(self, order_id: str, *, broker: str | None = None, dry_run: bool = False) -> EngineAnswer:
        now = self.clock.monotonic()
        return await self.desk.ask(
            lambda reply: CancelOrder(order_id=order_id, broker=broker, dry_run=dry_run, routed=now, reply=reply), 15
        )

    async def modify(
        self, order_id: str, *, broker: str | None = None, dry_run: bool = False, **values: Any
    ) -> EngineAnswer:
        """Change an order; prices as Decimal."""
        return await self._ask_desk(
            ModifyOrder, order_id=order_id, broker=broker, change=LegChange(**values), dry_run=dry_run
        )

    async def modify_held(
        self, parent_id: str, *, part: str | None = None, dry_run: bool = False, **values: Any
    ) -> EngineAnswer:
        return await self._ask_desk(
            ModifyHeld, parent_id=parent_id, part=part, change=LegChange(**values), dry_run=dry_run
        )

    async def stop(self, parent_id: str, *, part: str | None = None, dry_run: bool = False) -> EngineAnswer:
        """Cancel a parent, or a part of it."""
        return await self._ask_desk(StopParent, parent_id=parent_id, part=part, dry_run=dry_run)

    async def flatten(self, *, dry_run: bool = False, skip_covered: bool = False) -> EngineAnswer:
        return await self._ask_desk(Flatten, dry_run=dry_run, skip_covered=skip_covered, wait=180)

    async def close(self, *, dry_run: bool = False, skip_covered: bool = False, **limits: str) -> EngineAnswer:
        """Close within limits: `broker`, `instrument_id`, `product` (a position's word), `tag`."""
        asked = Limits(**limits)
        return await self._ask_desk(Flatten, limits=asked, skip_covered=skip_covered, dry_run=dry_run, wait=180)

    async def _ask_desk(self, message: Callable[..., DeskMessage], *, wait: float = 20, **fields: Any) -> EngineAnswer:
        now = self.clock.monotonic()
        return await self.desk.ask(lambda reply: message(routed=now, reply=reply, **fields), wait)

    def ledger(self) -> dict[str, Any]:
        ledger: dict[str, Any] = msgspec.to_builtins(ledger_document(self.simulator, 0))
        return ledger

    def messages(self, verb: str) -> list[dict[str, Any]]:
        return [message for message in self.ledger()["messages"] if message["verb"] == verb]
