"""The seam: the protocols that a broker's folder must provide, and `Broker`, the value that holds them all.

A folder's modules implement the protocols as plain functions (`login.py` is a LoginCodec, and so on), so a broker is
assembled as `Broker(code="zerodha", login=login, orders=orders, ...)`. No function here awaits, or reads a clock or a
setting; builders that sign take `now`. Every parser raises `BrokerRefusal` for a clear refusal (whatever the HTTP status)
and `BadAnswer` for anything that the documents do not promise.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Protocol, runtime_checkable

import attrs

from onebroker.brokers.events import BrokerEvent
from onebroker.brokers.records import (
    Candle,
    FundsRow,
    HoldingRow,
    Listing,
    OrderRow,
    PositionRow,
    Tick,
    TradeRow,
)
from onebroker.brokers.requests import CallKind, StreamAddress, WireRequest, WireResponse
from onebroker.config.instruments import calendar_of
from onebroker.config.late_modules import pl
from onebroker.config.vocabulary import Outcome


@attrs.frozen(kw_only=True)
class Endpoints:
    """A broker's base addresses, as its page names them (docs/brokers/), paths included; second hosts by name in `others`."""

    rest_url: str
    login_url: str
    stream_url: str
    order_stream_url: str
    instruments_url: str
    others: Mapping[str, str] = attrs.field(factory=dict)

    @property
    def order_url(self) -> str:
        """The address of order messages, where it is not made from the login."""
        return self.others.get("order_url", self.rest_url)


@attrs.frozen(kw_only=True)
class Login:
    """A live login as it is stored (`broker:login:<code>`): the tokens by the broker's own names."""

    tokens: Mapping[str, str] = attrs.field(repr=False)
    user_id: str
    logged_in_at: float
    """Epoch seconds."""
    expires_at: float
    """Epoch seconds after which the broker is known to refuse it."""
    profile: Mapping[str, object] = attrs.field(factory=dict, repr=False)
    """What the login answer said about the account, without its tokens. Filled where the broker has no profile call."""


@attrs.frozen(kw_only=True)
class Access:
    """What a builder may need in addition to the order or the instruments."""

    endpoints: Endpoints
    credentials: Mapping[str, str] = attrs.field(repr=False)
    """The broker's keys of onebroker.toml (architecture 5)."""
    login: Login | None
    algo_id: str | None = None
    """The algo id that the settings want each order to carry in the broker's `AlgoField`; None = no id."""

    def token(self, name: str) -> str:
        """Return one token of the login. Raise KeyError when there is no login (a fault of ours)."""
        if self.login is None:
            raise KeyError("no login")
        return self.login.tokens[name]


def logged_in_user(access: Access) -> str | None:
    """Return the user of the login; None when there is no login."""
    return None if access.login is None else access.login.user_id


@attrs.frozen(kw_only=True)
class AccountField:
    """The field in which a broker's answers name the account that they are about."""

    name: str
    own: Callable[[Access], str | None]
    """The name of the login's account in that field. None where that name is not documented: then all rows must name the same account."""


@attrs.frozen(kw_only=True)
class AlgoField:
    """The place in a broker's order messages that says which registered algo an order comes from (exchange rules since 1 April 2026)."""

    name: str
    """The name of the header or field."""
    pattern: str = r"[!-~]([ -~]{0,62}[!-~])?"
    """Regular expression that the whole value must match."""
    shape: str = "1 to 64 plain characters"
    """The pattern in words."""


LoginFlow = Generator[WireRequest, WireResponse, Login]
"""A login of any number of steps, without I/O: yields requests, receives their answers, returns the login."""
ReadFlow = Generator[WireRequest, WireResponse, None]
"""Yields the calls of one read; most reads yield once. Each call can depend on the answers before it (pages, one call per
order). The answers are parsed together, in order."""
StreamFlow = Generator[WireRequest, WireResponse, StreamAddress]
"""The same for a socket whose address must be requested first; the flow may yield nothing."""


class LoginKind(StrEnum):
    ASSISTED = "assisted"
    """A person logs in at the broker's page and is redirected back."""
    UNATTENDED = "unattended"


