"""Defines which actors start, in what order, under which policy. Actors meet only here; the listener is the only actor started elsewhere.

Start order is top to bottom, stop order is the reverse. The reasons for the order:
- The reference documents come before everything that asks the calendar, because the calendar follows them.
- The catalogue loads its last file before the documents that name instruments by it.
- The order book comes before the trade book, which follows it. Both come before the sessions that feed them.
- The engine comes after the sessions it sends through; the desk comes after the engine.
- The candle collector comes late: it also asks the sessions, and it can wait.
- The alerts come late: they hear events from the first moment on, and send nothing that others wait for.
- The health watch comes last, because it looks at all others.
Everything restarts for ever (style 4).
"""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from decimal import Decimal
from functools import partial
from pathlib import Path

import attrs

from onebroker.actors.alerts.actor import AlertInputs, AlertsActor
from onebroker.actors.alerts.receiver import AlertsView, Receiver
from onebroker.actors.alerts.reporter import ReporterContext
from onebroker.actors.catalogue.actor import FOLDER as CATALOGUE_FOLDER
from onebroker.actors.catalogue.actor import CatalogueActor
from onebroker.actors.catalogue.builder import Builder
from onebroker.actors.catalogue.download import Source
from onebroker.actors.catalogue.interface import CatalogueState
from onebroker.actors.catalogue.messages import CatalogueMessage
from onebroker.actors.catalogue.progress import BuildProgress
from onebroker.actors.clock_doubt import clock_doubt
from onebroker.actors.clock_watch import ClockWatch
from onebroker.actors.engine.actor import EngineActor
from onebroker.actors.engine.books.day_results import DayResults
from onebroker.actors.engine.books.settled_positions import doubted_rows, doubts
from onebroker.actors.engine.context.day_loss import DayLoss
from onebroker.actors.engine.context.engine_context import EngineContext, SessionHandle
from onebroker.actors.engine.context.messages import CheckCancel, EndExits, EngineMessage, EngineStatus, Place
from onebroker.actors.engine.context.past_volumes import StoredVolumes
from onebroker.actors.engine.context.position_days import PositionDay
from onebroker.actors.engine.context.share_actions import StoredShareActions
from onebroker.actors.engine.context.trading_gate import TradingGate
from onebroker.actors.engine.context.troubles import Troubles
from onebroker.actors.engine.desk.actor import DeskActor
from onebroker.actors.engine.desk.messages import DeskMessage
from onebroker.actors.engine.loss_watch import LossWatch
from onebroker.actors.engine.orders.order_index import Legs
from onebroker.actors.engine.orders.parent_records import ParentRecord, ParentState
from onebroker.actors.engine.placing.write_ahead import session_day
from onebroker.actors.engine.position_watch import PositionWatch
from onebroker.actors.health.problem_book import ProblemBook
from onebroker.actors.health.service_problems import alerts_not_taken, values_locked
from onebroker.actors.health.sources import Watched, problem_sources
from onebroker.actors.health.watch import HealthWatch
from onebroker.actors.history.actor import HistoryActor
from onebroker.actors.history.archive_marks import ArchiveMarks
from onebroker.actors.history.archive_place import ArchivePlace
from onebroker.actors.history.backfill_job import BackfillProgress
from onebroker.actors.history.backfill_runner import Backfiller
from onebroker.actors.history.candle_collector import CandleCollector
from onebroker.actors.history.candle_run import CandleRunContext
from onebroker.actors.history.daily_loader import CollectorView, DailyLoader
from onebroker.actors.history.disk_room import MEGABYTE, DiskRoom, Room
from onebroker.actors.history.history_paths import incoming_folder, marks_folder, refused_folder
from onebroker.actors.history.interface import HistoryStore
from onebroker.actors.history.memory import MemoryHistory
from onebroker.actors.history.messages import CollectorMessage, HistoryMessage, LastLoad
from onebroker.actors.history.selection import Choosing
from onebroker.actors.history.tick_archive import ArchiveState, TickKeeping
from onebroker.actors.history.tick_buffer import TickBuffer
from onebroker.actors.kernel.conflation import Changes
from onebroker.actors.kernel.events import Events
from onebroker.actors.kernel.mailbox import Address, Mailbox, open_mailbox
from onebroker.actors.kernel.published import Published
from onebroker.actors.kernel.supervisor import (
    FOREVER,
    Actor,
    Child,
    CrashLog,
    RestartPolicy,
    Supervisor,
    open_supervisor,
)
from onebroker.actors.portfolio.actor import DocumentActor
from onebroker.actors.portfolio.assembler import Assembler, DocumentState
from onebroker.actors.portfolio.day_closes import StoredDayCloses
from onebroker.actors.portfolio.funds import FundsAssembler
from onebroker.actors.portfolio.holdings import HoldingsAssembler
from onebroker.actors.portfolio.order_book import OrderBookAssembler
from onebroker.actors.portfolio.positions import PositionsAssembler
from onebroker.actors.portfolio.trade_book import TradeBookAssembler
from onebroker.actors.quotes.actor import QuoteBookActor
from onebroker.actors.quotes.book import QuoteBook
from onebroker.actors.quotes.feed_silence import FeedSilence
from onebroker.actors.quotes.messages import QuoteMessage
from onebroker.actors.quotes.reader import Quotes
from onebroker.actors.reference.actor import ReferenceActor
from onebroker.actors.reference.messages import ReferenceMessage
from onebroker.actors.reference.state import ReferenceState
from onebroker.actors.sessions.actor import SessionActor, SessionContext
from onebroker.actors.sessions.brokers_in_service import InService
from onebroker.actors.sessions.messages import SessionMessage
from onebroker.actors.sessions.session_view import LoginState, SessionView, logged_in
from onebroker.actors.sessions.slices import DocumentMessage
from onebroker.actors.store.durable import Durable, Halt
from onebroker.actors.store.interface import Store
from onebroker.actors.store.keys import RESOURCES, Resource
from onebroker.actors.store.sealing import Seal
from onebroker.actors.token.actor import TokenActor
from onebroker.actors.token.messages import TokenMessage
from onebroker.actors.token.state import HeldToken
from onebroker.brokers.broker import LoginKind
from onebroker.brokers.transport.interface import Transport
from onebroker.config.calendars import Calendar, DocumentCalendar
from onebroker.config.charges.load import built_in_charges
from onebroker.config.charges.rows import Charges
from onebroker.config.clock import Clock
from onebroker.config.instruments import Identity
from onebroker.config.settings import Settings

