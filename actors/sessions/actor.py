"""The session actor: the only actor that talks to its broker. Holds the login, the books (`session_books.py`) and the order budget.

Its child tasks (pollers, sockets, order messages) do the waiting and report back in synchronous steps. The session publishes a
`SessionView`, sends slices to the document actors, and sends ticks to the quote book.
"""

import logging
import random
from collections.abc import Callable, Mapping
from typing import Any, assert_never

import attrs
import trio

from onebroker.actors.catalogue.interface import CatalogueState
from onebroker.actors.kernel.events import Events
from onebroker.actors.kernel.mailbox import Address, Mailbox
from onebroker.actors.kernel.published import Published
from onebroker.actors.sessions.budget_counts import decode_counts, encode_counts
from onebroker.actors.sessions.candle_reader import CandleReader
from onebroker.actors.sessions.check import CheckContext, check_session
from onebroker.actors.sessions.clock_offset import DatedTransport
from onebroker.actors.sessions.counted_calls import Caller
from onebroker.actors.sessions.live_listings import LiveListings
from onebroker.actors.sessions.login_keeper import WHY_REFUSED, LoginKeeper
from onebroker.actors.sessions.margin_reader import MarginReader
from onebroker.actors.sessions.messages import (
    AskByToken,
    AskMargin,
    AskRoom,
    Check,
    ExchangeRedirect,
    FetchQuotes,
    LoginNeeded,
    LoginStored,
    Permit,
    ReadCandles,
    ReadSoon,
    RenewStream,
    ReturnRoom,
    SendOrder,
    SessionMessage,
    TickReceived,
    Watch,
)
from onebroker.actors.sessions.order_room import OrderRoom
from onebroker.actors.sessions.order_sender import OrderDesk
from onebroker.actors.sessions.pollers import Poller, ReadDone, codec_calls
from onebroker.actors.sessions.quote_reader import QuoteReader
from onebroker.actors.sessions.session_books import MOVED_BY_ORDERS, Books
from onebroker.actors.sessions.session_counts import SessionCounts
from onebroker.actors.sessions.session_view import FeedView, LoginState, SessionView
from onebroker.actors.sessions.slices import DocumentMessage
from onebroker.actors.sessions.sockets import FeedContext, Kind, Reports, Sockets
from onebroker.actors.sessions.token_lookup import TokenReader
from onebroker.actors.sessions.warm_connection import WarmConnection
from onebroker.actors.sessions.watch_list import WatchList
from onebroker.actors.store import keys
from onebroker.actors.store.interface import Set, Store, StoreError
from onebroker.actors.store.keys import RESOURCES, Resource
from onebroker.actors.store.sealing import Seal
from onebroker.brokers.broker import Access, Broker, OrderAnswer
from onebroker.brokers.codec.contained import contained
from onebroker.brokers.events import BrokerEvent, Ticks
from onebroker.brokers.requests import BrokerError, RefusalKind
from onebroker.brokers.transport.budget import Budget, Moment
from onebroker.brokers.transport.budget_gate import BudgetGate
from onebroker.brokers.transport.interface import Transport
from onebroker.brokers.transport.priorities import Priority
from onebroker.config.calendars import Calendar
from onebroker.config.clock import Clock
from onebroker.config.instruments import calendar_of
from onebroker.config.vocabulary import Outcome

_log = logging.getLogger("onebroker.sessions")

COUNTS_SECONDS = 60.0
"""The call counts are written at this interval (architecture 5)."""
CLOCK_CHANGE_SECONDS = 1.0
"""Smaller changes of a broker's clock come only from the travel times of its answers."""
RESTORE_SECONDS = 1.0
"""If the store was away at the start, the session tries it again at this interval."""
MOST_WAITING = 1000
"""Messages that may wait for room at one broker: a list of 500 orders, its cancels, and the reads."""