class LoginCodec(Protocol):
    def login_page(self, access: Access, state: str = "") -> str:
        """Return the address that a person opens (assisted), or "" (unattended). Where `Broker.login_repeats_state` is
        true, the redirect carries `state` in a parameter of that name."""

    def log_in(self, access: Access, redirect: str, now: datetime) -> LoginFlow:
        """Exchange the redirect address (assisted; ignored when unattended) for a login.

        Raises ValueError when the redirect carries no code of ours.
        """

    def renew(self, access: Access, now: datetime) -> LoginFlow | None:
        """Renew the login without a person; return None where the broker has no such way."""

    def profile_request(self, access: Access) -> WireRequest:
        """Return the call that truly proves a login (lesson 1)."""

    def parse_profile(self, response: WireResponse, login: Login) -> dict[str, object]:
        """Return the broker's own profile body, from the answer. Where the broker has no profile call and another call
        proves the login, return `login.profile`."""


@attrs.frozen(kw_only=True)
class OrderTicket:
    """One order as it is sent to one broker. Quantities in units."""

    listing: Listing
    segment: str
    """Stored form, such as `nse_equities`."""
    transaction_type: str
    product: str
    order_type: str
    validity: str
    quantity: int
    disclosed_quantity: int = 0
    price: Decimal | None = None
    trigger_price: Decimal | None = None
    after_market: bool = False
    token: str = ""
    """The engine's leg token, sent in the broker's tag field (order-engine 2.4)."""


@attrs.frozen(kw_only=True)
class OrderChange:
    """New values of a resting order; None = unchanged. `row` is the order as the book last showed it."""

    row: OrderRow
    listing: Listing
    segment: str
    quantity: int | None = None
    """New total, units."""
    price: Decimal | None = None
    trigger_price: Decimal | None = None
    order_type: str | None = None
    validity: str | None = None
    disclosed_quantity: int | None = None

    @property
    def disclosed_after(self) -> int:
        """Return the disclosed quantity after the change, in the units of the row: never more than what remains unfilled after it.

        A broker's row repeats the disclosed quantity of the placing for as long as the order lives. Most changes are the whole order, so they
        would repeat it too, and brokers refuse a disclosed quantity above the remainder: a partly filled stop could never be moved again. A row of
        unknown contract size counts in lots, and new values in units: then nothing can be compared, and the codec refuses what it cannot convert.
        """
        standing = self.row.disclosed_quantity if self.disclosed_quantity is None else self.disclosed_quantity
        counts_differ = self.row.contract_units is None and (self.quantity, self.disclosed_quantity) != (None, None)
        return standing if counts_differ else min(standing, remaining_units(self.row, self.quantity))


def remaining_units(row: OrderRow, quantity: int | None = None) -> int:
    """Return what is unfilled of an order, in the units of its row; `quantity` is a new total, None = the row's."""
    return max(0, (row.quantity if quantity is None else quantity) - row.filled_quantity)


@attrs.frozen(kw_only=True)
class OrderAnswer:
    """What a broker answered to an order message."""

    outcome: Outcome
    """ACCEPTED only with an order id; REJECTED only on a clear refusal; anything else UNKNOWN (order-engine row 10)."""
    order_id: str | None
    status_message: str | None
    broker_response: object
    """Decoded JSON, or the first 300 characters of the body."""
    exchange_order_id: str | None = None
    """The exchange's order number, where the answer gives it."""
    token: str | None = None
    """The tag of the order, where the answer repeats it."""
    session_dead: bool = False
    rate_limited: bool = False
    address_refused: bool = False
    """The order was refused because the address that the broker saw is not registered. The broker then refuses every
    other order too, exits included."""
    turned_away: bool = False
    """The broker certainly refused for one of these three reasons before it looked at an order. Nothing was placed,
    changed or cancelled; the same message may be sent again once the reason has passed. False for a refusal that could
    also mean something else."""