DOCUMENT_POLICY = RestartPolicy(restarts=None, within_seconds=30.0, most_delay_seconds=5.0)
SESSION_MAILBOX = 512
"""A list of 500 orders asks for room all at once; senders of more messages wait."""
ENGINE_MAILBOX = 512
DESK_MAILBOX = 512
SMALL_MAILBOX = 64
QUOTE_MAILBOX = 256
HISTORY_MAILBOX = 512
"""The actor answers at once or in separate tasks: the mailbox fills only while the event loop is blocked."""


@attrs.frozen(kw_only=True)
class TreeInputs:
    """The inputs that the composition passes to the tree."""

    settings: Settings
    brokers: Mapping[str, InService]
    clock: Clock
    calendar: Calendar
    transports: Mapping[str, Transport]
    """Broker code -> the transport for its calls and sockets."""
    store: Store
    durable: Durable
    seal: Seal = attrs.field(factory=Seal)
    """Encrypts what the stores hold of logins and of the access token; without keys it is stored plain."""
    data_dir: Path
    owner: str
    """The random id kept in the data directory."""
    catalogue_builder: Builder
    charges: Charges = attrs.field(factory=built_in_charges)
    """The charges of orders."""
    history: HistoryStore = attrs.field(factory=MemoryHistory)
    """Store of candles and ticks; in memory when no store is given (tests)."""
    tick_place: ArchivePlace | None = None
    """Where ticks of days that are over are archived; None = nowhere."""
    record_ticks: bool = False
    """Whether the ticks that the settings choose are recorded in `history`; recording uses threads."""
    document_calendar: DocumentCalendar | None = None
    """The same object as `calendar`, when the exchange documents are its source. The reference actor keeps it in line with the documents."""
    known_codes: tuple[str, ...] = ()
    """Codes of brokers that need not be in service: the keys of `broker_profiles`, in addition to those of `brokers`."""
    store_child: Child | None = None
    """Child that runs the store, when the store needs a process (Redis)."""
    events: Events = attrs.field(factory=Events)
    """Where everything that happens is told; without a listener nobody hears it (tests)."""
    alerts: AlertInputs | None = None
    """Whom to tell what, in messages to people; None = nobody is told. Its inbox listens to `events`."""
    seed: int | None = None


