"""The same services behind two listeners on loopback, one with the fast lane and one without, and a client that talks to both at once.

What a test sends to both must give the same bytes, and the same state of the connection, of the counters and of the actors behind it.
"""

import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import date, datetime
from pathlib import Path
from typing import Any, TypeAlias

import attrs
import msgspec
import trio
import trio.testing
from quart import Request
from quart.wrappers import Response

from onebroker.actors.catalogue.interface import CatalogueState, Instrument
from onebroker.actors.catalogue.messages import CatalogueMessage
from onebroker.actors.kernel.mailbox import Mailbox, open_mailbox
from onebroker.actors.kernel.published import Published
from onebroker.actors.portfolio.assembler import DocumentState, document_body, finish
from onebroker.actors.portfolio.order_book import OrderBookAssembler
from onebroker.actors.quotes.book import QuoteBook
from onebroker.actors.quotes.messages import FetchQuote, Found, QuoteMessage
from onebroker.actors.quotes.reader import Quotes
from onebroker.actors.quotes.tick_fold import Quote
from onebroker.actors.store.interface import Store
from onebroker.actors.store.keys import Resource
from onebroker.actors.token.messages import TokenMessage
from onebroker.actors.token.state import NO_TOKEN, HeldToken, connected, hold
from onebroker.brokers.records import DepthLevel, OrderRow, Tick, TradeRow
from onebroker.config.calendars import always_open
from onebroker.config.clock import IST, Clock, from_epoch, local_text
from onebroker.config.instruments import security
from onebroker.config.sections import ServiceSettings
from onebroker.http import render
from onebroker.http.app import build_app
from onebroker.http.lane.answers import LONG_BYTES
from onebroker.http.lane.fast_lane import FastLane
from onebroker.http.listener.accept_loop import serve
from onebroker.http.listener.connection_limits import Connections, Cut, Peer
from onebroker.http.listener.lane_connection import Lane
from onebroker.http.listener.refused_clients import RefusedClients, Why
from onebroker.http.route import Answer, Handler, Method, Route, TokenRule
from onebroker.http.routes import health, orders_read, portfolio, quotes, session
from onebroker.http.services import InstrumentServices, Services

NINE = datetime(2026, 11, 20, 9, 0, tzinfo=IST)
TOKEN = "token-1"
DOCUMENTS: dict[Resource, str] = {
    "funds": "/api/portfolio/funds",
    "holdings": "/api/portfolio/holdings",
    "positions": "/api/portfolio/positions",
    "orders": "/api/orders/details",
    "trades": "/api/orders/trades",
}
SHARE = security("nse", "equities", "INFY")
STALE = security("nse", "equities", "TCS")
UNREAD = security("nse", "equities", "WIPRO")
"""Mapped, without a stored quote."""
QUOTE_PATHS = tuple(f"/api/instruments/{kind}" for kind in ("ltp", "ohlc", "quote"))
QUIET_SECONDS = 0.001
"""When no task has had anything to do for this long, loopback brings nothing more."""

_DATE = re.compile(rb"date: [^\r]+")


class _Snapshot:
    """Three shares."""

    mapping_date = date(2026, 11, 20)

    def instrument(self, instrument_id: str) -> Instrument | None:
        return _LISTED.get(instrument_id)

    instrument_once = instrument


_LISTED = {
    identity.instrument_id: Instrument(
        instrument_id=identity.instrument_id, identity=identity, name=None, isin=None, lot_size=1, tick_size=0.05,
        freeze_quantity=None, listings={},
    )
    for identity in (SHARE, STALE, UNREAD)
}  # fmt: skip
_TICK = Tick(
    broker_token="1", last_price=101.5, open=100.0, high=102.0, low=99.0, previous_close=100.0, volume=7,
    buy=(DepthLevel(price=101.45, quantity=5, orders=1),),
)  # fmt: skip


