"""The session actor: the only one that talks to its broker. Holds the login, the folded orders and the order budget.

Its child tasks do the waiting (pollers, sockets, order messages) and report back in synchronous steps; what others need is
published as a `SessionView`, told to the document actors as slices, and to the quote book as ticks.
"""

import math
import operator
import random
from collections.abc import Callable, Mapping
from typing import Any, assert_never

import attrs
import trio

from onebroker.actors.catalogue.interface import CatalogueState
from onebroker.actors.kernel.mailbox import Address, Mailbox
from onebroker.actors.kernel.published import Published
from onebroker.actors.portfolio.messages import DocumentMessage, Rows, Slice
from onebroker.actors.portfolio.stored_rows import changes, stored_slice
from onebroker.actors.sessions.check import LIQUID, Doors, Step, check_reads, check_stream
from onebroker.actors.sessions.counts import decode_counts, encode_counts
from onebroker.actors.sessions.feeds import Feed, FeedEvents, corrupt
from onebroker.actors.sessions.flows import Caller
from onebroker.actors.sessions.fold import OrderFold, more_filled
from onebroker.actors.sessions.listings import LiveListings
from onebroker.actors.sessions.login import CALL_SECONDS, LoginKeeper
from onebroker.actors.sessions.messages import (
    AskRoom,
    Check,
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
from onebroker.actors.sessions.view import FeedView, LoginState, SessionView, joined
from onebroker.actors.sessions.watch import WatchList
from onebroker.actors.store import keys
from onebroker.actors.store.interface import Set, Store, StoreError
from onebroker.actors.store.keys import RESOURCES, Resource
from onebroker.brokers.broker import Access, Broker, FeedCodec
from onebroker.brokers.events import BooksMoved, BrokerEvent, OrderUpdate, Ticks, TradeUpdate
from onebroker.brokers.records import HoldingRow, Listing, OrderRow, PositionRow, Tick
from onebroker.brokers.requests import (
    BrokerError,
    BrokerRefusal,
    NotSent,
    OutcomeUnknown,
    RefusalKind,
    WireRequest,
    WireResponse,
)
from onebroker.brokers.transport.budget import Budget, Moment
from onebroker.brokers.transport.gate import BudgetGate
from onebroker.brokers.transport.interface import Transport
from onebroker.config.calendars import Calendar
from onebroker.config.clock import Clock, latest_boundary
from onebroker.config.instruments import Exchange, calendar_of, security

LIFE_SECONDS = 1.0
"""How often a living order stream renews the books' `received_at`."""
COUNTS_SECONDS = 60.0
"""How often the call counts are written (architecture 5)."""
RESTORE_SECONDS = 1.0
"""How often a session that began while the store was away looks whether it is back."""

_MOVED_BY_ORDERS: tuple[Resource, ...] = ("orders", "funds")
_MOVED_BY_FILLS: tuple[Resource, ...] = ("orders", "trades", "positions", "funds")

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
        self._caller = Caller(doors.transport, self._gate, doors.clock)
        self._spread = random.Random(doors.seed)
        self._markets = frozenset(
            (segment.partition("_")[0], calendar_of(segment)) for segment in broker.capabilities.segments
        )
        self._login = LoginKeeper(
            broker=broker,
            access=access,
            caller=self._caller,
            store=doors.store,
            clock=doors.clock,
            on_change=self._login_changed,
            spread=self._spread,
        )
        self._listings = LiveListings(doors.catalogue, broker.code)
        self._watch = WatchList(broker.feed.sockets, broker.feed.per_socket)
        self._fold = OrderFold()
        self._slices: dict[Resource, Slice] = {}
        self._stored: dict[Resource, Slice] = {}
        self._read_began: dict[Resource, float] = {}
        self._positions: tuple[PositionRow, ...] = ()
        self._holdings: tuple[HoldingRow, ...] = ()
        self._sockets: dict[tuple[str, int], FeedView] = {}
        """(kind, number) -> what each socket of a kind last showed."""
        self._stream_since = math.inf
        """Monotonic seconds since which the order stream has been alive without a gap; infinity while it is not."""
        self._life_shown = 0.0
        self._restored = False
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
                caller=self._caller,
                clock=doors.clock,
                listings=self._listings,
                market_open=self.market_open,
                done=self._read_done,
            )
            for resource in RESOURCES
        }

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        self._doors.view.set(SessionView(broker=self._broker.code))
        await self._restore()
        self._publish(login=LoginState.STARTING)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._login.run)
            for poller in self._pollers.values():
                nursery.start_soon(poller.run)
            for feed in self._feeds():
                nursery.start_soon(feed.run)
            nursery.start_soon(self._keep_counts)
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
                if self._login.live is None:  # the request was made with a login that is dead by now
                    self._order_desk.return_room(message.permit)
                    message.reply.refuse(LoginNeeded(self._broker.code))
                else:
                    nursery.start_soon(self._send_order, message)
            case ReadSoon():
                self._pollers[message.resource].soon()
            case ExchangeRedirect():
                nursery.start_soon(self._exchange, message)
            case LoginStored():
                self._login.look()
            case FetchQuotes():
                nursery.start_soon(self._fetch_quotes, message)
            case Check():
                nursery.start_soon(self._check, message)
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
        self._read_soon(_MOVED_BY_ORDERS)
        self._publish()

    def _read_soon(self, resources: tuple[Resource, ...]) -> None:
        """Read at once, instead of at the cadence: what an order message of ours, an event of the stream, or a fill can have
        changed (architecture 13)."""
        for resource in resources:
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
        response = await self._get(codec.quote_request(access, message.listings))
        try:
            return codec.parse_quotes(response, message.listings)
        except BrokerRefusal as refusal:
            self._caller.heed(refusal)
            raise

    async def _check(self, message: Check) -> None:
        """Try out the broker with the login that lives; a market stream that is open already is shown as it is, because some
        brokers close the first socket when a second one opens."""
        access, listings = self._login.live, self._listings.current
        if access is None:
            message.reply.answer((Step(name="login", ok=False, detail=self._view.trouble or "no login", seconds=0.0),))
            return
        user = access.login.user_id if access.login is not None else ""
        doors = Doors(broker=self._broker, caller=self._caller, transport=self._doors.transport, clock=self._clock)
        steps = [Step(name="login", ok=True, detail=user, seconds=0.0), *await check_reads(doors, access, listings)]
        steps.append(Step(name="instruments", ok=bool(listings), detail=f"{len(listings)} listed", seconds=0.0))
        feed = self._view.market_feed
        if feed.connected:
            steps.append(Step(name="stream", ok=True, detail=self._stream_life(feed), seconds=0.0))
        else:
            share = self._liquid_share(listings)
            steps.append(await check_stream(doors, access, share, market_open=self.market_open()))
        message.reply.answer(tuple(steps))

    def _liquid_share(self, listings: Mapping[str, Listing]) -> dict[str, Listing]:
        """Return one of the broker's listings that trades all the time, or any; by broker_token."""
        latest = self._doors.catalogue.value.latest
        if latest is not None:
            for symbol in LIQUID:
                found = latest.find(security(Exchange.NSE, "equities", symbol))
                if found is not None and self._broker.code in found.listings:
                    listing = found.listings[self._broker.code]
                    return {listing.broker_token: listing}
        first = next(iter(listings), None)
        return {} if first is None else {first: listings[first]}

    def _stream_life(self, feed: FeedView) -> str:
        if feed.last_frame_at is None:
            return f"open, {feed.subscribed} subscribed, nothing heard yet"
        return f"open, {feed.subscribed} subscribed, heard {self._clock.epoch() - feed.last_frame_at:.1f} s ago"

    async def _get(self, request: WireRequest) -> WireResponse:
        """Ask once, and once more when the connection was lost."""
        try:
            return await self._caller.call(request, READ_SECONDS, room_seconds=CALL_SECONDS)
        except (NotSent, OutcomeUnknown):
            return await self._caller.call(request, READ_SECONDS, room_seconds=CALL_SECONDS)

    # --- what the child tasks report (synchronous steps) -----------------------------------------------------------

    def _login_changed(self, state: LoginState, access: Access | None, trouble: str | None) -> None:
        self._publish(login=state, access=access, trouble=trouble)

    def market_open(self) -> bool:
        """Whether a session of any of the broker's markets is open now."""
        return self._doors.calendar.any_open(self._markets, self._clock.now())

    def _read_done(self, read: ReadDone) -> None:
        if read.rows is None:
            self._read_failed(read)
            return
        rows = read.rows
        if read.resource == "orders":
            rows = self._fold_orders(read, rows)
        self._note_portfolio(read.resource, rows)
        self._read_began[read.resource] = read.began_monotonic
        self._keep(read.resource, rows, read.finished_epoch)
        errors = {name: text for name, text in self._view.read_errors.items() if name != read.resource}
        if len(errors) < len(self._view.read_errors):
            # The broker answers again: what else could not be read need not wait for its turn.
            self._read_soon(tuple(name for name in self._pollers if name in errors))
        self._publish(read_errors=errors)

    def _read_failed(self, read: ReadDone) -> None:
        self._publish(read_errors={**self._view.read_errors, read.resource: read.error or ""})
        if read.unreadable:
            self._keep(read.resource, None, read.finished_epoch, read.error)

    def _fold_orders(self, read: ReadDone, rows: Rows) -> Rows:
        assert isinstance(rows, tuple)
        orders = [row for row in rows if isinstance(row, OrderRow)]
        before = self._fold
        self._fold = before.read(orders, began=read.began_epoch, at=read.finished_epoch, day_start=self._day_start())
        if "orders" in self._read_began and more_filled(before, self._fold, orders):
            self._read_soon(_MOVED_BY_FILLS)
        return self._order_rows()

    def _note_portfolio(self, resource: Resource, rows: Rows | None) -> None:
        """Keep the last readable rows that brokers are chosen by: an unreadable answer is not an empty portfolio."""
        if not isinstance(rows, tuple) or rows is self._rows_of(resource):
            return
        if resource == "positions":
            self._positions = tuple(row for row in rows if isinstance(row, PositionRow))
        elif resource == "holdings":
            self._holdings = tuple(row for row in rows if isinstance(row, HoldingRow))

    def _rows_of(self, resource: Resource) -> Rows | None:
        held = self._slices.get(resource)
        return held.rows if held is not None else None

    def _day_start(self) -> float:
        return latest_boundary(self._clock.now()).timestamp()

    def _order_rows(self) -> Rows:
        """Return the folded orders; the same tuple as before when no row changed."""
        rows = tuple(self._fold.rows.values())
        before = self._rows_of("orders")
        same = isinstance(before, tuple) and len(before) == len(rows) and all(map(operator.is_, before, rows))
        return before if same and before is not None else rows

    def _keep(self, resource: Resource, rows: Rows | None, received_at: float, error: str | None = None) -> None:
        """Tell the document what is now known, and write what changed."""
        now = Slice(broker=self._broker.code, resource=resource, rows=rows, received_at=received_at, error=error)
        self._slices[resource] = now
        self._doors.store.post(*changes(self._stored.get(resource), now))
        self._stored[resource] = now
        self._doors.documents[resource].replace((now.broker, resource), now)

    def frame_heard(self, kind: str, number: int, corrupt_frames: int) -> None:
        """Note a sign of life of a socket; shown once a second, and at once when a frame was corrupt."""
        before = self._sockets.get((kind, number), FeedView())
        now = self._clock.epoch()
        if corrupt_frames or before.last_frame_at is None or now - before.last_frame_at >= LIFE_SECONDS:
            after = attrs.evolve(before, last_frame_at=now, corrupt_frames=before.corrupt_frames + corrupt_frames)
            self._show_socket(kind, number, after)

    def heard_orders(self, events: list[BrokerEvent]) -> None:
        """Fold what an order stream said; any frame of it shows that the books are as we know them."""
        changed = False
        for event in events:
            if isinstance(event, OrderUpdate):
                before = self._fold
                self._fold = before.event(event.order, at=self._clock.epoch(), day_start=self._day_start())
                changed = True
                filled = more_filled(before, self._fold, [event.order])
                self._read_soon(_MOVED_BY_FILLS if filled else _MOVED_BY_ORDERS)
            elif isinstance(event, TradeUpdate | BooksMoved):
                self._read_soon(_MOVED_BY_FILLS)
        if changed:
            self._show_orders()
        else:
            self._show_life()

    def _show_orders(self) -> None:
        """Show what the stream changed. A book that was never read, or was unreadable, does not become one by an event; and
        one read before a gap does not become newer."""
        held = self._slices.get("orders")
        if held is not None and held.error is None:
            self._keep("orders", self._order_rows(), self._clock.epoch() if self._seen("orders") else held.received_at)
        self._publish()

    def _show_life(self) -> None:
        now = self._clock.monotonic()
        if now - self._life_shown < LIFE_SECONDS:
            return
        self._life_shown = now
        books: tuple[Resource, ...] = ("orders", "trades")
        for resource in books:
            held = self._slices.get(resource)
            if held is not None and held.error is None and self._seen(resource):
                self._keep(resource, held.rows, self._clock.epoch())

    def _seen(self, resource: Resource) -> bool:
        """Tell whether the order stream has shown all since the last read of a book: that read was good, and no gap was
        since it began."""
        began = self._read_began.get(resource)
        return began is not None and began >= self._stream_since and resource not in self._view.read_errors

    def heard_ticks(self, events: list[BrokerEvent]) -> None:
        received_at = self._clock.epoch()
        code = self._broker.code
        for event in events:
            if isinstance(event, Ticks):
                for tick in event.ticks:
                    self._doors.quotes.replace(
                        (code, tick.broker_token), TickReceived(broker=code, tick=tick, received_at=received_at)
                    )

    def feed_changed(
        self, kind: str, number: int, change: Callable[[FeedView], FeedView], *, carries_orders: bool
    ) -> None:
        """Show a socket's change; a broken order stream means that the books must be read again."""
        before = self._sockets.get((kind, number), FeedView())
        after = change(before)
        if carries_orders and before.connected != after.connected:
            self._stream_since = self._clock.monotonic() if after.connected else math.inf
            self._read_soon(_MOVED_BY_FILLS)
        self._show_socket(kind, number, after)

    def _show_socket(self, kind: str, number: int, view: FeedView) -> None:
        self._sockets[kind, number] = view
        self._publish(**{kind: joined([one for (which, _), one in self._sockets.items() if which == kind])})

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
                positions=self._positions,
                holdings=self._holdings,
                positions_read_started=self._read_began.get("positions"),
                room=self._gate.budget.published(Moment.of(self._clock)),
                **changed,
            )
        )

    async def _restore(self) -> None:
        """Begin from the stored rows and counts, so that what was finished before a restart stays finished."""
        store, code = self._doors.store, self._broker.code
        try:
            counts = decode_counts(await store.get(keys.rate(code)))
            fields = {resource: await store.hash_all(keys.broker_rows(code, resource)) for resource in RESOURCES}
        except StoreError:
            return
        self._restored = True
        if counts is not None:
            self._gate.budget.load(counts, Moment.of(self._clock))
        for resource in RESOURCES:
            stored = stored_slice(code, resource, fields[resource])
            if stored is not None and resource not in self._slices:
                self._note_portfolio(resource, stored.rows)
                self._slices[resource] = self._stored[resource] = stored
                if resource == "orders" and stored.rows is not None:
                    self._begin_fold(stored.rows, stored.received_at)

    def _begin_fold(self, rows: Rows, received_at: float) -> None:
        """Put the stored orders under what the stream may have said already."""
        assert isinstance(rows, tuple)
        heard, now = self._fold.rows.values(), self._clock.epoch()
        self._fold = OrderFold.of([row for row in rows if isinstance(row, OrderRow)], at=received_at)
        for row in heard:
            self._fold = self._fold.event(row, at=now, day_start=self._day_start())

    def _feeds(self) -> list[Feed]:
        broker = self._broker
        feeds = [
            self._feed(
                broker.feed,
                number,
                always=number == 0 and broker.feed_carries_orders,
                watch=self._watch,
                events=_FeedEvents(
                    self, "market_feed", number, carries_orders=number == 0 and broker.feed_carries_orders
                ),
            )
            for number in range(broker.feed.sockets)
        ]
        if broker.order_feed is not None:
            events = _FeedEvents(self, "order_feed", 0, carries_orders=True)
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
            caller=self._caller,
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

    async def _keep_counts(self) -> None:
        """Write the counts once a minute; what was counted before a restart comes first, however long the store is away."""
        while not self._restored:
            await trio.sleep(RESTORE_SECONDS)
            await self._restore()
        while True:
            await trio.sleep(COUNTS_SECONDS)
            self._doors.store.post(
                Set(keys.rate(self._broker.code), encode_counts(self._gate.budget.dump(Moment.of(self._clock))))
            )


class _FeedEvents:
    """Carries one socket's reports into its session actor."""

    def __init__(self, session: SessionActor, kind: str, number: int, *, carries_orders: bool) -> None:
        self._session = session
        self._kind = kind
        self._number = number
        self._carries_orders = carries_orders
        self._was_connected = False

    def connected(self) -> None:
        again, self._was_connected = int(self._was_connected), True
        self._change(lambda view: attrs.evolve(view, connected=True, reconnects=view.reconnects + again, trouble=None))

    def disconnected(self, trouble: str) -> None:
        self._change(lambda view: attrs.evolve(view, connected=False, subscribed=0, trouble=trouble))

    def subscribed(self, count: int) -> None:
        self._change(lambda view: attrs.evolve(view, subscribed=count))

    def heard(self, events: list[BrokerEvent]) -> None:
        self._session.frame_heard(self._kind, self._number, corrupt(events))
        if self._kind == "market_feed":
            self._session.heard_ticks(events)
        if self._carries_orders:
            self._session.heard_orders(events)

    def silence_matters(self) -> bool:
        return self._session.market_open()

    def _change(self, change: Callable[[FeedView], FeedView]) -> None:
        self._session.feed_changed(self._kind, self._number, change, carries_orders=self._carries_orders)
