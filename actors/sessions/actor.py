"""The session actor: the only one that talks to its broker. Holds the login, the folded orders and the order budget.

Its child tasks do the waiting (pollers, sockets, order messages) and report back in synchronous steps; what others need is
published as a `SessionView`, told to the document actors as slices, and to the quote book as ticks.
"""

import operator
import random
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, assert_never

import attrs
import trio

from onebroker.actors.catalogue.interface import CatalogueState
from onebroker.actors.kernel.mailbox import Address, Mailbox
from onebroker.actors.kernel.published import Published
from onebroker.actors.portfolio.messages import DocumentMessage, Rows, Slice
from onebroker.actors.portfolio.stored_rows import changes, stored_slice
from onebroker.actors.sessions.counts import decode_counts, encode_counts
from onebroker.actors.sessions.feeds import Feed, FeedEvents, corrupt
from onebroker.actors.sessions.fold import OrderFold
from onebroker.actors.sessions.listings import LiveListings
from onebroker.actors.sessions.login import CALL_SECONDS, LoginKeeper
from onebroker.actors.sessions.messages import (
    AskRoom,
    ExchangeRedirect,
    FetchQuotes,
    LoginNeeded,
    LoginStored,
    ReadSoon,
    ReturnRoom,
    SendOrder,
    SessionMessage,
    TickReceived,
    Watch,
)
from onebroker.actors.sessions.orders import OrderDesk
from onebroker.actors.sessions.reads import READ_SECONDS, Poller, ReadDone, codec_calls
from onebroker.actors.sessions.view import FeedView, LoginState, SessionView
from onebroker.actors.sessions.watch import WatchList
from onebroker.actors.store import keys
from onebroker.actors.store.interface import Set, Store, StoreError
from onebroker.actors.store.keys import RESOURCES, Resource
from onebroker.brokers.broker import Access, Broker, FeedCodec
from onebroker.brokers.events import BrokerEvent, OrderUpdate, Ticks, TradeUpdate
from onebroker.brokers.records import HoldingRow, OrderRow, PositionRow, Tick
from onebroker.brokers.requests import BrokerError, BrokerRefusal, CallKind, RefusalKind
from onebroker.brokers.transport.budget import Budget, BudgetFull, BudgetGate, Moment, Priority
from onebroker.brokers.transport.interface import Transport
from onebroker.config.calendars import Calendar
from onebroker.config.clock import Clock
from onebroker.config.instruments import calendar_of

LIFE_SECONDS = 1.0
"""How often a living order stream renews the books' `received_at`."""
COUNTS_SECONDS = 60.0
"""How often the call counts are written (architecture 5)."""


RowKind = TypeVar("RowKind", OrderRow, PositionRow, HoldingRow)
_MOVED_BY_ORDERS: tuple[Resource, ...] = ("orders", "trades", "positions", "funds")


MOST_WAITING = 1000
"""Messages that may wait for room at one broker: a list of 500 orders, its cancels, and the reads."""


@attrs.frozen(kw_only=True)
class SessionDoors:
    """What a session is given besides its broker."""

    transport: Transport
    store: Store
    clock: Clock
    calendar: Calendar
    budget: Callable[[], Budget]
    """Makes the broker's empty budget; a restarted session loads the stored counts into a fresh one."""
    view: Published[SessionView]
    catalogue: Published[CatalogueState]
    documents: Mapping[Resource, Address[DocumentMessage]]
    quotes: Address[TickReceived]
    seed: int | None = None
    """Fixes the spread of reconnect delays (tests)."""