class OrderCodec(Protocol):
    """place_request and modify_request raise `NotSendable` for an order that the broker's words cannot express.

    Every request says which order it is about (`order_messages.about_new`, `about_standing`).
    """

    def place_request(self, access: Access, ticket: OrderTicket, now: datetime) -> WireRequest: ...

    def modify_request(self, access: Access, change: OrderChange, now: datetime) -> WireRequest: ...

    def cancel_request(self, access: Access, row: OrderRow, now: datetime) -> WireRequest: ...

    def parse_order_answer(self, response: WireResponse) -> OrderAnswer:
        """Read the answer to a place, modify or cancel; never raises.

        Returns only what the answer says, including the names in it. Every answer is read through
        `order_messages.answer_to`, which decides whether the answer belongs to the request.
        """


class BookCodec(Protocol):
    """A read may take several calls (`ReadFlow`); their answers are parsed together, in order.

    With `listings` (by broker_token) the codec turns lots into units, for brokers that count in lots. See
    `OrderRow.contract_units` for a row whose listing is not known.
    """

    def order_requests(self, access: Access, now: datetime) -> ReadFlow: ...

    def parse_orders(self, responses: Sequence[WireResponse], listings: Mapping[str, Listing]) -> list[OrderRow]: ...

    def trade_requests(self, access: Access, now: datetime) -> ReadFlow: ...

    def parse_trades(self, responses: Sequence[WireResponse], listings: Mapping[str, Listing]) -> list[TradeRow]: ...


@attrs.frozen(kw_only=True)
class TokenQuestion:
    """The order that is looked for: it was sent with our token and has not been seen since."""

    token: str
    instrument_token: str
    """`Listing.broker_token`."""
    segment: str
    """Stored form, such as `nse_equities`."""


@attrs.frozen
class FoundByToken:
    """The broker has the order."""

    order_id: str | None
    """None where the answer gives only the exchange's number."""


class TokenCodec(Protocol):
    """Looks up one order by our token; a module of each broker that offers this."""

    def token_request(self, access: Access, question: TokenQuestion, now: datetime) -> WireRequest: ...

    def parse_token(self, response: WireResponse, question: TokenQuestion) -> FoundByToken | None:
        """Return the order with that token; None on a clear answer that no such order exists. Any other answer proves
        nothing, and raises."""


class MarginCodec(Protocol):
    """Asks how much money one order needs before it is sent; a module of each broker that offers this."""

    def margin_request(self, access: Access, ticket: OrderTicket, price: Decimal, now: datetime) -> WireRequest:
        """Build the request; raise `NotSendable`. `price` is the price, in rupees, at which the order is expected to
        trade: for order types without a price."""

    def parse_margin(self, response: WireResponse) -> Decimal:
        """Return the rupees, above zero, that the order needs by itself. Raises when the answer does not give them."""


class PortfolioCodec(Protocol):
    def position_requests(self, access: Access, now: datetime) -> ReadFlow: ...

    def parse_positions(
        self, responses: Sequence[WireResponse], listings: Mapping[str, Listing]
    ) -> list[PositionRow]: ...

    def holding_requests(self, access: Access, now: datetime) -> ReadFlow: ...

    def parse_holdings(self, responses: Sequence[WireResponse]) -> list[HoldingRow]: ...

    def fund_requests(self, access: Access, now: datetime) -> ReadFlow: ...

    def parse_funds(self, responses: Sequence[WireResponse]) -> FundsRow: ...


class QuoteCodec(Protocol):
    most_per_call: int

    def quote_request(self, access: Access, listings: Sequence[Listing]) -> WireRequest: ...

    def parse_quotes(self, response: WireResponse, listings: Sequence[Listing]) -> dict[str, Tick]:
        """Return ticks by broker_token, only for the instruments asked for. A tick of another instrument is dropped; a
        tick whose identity contradicts the request raises BadAnswer (lesson 10)."""


class CandleCodec(Protocol):
    def candle_requests(
        self, access: Access, listing: Listing, interval: str, first: date, last: date
    ) -> tuple[WireRequest, ...]:
        """Return the calls for candles of `interval`, both days inclusive, oldest first, split by the broker's span per
        call. `interval` is a name of rules 1.4.8 that the broker offers, else ValueError."""

    def parse_candles(self, responses: Sequence[WireResponse], listing: Listing) -> list[Candle]:
        """Return candles, oldest first; quantities in units, None where the listing's units per lot are not known."""


