"""What the session tests watch a trading day with: every request that leaves, every slice that documents are told, every tick; and
a day with one broker alone."""

from collections import Counter, defaultdict
from decimal import Decimal
from urllib.parse import urlsplit

import attrs
import pytest

from onebroker.actors.sessions.messages import AskRoom, SendOrder, Watch
from onebroker.actors.sessions.stored_logins import encode_login
from onebroker.actors.store import keys
from onebroker.actors.store.interface import Set
from onebroker.brokers.broker import OrderTicket
from onebroker.brokers.requests import CallKind, WireRequest, WireResponse
from onebroker.brokers.simulator.host.inprocess import InProcessTransport
from onebroker.brokers.transport.priorities import Priority
from onebroker.config.events import OrderSent

SENT = OrderSent(broker="any", verb="place")
"""The event of an order message whose event does not matter."""

PATHS = {
    "zerodha": {
        "/orders": "orders", "/trades": "trades", "/portfolio/positions": "positions",
        "/portfolio/holdings": "holdings", "/user/margins": "funds", "/user/profile": "profile",
    },
    "upstox": {
        "/v2/order/retrieve-all": "orders", "/v2/order/trades/get-trades-for-day": "trades",
        "/v2/portfolio/short-term-positions": "positions", "/v2/portfolio/long-term-holdings": "holdings",
        "/v3/user/get-funds-and-margin": "funds", "/v2/user/profile": "profile",
    },
}  # fmt: skip


@attrs.frozen
class Seen:
    at: float
    code: str
    method: str
    path: str
    kind: CallKind
    status: int | None


class Watched:
    """The service's transport, with a note of what left through it."""

    def __init__(self, inner, clock):
        self._inner, self._clock = inner, clock
        self.calls = []
        self.sockets = []
        self.open_streams = []

    async def send(self, request, timeout_seconds):
        at, status = self._clock.monotonic(), None
        parts = urlsplit(request.url)
        try:
            response = await self._inner.send(request, timeout_seconds)
            assert isinstance(response, WireResponse)
            status = response.status
            return response
        finally:
            code = parts.netloc.partition(".")[0]
            self.calls.append(Seen(at, code, request.method, parts.path, request.kind, status))

    async def connect(self, address, timeout_seconds):
        code = urlsplit(address.url).netloc.partition(".")[0]
        self.sockets.append((self._clock.monotonic(), code, address.url))
        return await self._inner.connect(address, timeout_seconds)

    async def aclose(self):
        await self._inner.aclose()

    async def __aenter__(self):
        return self

    async def __aexit__(self, *details):
        await self.aclose()

    # --- what tests ask ---------------------------------------------------------------------------------------------

    def times(self, code, resource, since=0.0):
        return [
            call.at for call in self.calls if call.at >= since and self.resource(call) == resource and call.code == code
        ]

    def count(self, code, since=0.0):
        return sum(call.code == code and call.at >= since for call in self.calls)

    def logins(self, code, since=0.0):
        """Return how often each address of the broker's login was called."""
        return Counter(
            call.path for call in self.calls if call.kind is CallKind.LOGIN and call.at >= since and call.code == code
        )

    def resource(self, call):
        for end, name in PATHS[call.code].items():
            if call.method == "GET" and call.path.endswith(end):
                return name
        return None


class Slices:
    """Reads the document mailboxes as their actors would, and keeps every slice with its time."""

    def __init__(self, day, nursery):
        self.told = defaultdict(list)
        self._clock = day.clock
        for resource, mailbox in day.documents.items():
            nursery.start_soon(self._read, resource, mailbox)

    async def _read(self, resource, mailbox):
        async for slice_ in mailbox:
            self.told[slice_.broker, resource].append((self._clock.monotonic(), slice_))

    def since(self, code, resource, when):
        return [slice_ for at, slice_ in self.told[code, resource] if at >= when]

    def last(self, code, resource):
        return self.told[code, resource][-1][1]


@pytest.fixture
def slices(nursery):
    return lambda day: Slices(day, nursery)