@attrs.frozen(kw_only=True)
class Tree:
    """Everything that other parts read or ask of a running tree."""

    supervisor: Supervisor
    crashes: CrashLog
    problems: ProblemBook
    """What is wrong now."""
    alerts: Published[AlertsView]
    """The messages to people: their receivers, and what waits for them. Without receivers it stays empty."""
    receivers: tuple[Receiver, ...]
    """Whom messages to people are sent to."""
    token: Published[HeldToken | None]
    token_actor: Address[TokenMessage]
    documents: Mapping[Resource, Published[DocumentState | None]]
    reference: Published[ReferenceState]
    reference_actor: Address[ReferenceMessage]
    catalogue: Published[CatalogueState]
    catalogue_actor: Address[CatalogueMessage]
    catalogue_progress: Published[BuildProgress]
    quotes: Quotes
    quote_book: Address[QuoteMessage]
    history: HistoryStore
    history_actor: Address[HistoryMessage]
    last_load: Published[LastLoad | None]
    room: Published[Room]
    """Whether the disk has room for candles and ticks."""
    archive: Published[ArchiveState]
    """The archive of ticks; without one it stays as it is at first."""
    dropped_ticks: Callable[[], int]
    """Returns the number of ticks that should have been recorded and were not."""
    collector: Address[CollectorMessage]
    collected: Published[CollectorView]
    """How far the daily loads of candles have come."""
    backfill: Published[BackfillProgress | None]
    durable: Durable
    brokers: Mapping[str, InService]
    sessions: Mapping[str, SessionHandle]
    engine_status: Published[EngineStatus]
    legs: Legs
    """Tells which parent an order belongs to."""
    troubles: Troubles
    """The present troubles of parents."""
    halt: Published[Halt | None]
    """The halt of trading by hand. Its version is 0 until the stored halt has been read after the start."""
    loss: Published[DayLoss]
    """The day's loss, and whether new orders are refused because of it."""
    engine: Address[EngineMessage]
    intent_waits: Callable[[str], bool]
    """Tells whether an intent waits in the engine's mailbox, or the engine holds it and has neither journaled nor answered it."""
    open_states: Mapping[str, ParentState]
    """Id -> state of each parent whose actor runs."""
    parents: Changes[str, ParentRecord]
    """The engine's parents as they change; for a single reader."""
    desk: Address[DeskMessage]
    calendar: Calendar
    charges: Charges