@attrs.frozen(kw_only=True)
class SessionContext:
    """The dependencies of a session, except its broker."""

    transport: Transport
    store: Store
    seal: Seal = attrs.field(factory=Seal)
    """Encrypts the stored login; without keys it is stored plain."""
    clock: Clock
    calendar: Calendar
    budget: Callable[[], Budget]
    """Makes an empty budget of the broker. A restarted session loads the stored counts into it."""
    view: Published[SessionView]
    catalogue: Published[CatalogueState]
    documents: Mapping[Resource, Address[DocumentMessage]]
    quotes: Address[TickReceived]
    room: OrderRoom
    """Where the engine takes room for order messages."""
    events: Events = attrs.field(factory=Events)
    counts: SessionCounts = attrs.field(factory=SessionCounts)
    """What the session counts; it outlives restarts of the session."""
    seed: int | None = None
    """Fixes the spread of reconnect delays (tests)."""


class SessionActor:
    """One broker's session. Accepts the messages of `messages.py`."""

    def __init__(
        self, *, broker: Broker, access: Access, mailbox: Mailbox[SessionMessage], context: SessionContext
    ) -> None:
        self._broker = broker
        self._configured = access
        self._mailbox = mailbox
        self._context = context
        self._clock = context.clock
        self._gate = BudgetGate(context.budget(), context.clock, most_waiting=MOST_WAITING)
        transport = DatedTransport(context.transport, context.clock, self._heard_clock)
        self._caller = Caller(transport, self._gate, context.clock)
        self._markets = frozenset(
            (segment.partition("_")[0], calendar_of(segment)) for segment in broker.capabilities.segments
        )
        self._restored = False
        self._login_trouble: str | None = None
        self._address_trouble: str | None = None
        """Why the broker refuses orders from this machine's address; None once it accepts one again."""
        spread = random.Random(context.seed)
        self._login = LoginKeeper(
            broker=broker,
            access=access,
            caller=self._caller,
            store=context.store,
            seal=context.seal,
            clock=context.clock,
            on_change=self._login_changed,
            events=context.events,
            counts=context.counts,
            spread=spread,
        )
        self._listings = LiveListings(context.catalogue, broker.code)
        self._books = Books(
            broker.code,
            store=context.store,
            documents=context.documents,
            clock=context.clock,
            read_soon=self._read_soon,
            events=context.events,
        )
        self._order_desk = OrderDesk(
            broker.code,
            transport=transport,
            gate=self._gate,
            clock=context.clock,
            codec=broker.orders,
            events=context.events,
        )
        self._warm_connection = WarmConnection(context.transport, wanted=self._takes_orders, order_url=self._order_url)
        self._quotes = QuoteReader(broker, self._login, self._caller, context.clock, context.events, context.counts)
        self._candles = CandleReader(broker, self._login, self._caller)
        self._by_token = TokenReader(broker, self._login, self._caller, context.clock)
        self._margins = MarginReader(broker, self._login, self._caller, context.clock, changed=self._publish)
        self._watch = WatchList(broker.feed.sockets, broker.feed.per_socket)
        self._sockets = self._make_sockets(spread)
        self._pollers = self._make_pollers()

    def _make_sockets(self, spread: random.Random) -> Sockets:
        context = FeedContext(
            login=self._login,
            caller=self._caller,
            transport=self._context.transport,
            clock=self._clock,
            listings=self._listings,
            spread=spread,
            events=self._context.events,
        )
        reports = Reports(
            shown=self._socket_shown,
            ticks=self._heard_ticks,
            orders=self._heard_orders,
            order_stream=lambda connected: self._books.stream_changed(connected=connected),
            market_open=self._market_open,
        )
        return Sockets(self._broker, self._watch, context, reports)

    def _make_pollers(self) -> dict[Resource, Poller]:
        calls = codec_calls(self._broker)
        return {
            resource: Poller(
                code=self._broker.code,
                resource=resource,
                calls=calls[resource],
                cadence=self._broker.cadence,
                login=self._login,
                caller=self._caller,
                clock=self._clock,
                listings=self._listings,
                market_open=self._market_open,
                done=self._read_done,
                events=self._context.events,
                counts=self._context.counts,
            )
            for resource in RESOURCES
        }

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        self._context.view.set(SessionView(broker=self._broker.code, login_since=self._clock.epoch()))
        await self._restore()
        self._publish(login=LoginState.STARTING)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._login.run)
            for poller in self._pollers.values():
                nursery.start_soon(poller.run)
            for feed in self._sockets.feeds:
                nursery.start_soon(feed.run)
            nursery.start_soon(self._keep_counts)
            nursery.start_soon(self._warm_connection.run)
            if self._broker.profile_seconds is not None:
                nursery.start_soon(self._refresh_profile, self._broker.profile_seconds)
            self._context.room.open(self._take_free_room)
            task_status.started()
            try:
                async for message in self._mailbox:
                    self._handle(message, nursery)
            finally:
                self._context.room.close()

    # --- messages -------------------------------------------------------------------------------------------------

    def _handle(self, message: SessionMessage, nursery: trio.Nursery) -> None:
        """Act on one message without awaiting. Work that takes time becomes a child task, which answers the reply itself."""
        match message:
            case AskRoom():
                if self._login.live is None:
                    message.reply.refuse(LoginNeeded(self._broker.code))
                else:
                    nursery.start_soon(self._order_desk.take_room, message)
            case ReturnRoom():
                self._order_desk.return_room(message.permit)
            case SendOrder():
                if self._login.live is None:  # the login of the request is dead by now
                    self._order_desk.return_room(message.permit)
                    message.reply.refuse(LoginNeeded(self._broker.code))
                else:
                    nursery.start_soon(self._send_order, message)
            case ReadSoon():
                self._pollers[message.resource].soon(waited_for=True)
            case ExchangeRedirect():
                nursery.start_soon(self._exchange, message)
            case LoginStored():
                self._login.look()
            case FetchQuotes() | ReadCandles() | AskByToken() | AskMargin():
                nursery.start_soon(self._ask_broker, message)
            case Check():
                nursery.start_soon(self._check, message)
            case Watch() | RenewStream():
                self._steer_stream(message)
            case _:
                assert_never(message)

    def _steer_stream(self, message: Watch | RenewStream) -> None:
        if isinstance(message, Watch):
            self._watch.want(message.listings)
        else:
            self._sockets.renew()

    def _take_free_room(self, priority: Priority) -> Permit | None:
        return None if self._login.live is None else self._order_desk.take_free_room(priority)

    async def _send_order(self, message: SendOrder) -> None:
        access = self._login.live
        sent = await self._order_desk.send(message, self._context.view.value.orders)
        if sent.answer.session_dead and access is not None:
            self._login.dead(access)
        if message.when_accepted is not None and sent.answer.outcome is Outcome.ACCEPTED:
            self._books.acknowledged(message.when_accepted, sent.answer)
        message.reply.answer(sent)
        self._read_soon(MOVED_BY_ORDERS)
        self._note_address(sent.answer)
        self._publish()

    def _note_address(self, answer: OrderAnswer) -> None:
        """Report once, in the login's trouble, that the broker refuses orders from this machine's address. The next accepted order clears
        the report."""
        if answer.address_refused and self._address_trouble is None:
            self._address_trouble = (
                f"orders are refused: {WHY_REFUSED[RefusalKind.ADDRESS_NOT_REGISTERED]} ({answer.status_message})"
            )
            _log.error("%s: %s", self._broker.code, self._address_trouble)
        elif answer.outcome is Outcome.ACCEPTED and self._address_trouble is not None:
            self._address_trouble = None
        else:
            return
        trouble = self._address_trouble
        self._publish(trouble=trouble or self._login_trouble, address_refused=trouble is not None)

    def _read_soon(self, resources: tuple[Resource, ...]) -> None:
        """Read these resources at once instead of at the cadence. An order message of ours, a stream event, or a fill may have changed
        them (architecture 13)."""
        for resource in resources:
            self._pollers[resource].soon()

    async def _exchange(self, message: ExchangeRedirect) -> None:
        try:
            message.reply.answer(await self._login.exchange(message.redirect, other_account=message.other_account))
        except (BrokerError, ValueError) as error:
            message.reply.refuse(error)

    async def _ask_broker(self, message: FetchQuotes | ReadCandles | AskByToken | AskMargin) -> None:
        try:
            with contained(LoginNeeded):
                await self._answer(message)
        except (BrokerError, LoginNeeded) as error:
            message.reply.refuse(error)

    async def _answer(self, message: FetchQuotes | ReadCandles | AskByToken | AskMargin) -> None:
        if isinstance(message, FetchQuotes):
            message.reply.answer(await self._quotes.fetch(message.listings))
        elif isinstance(message, AskByToken):
            message.reply.answer(await self._by_token.find(message.question, message.priority))
        elif isinstance(message, AskMargin):
            await self._margins.ask(message.ticket, message.price)
            message.reply.answer(None)
        else:
            read = await self._candles.read(message.listing, message.interval, message.first, message.last)
            message.reply.answer(read)

    async def _check(self, message: Check) -> None:
        context = CheckContext(
            broker=self._broker, caller=self._caller, transport=self._context.transport, clock=self._clock
        )
        catalogue, view = self._context.catalogue.value, self._context.view
        message.reply.answer(
            await check_session(context, view, catalogue, configured=self._configured, market_open=self._market_open)
        )

    # --- what the child tasks report (synchronous steps) -----------------------------------------------------------

    def _login_changed(self, state: LoginState, access: Access | None, trouble: str | None) -> None:
        self._login_trouble = trouble
        before = self._context.view.value
        same = before.live == (state is LoginState.LIVE)
        self._publish(
            login=state,
            login_since=before.login_since if same else self._clock.epoch(),
            access=access,
            trouble=trouble if access is None else self._address_trouble or trouble,
        )

    def _market_open(self) -> bool:
        """Tell whether a session of any of the broker's markets is open now."""
        return self._context.calendar.any_open(self._markets, self._clock.now())

    def _takes_orders(self) -> bool:
        return self._login.live is not None and self._market_open()

    def _order_url(self) -> str:
        """Return where the last order message went; before the first, where order messages go unless the login names another host."""
        return self._order_desk.last_url or self._configured.endpoints.order_url

    def _read_done(self, read: ReadDone) -> None:
        self._books.read_done(read)
        self._publish()

    def _heard_orders(self, events: list[BrokerEvent]) -> None:
        if self._books.heard(events):
            self._publish()

    def _heard_ticks(self, events: list[BrokerEvent]) -> None:
        received_at = self._clock.epoch()
        code = self._broker.code
        for event in events:
            if isinstance(event, Ticks):
                self._context.counts.ticks += len(event.ticks)
                for tick in event.ticks:
                    self._context.quotes.replace(
                        (code, tick.broker_token), TickReceived(broker=code, tick=tick, received_at=received_at)
                    )

    def _heard_clock(self, ahead: float) -> None:
        """Publish how far the broker's clock is ahead, by its latest answer, when that differs from the known figure."""
        known = self._context.view.value.clock_ahead
        if known is None or bool(known) != bool(ahead) or abs(known - ahead) > CLOCK_CHANGE_SECONDS:
            self._publish(clock_ahead=ahead)

    def _socket_shown(self, kind: Kind, view: FeedView) -> None:
        self._publish(**{kind: view})

    # --- start, state, small tasks ---------------------------------------------------------------------------------

    def _publish(self, **changed: Any) -> None:
        view = self._context.view
        room = self._gate.budget.published(Moment.of(self._clock))
        view.set(attrs.evolve(view.value, room=room, margins=self._margins.figures, **self._books.shown(), **changed))

    async def _restore(self) -> None:
        """Begin from the stored rows and counts, so that orders finished before a restart stay finished."""
        store, code = self._context.store, self._broker.code
        try:
            counts = decode_counts(await store.get(keys.rate(code)))
            fields = {resource: await store.hash_all(keys.broker_rows(code, resource)) for resource in RESOURCES}
            acknowledged = await store.hash_all(keys.acknowledged(code))
            corrected = await store.get(keys.corrected_fills(code))
        except StoreError:
            return
        self._restored = True
        if counts is not None:
            self._gate.budget.load(counts, Moment.of(self._clock))
        self._books.restore(fields, acknowledged, corrected)

    async def _refresh_profile(self, every_seconds: float) -> None:
        while True:
            await trio.sleep(every_seconds)
            access = await self._login.wait_live()
            await self._login.refresh_profile(access)

    async def _keep_counts(self) -> None:
        """Write the counts once a minute, but only after the counts from before the restart were loaded, however long the store is away."""
        while not self._restored:
            await trio.sleep(RESTORE_SECONDS)
            await self._restore()
        while True:
            await trio.sleep(COUNTS_SECONDS)
            self._context.store.post(
                Set(keys.rate(self._broker.code), encode_counts(self._gate.budget.dump(Moment.of(self._clock))))
            )