def document(
    resource: Resource,
    epoch: float,
    *,
    usable: bool = True,
    age_seconds: float = 0.0,
    positions_bytes: int = 3 * LONG_BYTES,
) -> DocumentState:
    """Build a document as its actor does. The positions are long, so that the lane keeps their whole answer for a second."""
    catalogue = Published(CatalogueState(latest=None, published_today=False, reason=""))
    content = finish(OrderBookAssembler(catalogue, _NoLegs()).assemble({}))
    if resource == "positions":
        content = attrs.evolve(content, pieces=(*content.pieces, b',"net":"' + b"p" * positions_bytes + b'"'))
    as_of = local_text(from_epoch(epoch - age_seconds))
    brokers = b'[{"broker":"zerodha","status":"ok"}]'
    return DocumentState(
        resource=resource, body=document_body(content, brokers, as_of), as_of=as_of, as_of_epoch=epoch - age_seconds,
        published_monotonic=0.0, brokers=brokers, reads=(), usable_brokers=usable, content=content,
        build_seconds=0.0, gap_seconds=None,
    )  # fmt: skip


class _NoLegs:
    def version_of(self, broker: str) -> int:
        return 0

    def owner(self, broker: str, order_id: str, tag: str | None) -> None:
        return None

    def knows(self, row: OrderRow | TradeRow, broker: str) -> bool:
        return True

    async def learn(self, store: Store, row: OrderRow | TradeRow, broker: str) -> bool:
        return True


@attrs.define
class World:
    """What both services read. Its time stands still, so that both answer at the same moment."""

    token: Published[HeldToken | None]
    documents: dict[Resource, Published[DocumentState | None]]
    catalogue: Published[CatalogueState]
    book: QuoteBook
    gate: "Gate"
    now: float = NINE.timestamp()
    """Epoch seconds."""
    posts: int = 0
    """How many `POST /echo` either service took."""
    clock: Clock = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.clock = Clock(wall=lambda: self.now)

    def well(self) -> None:
        """Every document is there, the token holds."""
        row = connected(NO_TOKEN, self.clock.now(), 3_600, lambda: TOKEN)
        self.token.set(hold(row))
        self.catalogue.set(CatalogueState(latest=_Snapshot(), published_today=True, reason=""))  # type: ignore[arg-type]
        for resource in DOCUMENTS:
            self.documents[resource].set(document(resource, self.clock.epoch()))

    def expire(self) -> None:
        held = self.token.value
        assert held is not None
        self.token.set(attrs.evolve(held, expires_at=self.clock.now()))


def new_world() -> World:
    book = QuoteBook(("zerodha",))
    book.take(SHARE.instrument_id, "zerodha", _TICK, NINE.timestamp())
    book.take(STALE.instrument_id, "zerodha", _TICK, NINE.timestamp() - 86_400)
    world = World(
        Published(None),
        {resource: Published(None) for resource in DOCUMENTS},
        Published(CatalogueState(latest=None, published_today=False, reason="")),
        book,
        Gate(),
    )
    world.well()
    return world


class Gate:
    """Holds `GET /slow` up until it is opened."""

    def __init__(self) -> None:
        self._opened = trio.Event()

    def open(self) -> None:
        self._opened.set()
        self._opened = trio.Event()

    async def wait(self) -> None:
        await self._opened.wait()


class NotedRefusals(RefusedClients):
    """Notes each refusal, also those that the log would tell together."""

    def __init__(self) -> None:
        super().__init__()
        self.notes: list[tuple[Why, str]] = []

    def note(self, why: Why, address: str) -> None:
        self.notes.append((why, address))


class NotedConnections(Connections):
    """Keeps every connection's `Peer`."""

    def __init__(self, **bounds: Any) -> None:
        super().__init__(**bounds)
        self.peers: list[Peer] = []

    @contextmanager
    def holding(self, address: str, cut: Cut) -> Any:
        with super().holding(address, cut) as peer:
            if peer is not None:
                self.peers.append(peer)
            yield peer


class CountingLane:
    """A lane that counts its answers."""

    def __init__(self, lane: Lane) -> None:
        self._lane = lane
        self.answers = 0

    def answer(self, head: bytes, peer: Peer, here: str) -> bytes | None:
        answer = self._lane.answer(head, peer, here)
        self.answers += answer is not None
        return answer


@attrs.frozen
class Twin:
    """One of the two services."""

    port: int
    services: Services
    connections: NotedConnections
    refusals: NotedRefusals
    asked: list[QuoteMessage]
    """What the quote book's actor was sent."""
    stop: trio.Event
    """Set by a test: the listener shuts down."""
    stopped: trio.Event
    lane: CountingLane | None

    def answered_by_lane(self) -> int:
        """Return how many answers the lane gave."""
        return 0 if self.lane is None else self.lane.answers