class SessionActor:
    """One broker's session. Asked with the messages of `messages.py`."""

    def __init__(
        self, *, broker: Broker, access: Access, mailbox: Mailbox[SessionMessage], doors: SessionDoors
    ) -> None:
        self._broker = broker
        self._mailbox = mailbox
        self._doors = doors
        self._clock = doors.clock
        self._gate = BudgetGate(doors.budget(), doors.clock, most_waiting=MOST_WAITING)
        self._spread = random.Random(doors.seed)
        self._markets = frozenset(
            (segment.partition("_")[0], calendar_of(segment)) for segment in broker.capabilities.segments
        )
        self._login = LoginKeeper(
            broker=broker,
            access=access,
            transport=doors.transport,
            store=doors.store,
            clock=doors.clock,
            on_change=self._login_changed,
        )
        self._listings = LiveListings(doors.catalogue, broker.code)
        self._watch = WatchList(broker.feed.sockets, broker.feed.per_socket)
        self._fold = OrderFold()
        self._slices: dict[Resource, Slice] = {}
        self._stored: dict[Resource, Slice] = {}
        self._read_began: dict[Resource, float] = {}
        self._ids_at_begin: frozenset[str] = frozenset()
        self._books_unbroken = False
        """Whether the order stream has been alive without a gap since the last book read."""
        self._life_shown = 0.0
        self._order_desk = OrderDesk(
            transport=doors.transport, gate=self._gate, clock=doors.clock, parse=broker.orders.parse_order_answer
        )
        calls = codec_calls(broker)
        self._pollers = {
            resource: Poller(
                resource=resource,
                calls=calls[resource],
                cadence=broker.cadence,
                login=self._login,
                transport=doors.transport,
                gate=self._gate,
                clock=doors.clock,
                listings=self._listings,
                market_open=self.market_open,
                begins=self._read_begins,
                done=self._read_done,
            )
            for resource in RESOURCES
        }

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        await self._restore()
        self._publish(login=LoginState.STARTING)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._login.run)
            for poller in self._pollers.values():
                nursery.start_soon(poller.run)
            for feed in self._feeds():
                nursery.start_soon(feed.run)
            nursery.start_soon(self._write_counts)
            if self._broker.profile_seconds is not None:
                nursery.start_soon(self._refresh_profile, self._broker.profile_seconds)
            task_status.started()
            async for message in self._mailbox:
                self._handle(message, nursery)

    # --- messages -------------------------------------------------------------------------------------------------

    def _handle(self, message: SessionMessage, nursery: trio.Nursery) -> None:
        """Act on one message without awaiting; what takes time becomes a child task that answers the reply itself."""
        match message:
            case AskRoom():
                if self._login.live is None:
                    message.reply.refuse(LoginNeeded(self._broker.code))
                else:
                    nursery.start_soon(self._order_desk.take_room, message)
            case ReturnRoom():
                self._order_desk.return_room(message.permit)
            case SendOrder():
                nursery.start_soon(self._send_order, message)
            case ReadSoon():
                self._pollers[message.resource].soon()
            case ExchangeRedirect():
                nursery.start_soon(self._exchange, message)
            case LoginStored():
                self._login.look()
            case FetchQuotes():
                nursery.start_soon(self._fetch_quotes, message)
            case Watch():
                self._watch.want(message.listings)
            case _:
                assert_never(message)

    async def _send_order(self, message: SendOrder) -> None:
        access = self._login.live
        sent = await self._order_desk.send(message)
        if sent.answer.session_dead and access is not None:
            self._login.dead(access)
        message.reply.answer(sent)
        self._after_order_message()
        self._publish()

    def _after_order_message(self) -> None:
        """Our own message or an event of the stream: read at once what it can have changed (architecture 13)."""
        for resource in _MOVED_BY_ORDERS:
            self._pollers[resource].soon()

    async def _exchange(self, message: ExchangeRedirect) -> None:
        try:
            message.reply.answer(await self._login.exchange(message.redirect))
        except (BrokerError, ValueError) as error:
            message.reply.refuse(error)

    async def _fetch_quotes(self, message: FetchQuotes) -> None:
        try:
            message.reply.answer(await self._quotes(message))
        except (BrokerError, LoginNeeded) as error:
            message.reply.refuse(error)

    async def _quotes(self, message: FetchQuotes) -> dict[str, Tick]:
        access = self._login.live
        if access is None:
            raise LoginNeeded(self._broker.code)
        try:
            return await self._quotes_once(access, message)
        except BrokerRefusal as refusal:
            if refusal.kind is not RefusalKind.SESSION_DEAD:
                raise
            self._login.dead(access)
        with trio.move_on_after(CALL_SECONDS):
            return await self._quotes_once(await self._login.wait_other(access), message)
        raise LoginNeeded(self._broker.code)

    async def _quotes_once(self, access: Access, message: FetchQuotes) -> dict[str, Tick]:
        codec = self._broker.quotes
        if codec is None:
            raise BrokerError(f"{self._broker.code} has no quotes")
        deadline = self._clock.monotonic() + CALL_SECONDS
        try:
            await self._gate.acquire(CallKind.QUOTE, Priority.READ, deadline)
        except BudgetFull as full:
            raise BrokerError("the call budget is full") from full
        request = codec.quote_request(access, message.listings)
        return codec.parse_quotes(await self._doors.transport.send(request, READ_SECONDS), message.listings)

    # --- what the child tasks report (synchronous steps) -----------------------------------------------------------

    def _login_changed(self, state: LoginState, access: Access | None, trouble: str | None) -> None:
        self._publish(login=state, access=access, trouble=trouble)

    def market_open(self) -> bool:
        """Whether a session of any of the broker's markets is open now."""
        return self._doors.calendar.any_open(self._markets, self._clock.now())

    def _read_begins(self, resource: Resource) -> None:
        if resource == "orders":
            self._ids_at_begin = frozenset(self._fold.rows)

    def _read_done(self, read: ReadDone) -> None:
        if read.rows is None:
            self._read_failed(read)
            return
        rows = read.rows
        if read.resource == "orders":
            rows = self._fold_orders(read, rows)
        self._read_began[read.resource] = read.began_monotonic
        self._keep(read.resource, rows, read.finished_epoch)
        errors = {name: text for name, text in self._view.read_errors.items() if name != read.resource}
        self._publish(read_errors=errors)

    def _read_failed(self, read: ReadDone) -> None:
        self._publish(read_errors={**self._view.read_errors, read.resource: read.error or ""})
        if read.unreadable:
            self._keep(read.resource, None, read.finished_epoch, read.error)

    def _fold_orders(self, read: ReadDone, rows: Rows) -> Rows:
        assert isinstance(rows, tuple)
        orders = [row for row in rows if isinstance(row, OrderRow)]
        self._fold = self._fold.read(orders, seen_before_read=self._ids_at_begin)
        self._books_unbroken = self._view.order_feed.connected or (
            self._broker.feed_carries_orders and self._view.market_feed.connected
        )
        return self._order_rows()

    def _order_rows(self) -> Rows:
        """Return the folded orders; the same tuple as before when no row changed."""
        rows = tuple(self._fold.rows.values())
        held = self._slices.get("orders")
        before = held.rows if held is not None else None
        same = isinstance(before, tuple) and len(before) == len(rows) and all(map(operator.is_, before, rows))
        return before if same and before is not None else rows

    def _keep(self, resource: Resource, rows: Rows | None, received_at: float, error: str | None = None) -> None:
        """Tell the document what is now known, and write what changed."""
        now = Slice(broker=self._broker.code, resource=resource, rows=rows, received_at=received_at, error=error)
        self._slices[resource] = now
        self._doors.store.post(*changes(self._stored.get(resource), now))
        self._stored[resource] = now
        self._doors.documents[resource].replace((now.broker, resource), now)

    def frame_heard(self, kind: str, corrupt_frames: int) -> None:
        """Note a sign of life of a socket; shown with the next publication, and at once when a frame was corrupt."""
        before: FeedView = getattr(self._view, kind)
        now = self._clock.epoch()
        if corrupt_frames or before.last_frame_at is None or now - before.last_frame_at >= LIFE_SECONDS:
            after = attrs.evolve(before, last_frame_at=now, corrupt_frames=before.corrupt_frames + corrupt_frames)
            self._publish(**{kind: after})

    def heard_orders(self, events: list[BrokerEvent]) -> None:
        """Fold what an order stream said; any frame of it shows that the books are as we know them."""
        changed = False
        for event in events:
            if isinstance(event, OrderUpdate):
                self._fold = self._fold.event(event.order)
                changed = True
            if isinstance(event, OrderUpdate | TradeUpdate):
                self._after_order_message()
        if changed:
            self._keep("orders", self._order_rows(), self._clock.epoch())
            self._publish()
        else:
            self._show_life()

    def _show_life(self) -> None:
        now = self._clock.monotonic()
        if not self._books_unbroken or now - self._life_shown < LIFE_SECONDS:
            return
        self._life_shown = now
        books: tuple[Resource, ...] = ("orders", "trades")
        for resource in books:
            held = self._slices.get(resource)
            if held is not None and held.error is None and resource not in self._view.read_errors:
                self._keep(resource, held.rows, self._clock.epoch())

    def heard_ticks(self, events: list[BrokerEvent]) -> None:
        received_at = self._clock.epoch()
        code = self._broker.code
        for event in events:
            if isinstance(event, Ticks):
                for tick in event.ticks:
                    self._doors.quotes.replace(
                        (code, tick.broker_token), TickReceived(broker=code, tick=tick, received_at=received_at)
                    )

    def feed_changed(self, kind: str, change: Callable[[FeedView], FeedView]) -> None:
        """Show a socket's change; a broken order stream means that the books must be read again."""
        before: FeedView = getattr(self._view, kind)
        after = change(before)
        carries_orders = kind == "order_feed" or self._broker.feed_carries_orders
        if carries_orders and before.connected != after.connected:
            self._books_unbroken = False
            self._after_order_message()
        self._publish(**{kind: after})

    # --- start, state, small tasks ---------------------------------------------------------------------------------

    @property
    def _view(self) -> SessionView:
        return self._doors.view.value

    def _publish(self, **changed: Any) -> None:
        self._doors.view.set(
            attrs.evolve(
                self._view,
                orders=self._fold.rows,
                contradictions=self._fold.contradictions,
                orders_read_started=self._read_began.get("orders"),
                positions=self._rows_of("positions", PositionRow),
                holdings=self._rows_of("holdings", HoldingRow),
                positions_read_started=self._read_began.get("positions"),
                room=self._gate.budget.published(Moment.of(self._clock)),
                **changed,
            )
        )

    def _rows_of(self, resource: Resource, kind: type[RowKind]) -> tuple[RowKind, ...]:
        held = self._slices.get(resource)
        rows = held.rows if held is not None else None
        return tuple(row for row in rows if isinstance(row, kind)) if isinstance(rows, tuple) else ()

    async def _restore(self) -> None:
        """Begin from the stored rows, so that what was finished before a restart stays finished."""
        self._doors.view.set(SessionView(broker=self._broker.code))
        store, code = self._doors.store, self._broker.code
        try:
            counts = decode_counts(await store.get(keys.rate(code)))
            fields = {resource: await store.hash_all(keys.broker_rows(code, resource)) for resource in RESOURCES}
        except StoreError:
            return
        if counts is not None:
            self._gate.budget.load(counts, Moment.of(self._clock))
        for resource in RESOURCES:
            stored = stored_slice(code, resource, fields[resource])
            if stored is not None:
                self._slices[resource] = self._stored[resource] = stored
        orders = self._slices.get("orders")
        if orders is not None and isinstance(orders.rows, tuple):
            self._fold = OrderFold({row.order_id: row for row in self._rows_of("orders", OrderRow)})

    def _feeds(self) -> list[Feed]:
        broker = self._broker
        feeds = [
            self._feed(
                broker.feed,
                number,
                always=number == 0 and broker.feed_carries_orders,
                watch=self._watch,
                events=_FeedEvents(self, "market_feed", carries_orders=number == 0 and broker.feed_carries_orders),
            )
            for number in range(broker.feed.sockets)
        ]
        if broker.order_feed is not None:
            events = _FeedEvents(self, "order_feed", carries_orders=True)
            feeds.append(self._feed(broker.order_feed, 0, always=True, watch=WatchList(1, 0), events=events))
        return feeds

    def _feed(self, codec: FeedCodec, number: int, *, always: bool, watch: WatchList, events: FeedEvents) -> Feed:
        return Feed(
            codec=codec,
            number=number,
            always=always,
            watch=watch,
            listings=self._listings,
            login=self._login,
            transport=self._doors.transport,
            clock=self._clock,
            events=events,
            spread=self._spread,
        )

    async def _refresh_profile(self, every_seconds: float) -> None:
        while True:
            await trio.sleep(every_seconds)
            access = await self._login.wait_live()
            await self._login.refresh_profile(access)

    async def _write_counts(self) -> None:
        while True:
            await trio.sleep(COUNTS_SECONDS)
            self._doors.store.post(
                Set(keys.rate(self._broker.code), encode_counts(self._gate.budget.dump(Moment.of(self._clock))))
            )


class _FeedEvents:
    """Carries one socket's reports into its session actor."""

    def __init__(self, session: SessionActor, kind: str, *, carries_orders: bool) -> None:
        self._session = session
        self._kind = kind
        self._carries_orders = carries_orders

    def connected(self) -> None:
        self._session.feed_changed(
            self._kind, lambda view: attrs.evolve(view, connected=True, reconnects=view.reconnects + 1, trouble=None)
        )

    def disconnected(self, trouble: str) -> None:
        self._session.feed_changed(
            self._kind, lambda view: attrs.evolve(view, connected=False, subscribed=0, trouble=trouble)
        )

    def subscribed(self, count: int) -> None:
        self._session.feed_changed(self._kind, lambda view: attrs.evolve(view, subscribed=count))

    def heard(self, events: list[BrokerEvent]) -> None:
        self._session.frame_heard(self._kind, corrupt(events))
        if self._kind == "market_feed":
            self._session.heard_ticks(events)
        if self._carries_orders:
            self._session.heard_orders(events)

    def silence_matters(self) -> bool:
        return self._session.market_open()