class _Planting:
    """Makes every mailbox and published value first, then the children. Each child gets what it needs of the others."""

    def __init__(self, inputs: TreeInputs, crashes: CrashLog, supervisor: Supervisor) -> None:
        self._inputs = inputs
        self._crashes = crashes
        self._supervisor = supervisor
        self._alerts = Published(AlertsView())
        self._token_box: Mailbox[TokenMessage] = open_mailbox("token", capacity=SMALL_MAILBOX)
        self._reference_box: Mailbox[ReferenceMessage] = open_mailbox("reference documents", capacity=SMALL_MAILBOX)
        self._reference = Published(ReferenceState())
        self._catalogue_box: Mailbox[CatalogueMessage] = open_mailbox("catalogue", capacity=SMALL_MAILBOX)
        self._quote_box: Mailbox[QuoteMessage] = open_mailbox("quotes", capacity=QUOTE_MAILBOX)
        self._history_box: Mailbox[HistoryMessage] = open_mailbox("history", capacity=HISTORY_MAILBOX)
        self._collector_box: Mailbox[CollectorMessage] = open_mailbox("candle collector", capacity=SMALL_MAILBOX)
        self._engine_box: Mailbox[EngineMessage] = open_mailbox("engine", capacity=ENGINE_MAILBOX)
        self._desk_box: Mailbox[DeskMessage] = open_mailbox("desk", capacity=DESK_MAILBOX)
        self._document_boxes: dict[Resource, Mailbox[DocumentMessage]] = {
            resource: open_mailbox(f"{resource} document", capacity=SMALL_MAILBOX) for resource in RESOURCES
        }
        self._session_boxes: dict[str, Mailbox[SessionMessage]] = {
            code: open_mailbox(f"{code} session", capacity=SESSION_MAILBOX) for code in inputs.brokers
        }
        self._token: Published[HeldToken | None] = Published(None)
        self._catalogue = Published(
            CatalogueState(latest=None, published_today=False, reason="the first mapping is being built")
        )
        self._catalogue_progress = Published(BuildProgress())
        self._documents: dict[Resource, Published[DocumentState | None]] = {
            resource: Published(None) for resource in RESOURCES
        }
        self._last_load: Published[LastLoad | None] = Published(None)
        self._room = Published(Room(reserve=inputs.settings.history.disk_reserve_mb * MEGABYTE))
        self._archive = Published(
            ArchiveState(place=None if (place := inputs.settings.history.tick_archive) is None else str(place))
        )
        self._collected = Published(CollectorView())
        self._backfill: Published[BackfillProgress | None] = Published(None)
        self._recorded = TickBuffer() if inputs.record_ticks else None
        self._sessions = {
            code: SessionHandle(
                broker=service.broker,
                address=self._session_boxes[code].address,
                view=Published(SessionView(broker=code)),
            )
            for code, service in inputs.brokers.items()
        }
        self._engine_status = Published(
            EngineStatus(running=False, reason="the order engine is starting", starting=True)
        )
        self._legs = Legs(partial(session_day, inputs.clock))
        self._book = Published(QuoteBook(tuple(inputs.brokers)))
        self._silence = Published(FeedSilence())
        self._quotes = Quotes(
            book=self._book,
            address=self._quote_box.address,
            catalogue=self._catalogue,
            calendar=inputs.calendar,
            clock=inputs.clock,
            usable_seconds=inputs.settings.engine.quote_usable_seconds,
        )
        position_days: dict[str, PositionDay] = {}
        self._loss = Published(DayLoss(limit=inputs.settings.engine.daily_loss_limit))
        self._engine_context = EngineContext(
            store=inputs.store,
            clock=inputs.clock,
            settings=inputs.settings.engine,
            sessions=self._sessions,
            catalogue=self._catalogue,
            calendar=inputs.calendar,
            quotes=self._quotes,
            legs=self._legs,
            owner=inputs.owner,
            excluded_brokers=frozenset(inputs.settings.engine.excluded_brokers),
            intraday_cutoffs={code: broker.intraday_cutoff for code, broker in inputs.settings.brokers.items()},
            modifies_per_order={code: broker.modifies_per_order for code, broker in inputs.settings.brokers.items()},
            charges=inputs.charges,
            funds=self._documents["funds"],
            loss=self._loss,
            position_days=position_days,
            day_results=DayResults(
                sessions=self._sessions,
                catalogue=self._catalogue,
                quotes=self._quotes,
                clock=inputs.clock,
                calendar=inputs.calendar,
                position_days=position_days,
            ),
            volumes=StoredVolumes(inputs.history),
            actions=StoredShareActions(inputs.history, inputs.durable, self._quotes, inputs.calendar, inputs.clock),
            durable=inputs.durable,
            events=inputs.events,
            gate=TradingGate(known=False),
        )
        self._problems = ProblemBook(tuple(problem_sources(self._watched())), inputs.clock, inputs.events)
        self._problems.add(lambda: values_locked(inputs.seal.locked))
        self._problems.add(lambda: alerts_not_taken(self._alerts.value.stuck(inputs.clock.epoch())))

    def children(self) -> Iterator[Child]:
        """Yield every child in the order of starting."""
        if self._inputs.store_child is not None:
            yield self._inputs.store_child
        yield Child(name="clock watch", build=self._build_clock_watch, policy=FOREVER)
        yield Child(name="token", build=self._build_token, policy=FOREVER, mailbox=self._token_box)
        yield Child(name="reference", build=self._build_reference, policy=FOREVER, mailbox=self._reference_box)
        yield Child(name="catalogue", build=self._build_catalogue, policy=FOREVER, mailbox=self._catalogue_box)
        for resource in RESOURCES:
            yield self._document(resource)
        yield Child(name="quotes", build=self._build_quotes, policy=FOREVER, mailbox=self._quote_box)
        yield Child(name="history", build=self._build_history, policy=FOREVER, mailbox=self._history_box)
        for code in self._inputs.brokers:
            yield self._session(code)
        yield Child(name="position watch", build=self._build_position_watch, policy=FOREVER)
        if (limit := self._inputs.settings.engine.daily_loss_limit) is not None:
            yield Child(name="loss watch", build=partial(self._build_loss_watch, limit), policy=FOREVER)
        yield Child(name="engine", build=self._build_engine, policy=FOREVER, mailbox=self._engine_box)
        yield Child(name="desk", build=self._build_desk, policy=FOREVER, mailbox=self._desk_box)
        yield Child(name="candle collector", build=self._build_collector, policy=FOREVER, mailbox=self._collector_box)
        if (alerts := self._inputs.alerts) is not None:
            yield Child(name="alerts", build=partial(self._build_alerts, alerts), policy=FOREVER)
        yield Child(name="health watch", build=lambda: HealthWatch(self._problems), policy=FOREVER)

    def tree(self) -> Tree:
        return Tree(
            supervisor=self._supervisor,
            crashes=self._crashes,
            problems=self._problems,
            alerts=self._alerts,
            receivers=() if self._inputs.alerts is None else self._inputs.alerts.receivers,
            token=self._token,
            token_actor=self._token_box.address,
            documents=self._documents,
            reference=self._reference,
            reference_actor=self._reference_box.address,
            catalogue=self._catalogue,
            catalogue_actor=self._catalogue_box.address,
            catalogue_progress=self._catalogue_progress,
            quotes=self._quotes,
            quote_book=self._quote_box.address,
            history=self._inputs.history,
            history_actor=self._history_box.address,
            last_load=self._last_load,
            room=self._room,
            archive=self._archive,
            dropped_ticks=self._dropped_ticks,
            collector=self._collector_box.address,
            collected=self._collected,
            backfill=self._backfill,
            durable=self._inputs.durable,
            brokers=self._inputs.brokers,
            sessions=self._sessions,
            engine_status=self._engine_status,
            legs=self._legs,
            troubles=self._engine_context.troubles,
            halt=self._engine_context.gate.halt,
            loss=self._loss,
            engine=self._engine_box.address,
            intent_waits=self._intent_waits,
            calendar=self._inputs.calendar,
            open_states=self._engine_context.open_states,
            parents=self._engine_context.parents,
            desk=self._desk_box.address,
            charges=self._inputs.charges,
        )

    def _dropped_ticks(self) -> int:
        return 0 if self._recorded is None else self._recorded.dropped

    def _watched(self) -> Watched:
        inputs, store = self._inputs, self._inputs.store
        return Watched(
            clock=inputs.clock,
            calendar=inputs.calendar,
            states=self._supervisor.states,
            crashes=self._crashes,
            reachable=lambda: store.reachable,
            sessions=self._sessions,
            silence=self._silence,
            documents=self._documents,
            legs=self._legs,
            troubles=self._engine_context.troubles,
            gate=self._engine_context.gate,
            doubted=lambda: doubts(self._engine_context),
            loss=self._loss,
            engine=self._engine_status,
            catalogue=self._catalogue,
            collected=self._collected,
            room=self._room,
            archive=self._archive,
            dropped_ticks=self._dropped_ticks,
            charges=inputs.charges,
        )

    def _build_clock_watch(self) -> Actor:
        handles = self._sessions
        return ClockWatch(
            self._inputs.clock,
            lambda: clock_doubt({code: handle.view.value.clock_ahead for code, handle in handles.items()}),
            events=self._inputs.events,
        )

    def _build_token(self) -> Actor:
        inputs = self._inputs
        return TokenActor(
            self._token_box,
            store=inputs.store,
            durable=inputs.durable,
            seal=inputs.seal,
            clock=inputs.clock,
            token_seconds=inputs.settings.service.token_seconds,
            published=self._token,
        )

    def _build_reference(self) -> Actor:
        inputs = self._inputs
        return ReferenceActor(
            self._reference_box,
            store=inputs.store,
            durable=inputs.durable,
            clock=inputs.clock,
            codes=tuple(dict.fromkeys((*inputs.known_codes, *inputs.brokers))),
            in_service=tuple(inputs.brokers),
            published=self._reference,
            calendar=inputs.document_calendar,
        )

    def _document(self, resource: Resource) -> Child:
        inputs = self._inputs
        codes = tuple(sorted(inputs.brokers))

        def build() -> Actor:
            return DocumentActor(
                assembler=self._assembler(resource),
                codes=codes,
                mailbox=self._document_boxes[resource],
                published=self._documents[resource],
                store=inputs.store,
                clock=inputs.clock,
                catalogue=self._catalogue if resource == "holdings" else None,
            )

        name = f"{resource} document"
        return Child(name=name, build=build, policy=DOCUMENT_POLICY, mailbox=self._document_boxes[resource])

    def _assembler(self, resource: Resource) -> Assembler:
        """Return a new assembler: its memory must not outlive a crash."""
        make: dict[Resource, Callable[[], Assembler]] = {
            "funds": FundsAssembler,
            "holdings": lambda: HoldingsAssembler(
                self._catalogue, self._quotes, StoredDayCloses(self._inputs.history, self._inputs.clock)
            ),
            "positions": lambda: PositionsAssembler(
                self._catalogue, self._quotes, partial(doubted_rows, self._engine_context)
            ),
            "orders": lambda: OrderBookAssembler(self._catalogue, self._legs),
            "trades": lambda: TradeBookAssembler(self._catalogue, self._legs),
        }
        return make[resource]()

    def _build_catalogue(self) -> Actor:
        inputs = self._inputs
        sources = {
            code: Source(
                broker=service.broker, access=service.access, logged_in=partial(logged_in, self._sessions[code].view)
            )
            for code, service in inputs.brokers.items()
        }
        return CatalogueActor(
            mailbox=self._catalogue_box,
            published=self._catalogue,
            progress=self._catalogue_progress,
            sources=sources,
            transports=inputs.transports,
            durable=inputs.durable,
            builder=inputs.catalogue_builder,
            clock=inputs.clock,
            calendar=inputs.calendar,
            folder=inputs.data_dir / CATALOGUE_FOLDER,
            events=inputs.events,
        )

    def _build_quotes(self) -> Actor:
        return QuoteBookActor(
            mailbox=self._quote_box,
            published=self._book,
            sessions=self._sessions,
            catalogue=self._catalogue,
            store=self._inputs.store,
            clock=self._inputs.clock,
            calendar=self._inputs.calendar,
            record=self._inputs.settings.history.record,
            recorder=self._recorded,
            events=self._inputs.events,
            silence=self._silence,
        )

    def _build_history(self) -> Actor:
        inputs = self._inputs
        return HistoryActor(
            mailbox=self._history_box,
            store=inputs.history,
            durable=inputs.durable,
            catalogue=self._catalogue,
            clock=inputs.clock,
            calendar=inputs.calendar,
            recorded=self._recorded,
            staging=incoming_folder(inputs.data_dir),
            last_load=self._last_load,
            room=DiskRoom(folder=inputs.data_dir, published=self._room),
            keeping=TickKeeping(
                place=inputs.tick_place,
                days=inputs.settings.history.keep_ticks_days,
                reserve=inputs.settings.history.disk_reserve_mb * MEGABYTE,
            ),
            marks=ArchiveMarks(marks_folder(inputs.data_dir)),
            archive=self._archive,
        )

    def _session(self, code: str) -> Child:
        inputs, service = self._inputs, self._inputs.brokers[code]
        context = SessionContext(
            transport=inputs.transports[code],
            store=inputs.store,
            seal=inputs.seal,
            clock=inputs.clock,
            calendar=inputs.calendar,
            budget=service.budget,
            view=self._sessions[code].view,
            counts=self._sessions[code].counts,
            catalogue=self._catalogue,
            documents={resource: box.address for resource, box in self._document_boxes.items()},
            quotes=self._quote_box.address,
            room=self._sessions[code].room,
            events=inputs.events,
            seed=inputs.seed,
        )
        box = self._session_boxes[code]

        def build() -> Actor:
            return SessionActor(broker=service.broker, access=service.access, mailbox=box, context=context)

        return Child(name=f"{code} session", build=build, policy=FOREVER, mailbox=box)

    def _intent_waits(self, intent_id: str) -> bool:
        def is_it(message: EngineMessage) -> bool:
            if isinstance(message, EndExits | CheckCancel):
                return False
            return (message.intent_id if isinstance(message, Place) else message.intent.intent_id) == intent_id

        return intent_id in self._engine_context.in_hand or self._engine_box.holds(is_it)

    def _build_position_watch(self) -> Actor:
        return PositionWatch(books=self._engine_context, store=self._inputs.store)

    def _build_loss_watch(self, limit: Decimal) -> Actor:
        return LossWatch(
            limit=limit,
            positions=self._engine_context.day_results.of,
            funds=self._documents["funds"],
            published=self._loss,
            store=self._inputs.store,
            clock=self._inputs.clock,
            calendar=self._inputs.calendar,
            events=self._inputs.events,
        )

    def _build_alerts(self, alerts: AlertInputs) -> Actor:
        inputs = self._inputs
        context = ReporterContext(
            clock=inputs.clock,
            calendar=inputs.calendar,
            names=self._identity,
            logins_needed=lambda: tuple(
                (code, handle.broker.login_kind is LoginKind.ASSISTED)
                for code, handle in self._sessions.items()
                if handle.view.value.login is LoginState.NEEDED
            ),
        )
        return AlertsActor(
            alerts, context=context, durable=inputs.durable, events=inputs.events, published=self._alerts
        )

    def _identity(self, instrument_id: str) -> Identity | None:
        """Return what the catalogue knows of an id, without remembering it."""
        latest = self._catalogue.value.latest
        found = None if latest is None else latest.instrument_once(instrument_id)
        return None if found is None else found.identity

    def _build_engine(self) -> Actor:
        return EngineActor(
            mailbox=self._engine_box, context=self._engine_context, status=self._engine_status, crashes=self._crashes
        )

    def _build_desk(self) -> Actor:
        return DeskActor(
            mailbox=self._desk_box,
            context=self._engine_context,
            engine=self._engine_box.address,
            status=self._engine_status,
        )

    def _build_collector(self) -> Actor:
        inputs = self._inputs
        context = CandleRunContext(
            sessions=self._sessions,
            history=self._history_box.address,
            store=inputs.history,
            clock=inputs.clock,
            calendar=inputs.calendar,
            staging=incoming_folder(inputs.data_dir),
            room=self._room,
        )
        choosing = Choosing(catalogue=self._catalogue, sessions=self._sessions, book=self._book, store=inputs.history)
        backfiller = Backfiller(
            context=context,
            choosing=choosing,
            catalogue=self._catalogue,
            durable=inputs.durable,
            calendar=inputs.calendar,
            reports=refused_folder(inputs.data_dir),
            progress=self._backfill,
        )
        loader = DailyLoader(
            context=context,
            choosing=choosing,
            catalogue=self._catalogue,
            durable=inputs.durable,
            calendar=inputs.calendar,
            view=self._collected,
        )
        return CandleCollector(mailbox=self._collector_box, backfiller=backfiller, loader=loader)


@asynccontextmanager
async def open_tree(inputs: TreeInputs) -> AsyncIterator[Tree]:
    """Start every actor in order; leaving the block stops them in reverse order, the store last."""
    crashes = CrashLog(inputs.clock)
    async with open_supervisor(crashes, seed=inputs.seed) as supervisor:
        planting = _Planting(inputs, crashes, supervisor)
        for child in planting.children():
            await supervisor.start(child)
        yield planting.tree()