class InstrumentCodec(Protocol):
    def file_requests(self, access: Access, now: datetime) -> ReadFlow:
        """Yield the calls for the broker's files. Raises KeyError (by `Access.token`) where they need a login and there
        is none.

        The body of a call of kind FILE is stored and not shown to the flow. A call whose body the flow must read has
        another kind. The answer to a failed call has no body, and the flow goes on with the next file. A flow that needs
        that answer raises BadAnswer.
        """

    def read_files(self, bodies: Sequence[bytes]) -> pl.DataFrame:
        """Return the normalized frame of `brokers/listings/frame.py`; rows that match no segment are `uncategorised`.
        `bodies` holds the bodies of all answers of `file_requests`, in order, with `instrument_files.MISSING` for a body
        that did not come.

        When one of several files is missing, only its content and what depends on it are lost. Files that cannot be read
        are named with `instrument_files.BadFiles`.
        """


class FeedDecoder(Protocol):
    """The decoder of one connection: receives every frame and keeps the state it needs between frames."""

    def receive(self, frame: bytes | str) -> list[BrokerEvent]:
        """Decode one whole message; never raises (a bad frame is a CorruptFrame)."""


@runtime_checkable
class SubscriptionDecoder(FeedDecoder, Protocol):
    """A decoder of frames that do not name instruments by broker_token: it learns which instruments are subscribed."""

    def subscribing(self, listings: Sequence[Listing]) -> None:
        """Learn the names of these instruments; called before their subscription messages are sent."""


class FeedCodec(Protocol):
    """A broker's market-data socket, its order-update socket, or both in one."""

    sockets: int
    """Most connections at once."""
    per_socket: int
    """Most instruments on one connection."""
    silence_seconds: float | None
    """A connection that is silent this long during a session is dead; None = the broker promises no heartbeat (lesson 3)."""
    ping_seconds: float | None
    """How often `ping_message` must be sent; None = never."""
    ready_seconds: float | None
    """None = subscriptions follow the opening messages at once; otherwise they wait this long for the decoder's `Ready`."""

    def address(self, access: Access, now: datetime) -> StreamFlow: ...

    def decoder(self, access: Access, address: StreamAddress, listings: Mapping[str, Listing]) -> FeedDecoder:
        """Return a new decoder of the connection to `address`; it reads `listings` (by broker_token) live."""

    def opening_messages(self, access: Access) -> list[bytes | str]: ...

    def subscribe_messages(self, access: Access, listings: Sequence[Listing]) -> list[bytes | str]: ...

    def unsubscribe_messages(self, access: Access, listings: Sequence[Listing]) -> list[bytes | str]: ...

    def ping_message(self) -> bytes | str | None:
        """Return the ping; None = a websocket ping, whose pong must come before the next ping is due."""


@attrs.frozen(kw_only=True)
class Windows:
    """Most calls in any window of that length (architecture 13); None = no limit of that length."""

    second: int | None = None
    minute: int | None = None
    half_hour: int | None = None
    hour: int | None = None
    day: int | None = None
    """From 07:00 IST; for order messages this is the cap `daily_messages` (order-engine 4.6), not a window."""


@attrs.frozen(kw_only=True)
class Cadence:
    """Seconds between two reads of one kind, in session and out (architecture 13)."""

    orders: float
    trades: float
    positions: float
    funds: float
    holdings: float
    closed: float = 30.0
    closed_holdings: float = 170.0


@attrs.frozen(kw_only=True)
class Capabilities:
    """What a broker can place and change. Checked in the order of order-engine 4.1."""

    segments: frozenset[str]
    """Bare segments with exchange prefix (`nse_equities`) in which the broker takes orders."""
    order_types: Mapping[str, frozenset[str]]
    """Calendar (`equity`, `currency`, `commodity`) -> order types."""
    products: Mapping[str, frozenset[str]]
    validities: frozenset[str]
    after_market: bool
    disclosed_quantity: bool
    modifiable: frozenset[str]
    """A subset of price, trigger_price, quantity, order_type, validity, disclosed_quantity; changing another field answers 501."""
    asked_by_token: bool
    """Whether the broker can look up an order by our token (order-engine 2.4): then `Broker.by_token` does it."""
    order_time_seconds: int = 1
    """Resolution, in seconds, of the order times in the broker's books."""
    refused_in_derivatives: frozenset[str] = frozenset()
    """Order types of `order_types` that the broker does not take for futures and options."""

    def order_types_in(self, segment: str) -> frozenset[str]:
        """Return the order types that the broker takes in a segment (bare or stored)."""
        taken = self.order_types.get(calendar_of(segment), frozenset())
        return taken - self.refused_in_derivatives if segment.endswith(("_futures", "_options")) else taken