class World:
    """A day whose service is watched, with order messages sent by hand."""

    def __init__(self, day):
        self._day = day
        self._transports = []
        day.open_transport = self.open_transport

    def open_transport(self):
        self._transports.append(Watched(InProcessTransport(self._day.simulator), self._day.clock))
        return self._transports[-1]

    @property
    def calls(self):
        """What left through the transport of the latest service."""
        return self._transports[-1]

    async def permit(self, code, priority=Priority.ENTRY, wait=5.0):
        deadline = self._day.clock.monotonic() + wait
        return await self._day.sessions[code].address.ask(
            lambda reply: AskRoom(priority=priority, deadline=deadline, reply=reply), wait + 1
        )

    def place_request(self, code, *, number=0, price=None, contract=None):
        """Return a place of ten shares, far from the market, in the broker's words."""
        day, handle = self._day, self._day.sessions[code]
        share = contract or day.equity(number)
        listed = share.listings[code]
        units = listed.lot_size * (listed.contract_units or 1) if contract else 10
        ticket = OrderTicket(
            listing=share.listings[code], segment=share.identity.segment, transaction_type="BUY", product="NRML" if contract else "CNC",
            order_type="LIMIT", validity="DAY", quantity=units, price=price or self.low(share), token="obaaaaaaaaaaaa",
        )  # fmt: skip
        return handle.broker.orders.place_request(handle.view.value.access, ticket, day.clock.now())

    def low(self, share):
        """Return a price that rests: about 3 % below the market, in whole rupees."""
        return (self._day.exchange.market(share.instrument_id).last_price * 97 / 100).quantize(Decimal(1))

    async def send(self, code, request, *, permit=None, leave_before=float("inf"), timeout=4.0):
        place = permit or await self.permit(code)
        return await self._day.sessions[code].address.ask(
            lambda reply: SendOrder(
                request=request,
                permit=place,
                leave_before=leave_before,
                timeout_seconds=timeout,
                event=SENT,
                reply=reply,
            ),
            timeout + 1,
        )

    async def place(self, code, **more):
        return await self.send(code, self.place_request(code, **more))

    async def store_login(self, code, access):
        """Log in at the broker's page as the command line does without a service: the login lands in the store."""
        codec = self._day.services[code].broker.login
        bare = attrs.evolve(access, login=None)
        async with InProcessTransport(self._day.simulator) as transport:
            page = WireRequest(kind=CallKind.LOGIN, method="GET", url=codec.login_page(bare))
            redirect = (await transport.send(page, 5)).headers["location"]
            flow = codec.log_in(bare, redirect, self._day.clock.now())
            answer = await transport.send(next(flow), 5)
        try:
            flow.send(answer)
        except StopIteration as stop:
            login = stop.value
        await self._day.store.write(Set(keys.broker_login(code), encode_login(login)))
        return login


@pytest.fixture
def world(day):
    return World(day)


@pytest.fixture
def told(day):
    """Return `told(code, *kinds)`: the events of these kinds about the broker, oldest first."""
    return lambda code, *kinds: [event for event in day.heard if isinstance(event, kinds) and event.broker == code]


class Heard:
    """Reads the quote mailbox as the quote book would, and keeps every tick of a broker with its time."""

    def __init__(self, day, code, nursery):
        self.ticks = []
        self._day, self._code = day, code
        nursery.start_soon(self._read, day.ticks)

    async def _read(self, mailbox):
        async for received in mailbox:
            self.ticks.append((self._day.clock.monotonic(), received.tick))

    def last(self, instrument, since=0.0):
        token = instrument.listings[self._code].broker_token
        return next((tick for at, tick in reversed(self.ticks) if tick.broker_token == token and at >= since), None)

    async def until(self, instruments, since=0.0, seconds=60.0):
        """Wait until every one of `instruments` has ticked since then."""
        await self._day.until(lambda: all(self.last(one, since) for one in instruments), seconds)


@pytest.fixture
def listen(nursery):
    """Return `listen(day, code)`: what its streams say from now on."""
    return lambda day, code: Heard(day, code, nursery)


class Alone:
    """The broker that is alone at its market."""

    def __init__(self, day, code):
        self._day, self.code = day, code

    @property
    def view(self):
        return self._day.sessions[self.code].view.value

    @property
    def order_stream(self):
        """The view of the socket that carries orders."""
        carried = self._day.services[self.code].broker.feed_carries_orders
        return self.view.market_feed if carried else self.view.order_feed

    async def until_live(self, seconds=60):
        """Wait until it has a login, its books and its order stream, and nothing failed last."""
        await self._day.until(
            lambda: self._day.has_read(self.code) and self.order_stream.connected and not self.view.read_errors, seconds
        )

    async def watch(self, *instruments):
        listings = tuple(one.listings[self.code] for one in instruments)
        await self._day.sessions[self.code].address.tell(Watch(listings=listings))


@pytest.fixture
def alone(day, request):
    """Make it a day with one broker alone, the `CODE` of the module, and return its hands and eyes."""
    day.__init__(brokers=(request.module.CODE,))
    return Alone(day, request.module.CODE)
