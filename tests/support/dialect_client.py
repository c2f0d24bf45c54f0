"""What the tests of every simulated broker begin with: its dialect over the real exchange, a wall clock moved by hand, sockets that
keep what they were sent, and our codecs as the client. No sockets of the machine, no waiting.
"""

import functools
from collections.abc import Callable, Generator, Iterable, Mapping
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec
import polars as pl

from onebroker.brokers.broker import Access, Broker, Endpoints, OrderAnswer, OrderTicket
from onebroker.brokers.records import Listing, OrderRow
from onebroker.brokers.requests import WireRequest, WireResponse
from onebroker.brokers.simulator.dialects.dialect import Dialect, DialectFactory, DialectRequest, SocketSession
from onebroker.brokers.simulator.dialects.listed import Named
from onebroker.brokers.simulator.exchange.exchange import Exchange
from onebroker.brokers.simulator.exchange.faults import Faults
from onebroker.brokers.simulator.exchange.journal import MemoryJournal
from onebroker.brokers.simulator.world.candles import CandleRow
from onebroker.brokers.simulator.world.model import Contract
from onebroker.config.calendars import Calendar, always_open
from onebroker.config.clock import IST, Clock
from onebroker.config.instruments import Shape

BASE = "http://127.0.0.1:9001"
START = datetime(2026, 11, 23, 10, 0, tzinfo=IST)

Name = TypeVar("Name", bound=Named)
"""How a broker names a contract; `Any` for a test that names them in its own way."""
R = TypeVar("R")


class Wall:
    """A wall clock the test moves by hand."""

    def __init__(self, start: datetime = START) -> None:
        self.now = start.timestamp()

    def __call__(self) -> float:
        return self.now


class Wire:
    """A socket that keeps what it was sent."""

    def __init__(self) -> None:
        self.frames: list[bytes | str] = []
        self.closed: tuple[int, str] | None = None
        self.gone = False

    def send(self, frame: bytes | str) -> None:
        self.frames.append(frame)

    def close(self, code: int, reason: str) -> None:
        self.closed = (code, reason)
        self.gone = True

    @property
    def messages(self) -> list[Any]:
        """The frames of a stream of JSON."""
        return [msgspec.json.decode(frame) for frame in self.frames]