@attrs.frozen(kw_only=True)
class Broker:
    """One broker: its words, its codecs, its limits."""

    code: str
    name: str
    """Display name (architecture 11)."""
    login_kind: LoginKind
    login_repeats_state: bool = False
    """Whether the redirect of an assisted login carries the `state` of its page. Only then can it be told apart from
    another login's redirect."""
    credential_keys: frozenset[str]
    """Keys that the broker needs in onebroker.toml, including secrets."""
    other_credential_keys: tuple[frozenset[str], ...] = ()
    """Further sets of keys; any one of them can replace `credential_keys` (Dhan's pasted access token, Groww's api_secret)."""
    optional_credential_keys: frozenset[str] = frozenset()
    """Optional keys that the broker can use in addition (Fyers' pin)."""
    endpoints: Endpoints
    capabilities: Capabilities
    order_windows: Windows
    call_windows: Windows
    kind_windows: Mapping[CallKind, Windows] = attrs.field(factory=dict)
    """Further windows for single kinds of call (quotes, history), in addition to the windows of all calls; without `day`."""
    cadence: Cadence
    profile_seconds: float | None
    """Seconds between profile reads; None = only at login."""
    login: LoginCodec
    orders: OrderCodec
    books: BookCodec
    portfolio: PortfolioCodec
    instruments: InstrumentCodec
    quotes: QuoteCodec | None
    quotes_in_service: bool
    """Whether the REST quote fallback may use it (architecture 13)."""
    candles: CandleCodec | None
    positions_tell_results: bool = True
    """Whether the broker's positions show what was realized today, or what was bought and sold. Otherwise the day's
    result is computed from its executed orders."""
    books_tell_triggers: bool = True
    """Whether a stop that the order book shows as OPEN was triggered. False where the book calls a stop OPEN that waits for its trigger."""
    books_tell_expiry: bool = True
    """Whether an order that lapses with its session has a status of its own. False where the book calls it cancelled."""
    candles_with_interest: bool = True
    """Whether the broker's candles of futures and options carry open interest."""
    feed: FeedCodec
    order_feed: FeedCodec | None
    """None when `feed` also carries the order updates, or when the broker has no order updates."""
    feed_carries_orders: bool
    quotes_first_on: frozenset[str] = frozenset()
    """Exchanges whose priority list of REST quotes names this broker (architecture 13)."""
    by_token: TokenCodec | None = None
    """None where the broker cannot look up an order by our token."""
    margins: MarginCodec | None = None
    """None where the broker does not say how much money an order needs."""
    account_field: AccountField | None = None
    """None where no answer names the account (docs/funds-and-positions.md lists which answers do, by broker)."""
    algo_field: AlgoField | None = None
    """None where no documented field of the broker's order messages takes an algo id."""
    address_rule: str = ""
    """What the broker's documents say about the public addresses from which it takes calls; "" = nothing."""
    event_account_field: AccountField | None = None
    """The same for the text messages of the socket that carries orders; None where no message names the account."""

    @property
    def all_credential_keys(self) -> frozenset[str]:
        """Return every key that onebroker.toml may hold for the broker."""
        return self.credential_keys.union(self.optional_credential_keys, *self.other_credential_keys)

    def missing_credentials(self, given: Collection[str]) -> frozenset[str]:
        """Return the keys that are missing for the nearest complete set; empty when one set is complete."""
        sets = (self.credential_keys, *self.other_credential_keys)
        return min((keys - frozenset(given) for keys in sets), key=len)


Registry = Mapping[str, Broker]
"""Broker code -> broker, in the order of their priority for REST quotes (architecture 13)."""