@attrs.frozen
class Heard:
    """What one service answered, and the state that it left."""

    answer: bytes
    closed: bool
    """Whether the service had closed the connection before the probe."""
    peers: tuple[tuple[bool, bool], ...]
    """Of this connection before the probe: has proved itself, is busy."""
    after: bytes
    """What came after the probe."""
    ended: bool
    """Whether the service had closed the connection when the client had sent the end of its stream."""
    refusals: tuple[tuple[Why, str], ...]
    asked: tuple[str, ...]
    """What the quote book's actor was sent. The order does not count: it answers an ask before it takes what it is told."""


Step: TypeAlias = bytes | Callable[[], None]
"""Bytes to send, or what happens in the world. After each step all comes to rest."""


def head(
    target: str,
    *lines: str,
    method: str = "GET",
    version: str = "HTTP/1.1",
    host: str | None = "localhost",
    token: str | None = TOKEN,
) -> bytes:
    """Return the head of a request."""
    headers = [f"Host: {host}"] if host is not None else []
    headers += [f"Access-Token: {token}"] if token is not None else []
    return "\r\n".join([f"{method} {target} {version}", *headers, *lines, "", ""]).encode("latin-1")


PROBE = head("/api/session/status", "Connection: close")


class Twins:
    def __init__(self, world: World, stock: Twin, fast: Twin) -> None:
        self.world, self.stock, self.fast = world, stock, fast

    async def compare(self, *steps: Step, probe: bytes = PROBE) -> Heard:
        """Send the steps to both, then the probe, then the end of the stream. Fail where the two differ; return what both answered."""
        stock, fast = await self.converse(steps, probe)
        assert fast == stock
        return fast

    async def converse(self, steps: Sequence[Step], probe: bytes = PROBE) -> tuple[Heard, Heard]:
        """Return what the stock service and the fast service answered."""
        async with trio.open_nursery() as nursery:
            clients = [_Client(twin) for twin in self._both()]
            for client in clients:
                await client.open()
                nursery.start_soon(client.listen)
            await quiet()
            for step in steps:
                if callable(step):
                    step()
                else:
                    for client in clients:
                        await client.send(step)
                await quiet()
            for client in clients:
                client.look()
                await client.send(probe)
            await quiet()
            for client in clients:
                await client.end()
            await quiet()
            for client in clients:
                client.leave()
        return clients[0].heard(), clients[1].heard()

    def _both(self) -> tuple[Twin, Twin]:
        return self.stock, self.fast


class _Client:
    _stream: trio.SocketStream

    def __init__(self, twin: Twin) -> None:
        self._twin = twin
        self._got = bytearray()
        self._is_over = False
        self._ended = False
        self._looked = (0, False)
        self._peers: tuple[tuple[bool, bool], ...] = ()
        self._first_peer = len(twin.connections.peers)
        self._refusals, self._asked = len(twin.refusals.notes), len(twin.asked)

    async def open(self) -> None:
        self._stream = await trio.open_tcp_stream("127.0.0.1", self._twin.port)

    async def listen(self) -> None:
        try:
            async for piece in self._stream:
                self._got += piece
        except trio.BrokenResourceError:
            pass  # it closed while bytes of ours were on their way
        except trio.ClosedResourceError:
            return  # we have left
        self._is_over = True

    async def send(self, data: bytes) -> None:
        with suppress(trio.BrokenResourceError, trio.ClosedResourceError):  # it has closed; `listen` knows it
            await self._stream.send_all(data)

    def look(self) -> None:
        self._looked = (len(self._got), self._is_over)
        peers = self._twin.connections.peers[self._first_peer :]
        self._peers = tuple((peer.proved, peer.busy) for peer in peers)

    async def end(self) -> None:
        with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            await self._stream.send_eof()

    def leave(self) -> None:
        self._ended = self._is_over
        self._stream.socket.close()

    def heard(self) -> Heard:
        length, closed = self._looked
        got = bytes(self._got)
        return Heard(
            answer=_DATE.sub(b"date: *", got[:length]),
            closed=closed,
            peers=self._peers,
            after=_DATE.sub(b"date: *", got[length:]),
            ended=self._ended,
            refusals=tuple(self._twin.refusals.notes[self._refusals :]),
            asked=tuple(sorted(_subject(message) for message in self._twin.asked[self._asked :])),
        )


def _subject(message: QuoteMessage) -> str:
    return f"FetchQuote {message.instrument.instrument_id}" if isinstance(message, FetchQuote) else repr(message)