class DialectClient(Generic[Name]):
    """A client of one broker's server, with and without our codecs. Its own class adds `access`, `listing` and what is special."""

    if TYPE_CHECKING:

        @property
        def access(self) -> Access:
            raise NotImplementedError

        def listing(self, name: Name) -> Listing:
            raise NotImplementedError

    def __init__(
        self,
        broker: Broker,
        build: DialectFactory,
        name_of: Callable[[Contract], Name | None] | None,
        *,
        number: int = 300,
        start: datetime = START,
        calendar: Calendar | None = None,
    ) -> None:
        self.broker, self._build, self._name_of = broker, build, name_of
        self.wall = Wall(start)
        self.clock = Clock(wall=self.wall)
        self.exchange = Exchange(
            brokers=(broker.code,), number=number, seed=1, calendar=calendar or always_open(), clock=self.clock,
            journal=MemoryJournal(), faults=Faults(self.clock),
        )  # fmt: skip
        self.account = self.exchange.account(broker.code)
        self.dialect = self.build()
        addresses = dict(self.dialect.addresses(BASE))
        others = {name: addresses.pop(name) for name in broker.endpoints.others}
        self.endpoints = Endpoints(**addresses, others=others)
        self.bare = Access(endpoints=self.endpoints, credentials=self.dialect.credentials, login=None)
        self._listings: dict[str, Listing] | None = None

    def build(self) -> Dialect:
        """Return the dialect over the same account and tokens, as after a restart of the broker."""
        return self._build(self.account, self.exchange.tokens(self.broker.code), self.clock, 1)

    @property
    def now(self) -> datetime:
        return self.clock.now()

    def keep_candles(self) -> None:
        """Have the exchange make the candles of a day once: they take seconds, and a test compares what the server made of them with
        the very same. For tests in which no time passes and no price is set."""
        made = self.account.candles
        of_day = functools.cache(lambda instrument_id, interval, day: made(instrument_id, interval, day, day))

        def candles(instrument_id: str, interval: str, first: date, last: date) -> list[CandleRow]:
            days = (first + timedelta(days=number) for number in range((last - first).days + 1))
            return [row for day in days for row in of_day(instrument_id, interval, day)]

        self.account.candles = candles  # type: ignore[method-assign]  # in the place of the slow one

    # --- requests ---------------------------------------------------------------------------------------------------

    def request(
        self, method: str, url: str, headers: Mapping[str, str] | None = None, body: bytes = b""
    ) -> DialectRequest:
        parts = urlsplit(url)
        return DialectRequest(
            method=method, base=BASE, path=unquote(parts.path), query=parse_qsl(parts.query, keep_blank_values=True),
            headers={name.lower(): value for name, value in (headers or {}).items()}, body=body,
        )  # fmt: skip

    def send(self, wire: WireRequest) -> WireResponse:
        """Send what a codec has built; return the answer."""
        leaving = wire.leaving(self.now)
        return self.dialect.handle(self.request(leaving.method, leaving.url, leaving.headers, leaving.body))

    def send_all(self, wires: Iterable[WireRequest]) -> list[WireResponse]:
        return [self.send(wire) for wire in wires]

    def drive(self, flow: Generator[WireRequest, WireResponse, R]) -> tuple[list[WireResponse], R]:
        """Send what a flow yields; return its answers and its result."""
        answers: list[WireResponse] = []
        try:
            request = next(flow)
            while True:
                answers.append(self.send(request))
                request = flow.send(answers[-1])
        except StopIteration as stop:
            return answers, stop.value

    def answers(self, flow: Generator[WireRequest, WireResponse, object]) -> list[WireResponse]:
        return self.drive(flow)[0]

    def result(self, flow: Generator[WireRequest, WireResponse, R]) -> R:
        return self.drive(flow)[1]

    def open_at(self, url: str, headers: Mapping[str, str] | None = None) -> tuple[Wire, SocketSession | WireResponse]:
        """Open a socket; return it with its session (or the refusal)."""
        wire = Wire()
        return wire, self.dialect.open_socket(self.request("GET", url.replace("ws://", "http://"), headers), wire)

    # --- instruments ------------------------------------------------------------------------------------------------

    def contract(self, bare: str, exchange: str = "nse", underlying: str | None = None) -> Contract:
        return next(
            each for each in self.account.contracts()
            if each.bare == bare and each.identity.exchange == exchange
            and (underlying is None or each.identity.underlying_symbol == underlying)
        )  # fmt: skip

    def listed(self, bare: str, exchange: str = "nse", underlying: str | None = None) -> Name:
        """Return the first contract of a segment, by the broker's names."""
        assert self._name_of is not None
        name = self._name_of(self.contract(bare, exchange, underlying))
        assert name is not None, "the broker does not offer it"
        return name

    def frame(self) -> pl.DataFrame:
        """Return its instrument file as our codec reads it."""
        answers = self.answers(self.broker.instruments.file_requests(self.access, self.now))
        return self.broker.instruments.read_files([answer.body for answer in answers])

    def listings(self) -> dict[str, Listing]:
        """Return broker_token -> listing, as the catalogue has them of this one file; read once."""
        if self._listings is None:
            self._listings = {
                row["broker_token"]: Listing(
                    broker_token=row["broker_token"], tradingsymbol=row["tradingsymbol"], exchange=row["broker_exchange"],
                    lot_size=row["lot_size"], tick_size=row["tick_size"], contract_units=row["contract_units"],
                    other_names=row["other_names"],
                )
                for row in self.frame().rows(named=True)
            }  # fmt: skip
        return self._listings

    # --- orders -----------------------------------------------------------------------------------------------------

    def ticket(self, name: Name, **changes: Any) -> OrderTicket:
        """Return a buy of one lot one tick above the lower circuit, where it rests."""
        contract = name.contract
        cash = contract.identity.shape is Shape.SECURITY
        fields: dict[str, Any] = {
            "listing": self.listing(name), "segment": contract.identity.segment, "transaction_type": "BUY",
            "product": "CNC" if cash else "NRML", "order_type": "LIMIT", "validity": "DAY", "quantity": contract.lot_size,
            "price": self.account.market(contract.instrument_id).lower_circuit + contract.tick_size,
            "token": "ob0123456789ab", **changes,
        }  # fmt: skip
        return OrderTicket(**fields)

    def place(self, name: Name, **changes: Any) -> OrderAnswer:
        request = self.broker.orders.place_request(self.access, self.ticket(name, **changes), self.now)
        return self.broker.orders.parse_order_answer(self.send(request))

    def book(self) -> list[OrderRow]:
        answers = self.answers(self.broker.books.order_requests(self.access, self.now))
        return self.broker.books.parse_orders(answers, self.listings())

    def row(self, order_id: str) -> OrderRow:
        return next(row for row in self.book() if row.order_id == order_id)