async def quiet() -> None:
    """Wait until both services and both clients have nothing more to do."""
    await trio.testing.wait_all_tasks_blocked(QUIET_SECONDS)


@asynccontextmanager
async def open_twins(
    world: World,
    make_lane: Callable[[Services], Lane] = FastLane,
    *,
    bounds: dict[str, int] | None = None,
    **options: Any,
) -> AsyncIterator[Twins]:
    """Serve the world twice. `options` go to both listeners, `bounds` to their `Connections`."""
    async with trio.open_nursery() as nursery:
        twins = Twins(
            world,
            await _serve(nursery, world, None, bounds, options),
            await _serve(nursery, world, make_lane, bounds, options),
        )
        yield twins
        nursery.cancel_scope.cancel()


async def _serve(
    nursery: trio.Nursery,
    world: World,
    make_lane: Callable[[Services], Lane] | None,
    bounds: dict[str, int] | None,
    options: dict[str, Any],
) -> Twin:
    mailbox: Mailbox[QuoteMessage] = open_mailbox("the quote book", capacity=8)
    asked: list[QuoteMessage] = []
    nursery.start_soon(_keep_book, mailbox, asked, world)
    refusals, connections = NotedRefusals(), NotedConnections(**(bounds or {}))
    services = _services(world, mailbox, refusals)
    lane = None if make_lane is None else CountingLane(make_lane(services))

    stop, stopped = trio.Event(), trio.Event()

    async def run(*, task_status: trio.TaskStatus[list[str]]) -> None:
        app = build_app(services, _ROUTES + _own_routes(world))
        await serve(
            app, "127.0.0.1", 0, shutdown_event=stop, connections=connections, lane=lane, task_status=task_status, **options
        )  # fmt: skip
        stopped.set()

    addresses: list[str] = await nursery.start(run)
    return Twin(int(addresses[0].rsplit(":", 1)[1]), services, connections, refusals, asked, stop, stopped, lane)


_ROUTES = tuple(
    route
    for module in (health, orders_read, portfolio, quotes, session)
    for route in module.ROUTES
    if route.path != "/metrics"
)


def _own_routes(world: World) -> tuple[Route, ...]:
    async def slow(request: Request, services: Services) -> Response:
        await world.gate.wait()
        return render.json_answer({"slow": True})

    async def echo(request: Request, services: Services) -> Response:
        world.posts += 1
        return render.encoded(msgspec.json.encode(await request.get_data()))

    return (_route("/slow", slow, "GET"), _route("/echo", echo, "POST"))


def _route(path: str, handler: Handler, method: Method) -> Route:
    return Route(
        method=method, path=path, handler=handler, token=TokenRule.OPEN, tag="test", operation_id="do", summary="A thing",
        answers=(Answer(status=200, doc="A thing"),),
    )  # fmt: skip


def _services(world: World, mailbox: Mailbox[QuoteMessage], refusals: RefusedClients) -> Services:
    session_asks: Mailbox[TokenMessage] = open_mailbox("the token actor", capacity=1)
    mappings: Mailbox[CatalogueMessage] = open_mailbox("the catalogue", capacity=1)
    reader = Quotes(
        book=Published(world.book),
        address=mailbox.address,
        catalogue=world.catalogue,
        calendar=always_open(),
        clock=world.clock,
    )
    return Services(
        clock=world.clock,
        settings=ServiceSettings(data_dir=Path("/nonexistent"), host_names=("trading.example",)),
        token=world.token,
        token_actor=session_asks.address,
        actors=dict,
        crashes=tuple,
        store_reachable=lambda: True,
        refused_clients=refusals,
        documents=world.documents,
        instruments=InstrumentServices(
            catalogue=world.catalogue,
            catalogue_actor=mappings.address,
            quotes=reader,
            quote_book=mailbox.address,
        ),
    )


async def _keep_book(mailbox: Mailbox[QuoteMessage], asked: list[QuoteMessage], world: World) -> None:
    """Be the quote book's actor: a broker answers every instrument."""
    mailbox.running = True
    async for message in mailbox:
        asked.append(message)
        if isinstance(message, FetchQuote):
            quote = Quote(broker="zerodha", tick=_TICK, received_at=world.clock.epoch(), stale_since=None)
            message.reply.answer(Found(quote=quote, source="broker"))
