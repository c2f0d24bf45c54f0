"""The seam: what a broker's folder must provide, as protocols, and `Broker`, the value that holds it all.

A folder's modules implement the protocols as plain functions (`login.py` is a LoginCodec, and so on), so a broker is
assembled as `Broker(code="zerodha", login=login, orders=orders, ...)`. No function here awaits, reads a clock or a
setting; builders that sign take `now`. Every parser raises `BrokerRefusal` for a clear no (whatever the HTTP status) and
`BadAnswer` for anything the documents do not promise.
"""

from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Protocol, runtime_checkable

import attrs
import polars as pl

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
    """What the login answer said about the account, where the broker has no profile call; without its tokens."""


@attrs.frozen(kw_only=True)
class Access:
    """What a builder may need besides the order or the instruments."""

    endpoints: Endpoints
    credentials: Mapping[str, str] = attrs.field(repr=False)
    """The broker's keys of onebroker.toml (architecture 5)."""
    login: Login | None
    algo_id: str | None = None
    """What the settings want each order to carry in the broker's `AlgoField`; None = nothing."""

    def token(self, name: str) -> str:
        """Return one token of the login; raise KeyError when there is no login (a fault of ours)."""
        if self.login is None:
            raise KeyError("no login")
        return self.login.tokens[name]


def logged_in_user(access: Access) -> str | None:
    """Return the user of the login, None without one."""
    return None if access.login is None else access.login.user_id


@attrs.frozen(kw_only=True)
class AccountField:
    """The field by which a broker's answers name the account that they are about."""

    name: str
    own: Callable[[Access], str | None]
    """What the login's account is called there; None where that is not documented: then all rows must name the same one."""


@attrs.frozen(kw_only=True)
class AlgoField:
    """Where a broker's order messages say which registered algo an order comes from (exchange rules since 1 April 2026)."""

    name: str
    """Of the header or field."""
    pattern: str = r"[!-~]([ -~]{0,62}[!-~])?"
    """What it takes, whole (regular expression)."""
    shape: str = "1 to 64 plain characters"
    """The same in words."""


LoginFlow = Generator[WireRequest, WireResponse, Login]
"""Yields requests, is sent their answers, returns the login: a login of any number of steps without I/O."""
ReadFlow = Generator[WireRequest, WireResponse, None]
"""Yields the calls of one read, each knowing the answers before it (pages, one call per order); most yield once. The answers,
in order, are parsed together."""
StreamFlow = Generator[WireRequest, WireResponse, StreamAddress]
"""The same for sockets whose address must be asked for first; it may yield nothing."""


class LoginKind(StrEnum):
    ASSISTED = "assisted"
    """A person logs in at the broker's page and is redirected back."""
    UNATTENDED = "unattended"


class LoginCodec(Protocol):
    def login_page(self, access: Access, state: str = "") -> str:
        """Return the address a person opens (assisted), or "" (unattended). Where `Broker.login_repeats_state` the redirect
        carries `state` in a parameter of that name."""

    def log_in(self, access: Access, redirect: str, now: datetime) -> LoginFlow:
        """Exchange the redirect address (assisted; ignored when unattended) for a login.

        Raises ValueError when the redirect carries no code of ours.
        """

    def renew(self, access: Access, now: datetime) -> LoginFlow | None:
        """Renew without a person, or return None where the broker has no such way."""

    def profile_request(self, access: Access) -> WireRequest:
        """The call that truly proves a login (lesson 1)."""

    def parse_profile(self, response: WireResponse, login: Login) -> dict[str, object]:
        """Return the broker's own profile body: of the answer, or `login.profile` where the broker has no profile call and
        another one proves the login."""


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
    """New values of a resting order; None = as it is. `row` is the order as the book last showed it."""

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
    """The exchange's number, where the answer names it."""
    token: str | None = None
    """The tag of the order, where the answer repeats it."""
    session_dead: bool = False
    rate_limited: bool = False
    address_refused: bool = False
    """Refused because the address that the broker saw is not registered with it: so is every other order, exits among them."""
    turned_away: bool = False
    """Certainly refused for one of these three before an order was looked at: nothing was placed, changed or cancelled, and once the
    reason has passed the same message may be sent again. Not for a refusal that could also mean something else."""


class OrderCodec(Protocol):
    """place_request and modify_request raise `NotSendable` for what cannot be said in the broker's words.

    Every request says which order it is about (`order_messages.about_new`, `about_standing`).
    """

    def place_request(self, access: Access, ticket: OrderTicket, now: datetime) -> WireRequest: ...

    def modify_request(self, access: Access, change: OrderChange, now: datetime) -> WireRequest: ...

    def cancel_request(self, access: Access, row: OrderRow, now: datetime) -> WireRequest: ...

    def parse_order_answer(self, response: WireResponse) -> OrderAnswer:
        """Read the answer to a place, modify or cancel; never raises.

        Says what the answer says, with the names that stand in it; whether it answers what was asked, `order_messages.answer_to`
        tells, through which every answer is read.
        """


class BookCodec(Protocol):
    """A read may take several calls (`ReadFlow`); their answers are parsed together, in order.

    `listings` (by broker_token) turns the lots of brokers that speak lots into units; see `OrderRow.contract_units` for
    a row whose listing is not known.
    """

    def order_requests(self, access: Access, now: datetime) -> ReadFlow: ...

    def parse_orders(self, responses: Sequence[WireResponse], listings: Mapping[str, Listing]) -> list[OrderRow]: ...

    def trade_requests(self, access: Access, now: datetime) -> ReadFlow: ...

    def parse_trades(self, responses: Sequence[WireResponse], listings: Mapping[str, Listing]) -> list[TradeRow]: ...


@attrs.frozen(kw_only=True)
class TokenQuestion:
    """Which order is asked for: one that was sent with our token and has not been seen since."""

    token: str
    instrument_token: str
    """`Listing.broker_token`."""
    segment: str
    """Stored form, such as `nse_equities`."""


@attrs.frozen
class FoundByToken:
    """The broker has the order."""

    order_id: str | None
    """None where the answer names it by the exchange's number only."""


class TokenCodec(Protocol):
    """Asks for one order by our token; a module of a broker that can be asked so."""

    def token_request(self, access: Access, question: TokenQuestion, now: datetime) -> WireRequest: ...

    def parse_token(self, response: WireResponse, question: TokenQuestion) -> FoundByToken | None:
        """Return the order with that token; None on a clear answer that there is none. Whatever else says nothing, and raises."""


class MarginCodec(Protocol):
    """Asks how much money one order needs before it is sent; a module of a broker that can be asked so."""

    def margin_request(self, access: Access, ticket: OrderTicket, price: Decimal, now: datetime) -> WireRequest:
        """`price` is what the order is expected to trade at, in rupees: for the types that carry none. Raises `NotSendable`."""

    def parse_margin(self, response: WireResponse) -> Decimal:
        """Return the rupees, above zero, that the order needs by itself. An answer that does not say so raises."""


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
        """Return ticks by broker_token, for the instruments asked for only: one about another instrument is dropped,
        one whose identity contradicts the question raises BadAnswer (lesson 10)."""


class CandleCodec(Protocol):
    def candle_requests(
        self, access: Access, listing: Listing, interval: str, first: date, last: date
    ) -> tuple[WireRequest, ...]:
        """Calls for candles of `interval` (rules 1.4.8 names the broker offers, else ValueError), both days inclusive,
        split by the broker's span per call, oldest first."""

    def parse_candles(self, responses: Sequence[WireResponse], listing: Listing) -> list[Candle]:
        """Oldest first; quantities in units, None where the listing's units per lot are not known."""


class InstrumentCodec(Protocol):
    def file_requests(self, access: Access, now: datetime) -> ReadFlow:
        """The calls for the broker's files. Raises KeyError (by `Access.token`) where they need a login and there is none.

        The body of a call of kind FILE is kept without being shown to the flow; one that it has to look into is of another kind.
        A call that failed is answered by one without a body, and the flow goes on with the next file; a flow that needs that
        answer raises BadAnswer.
        """

    def read_files(self, bodies: Sequence[bytes]) -> pl.DataFrame:
        """`bodies` are those of all answers of `file_requests`, in order, `instrument_files.MISSING` for one that did not come.
        Return the normalized frame of `brokers/listings/frame.py`; rows that fit nothing are `uncategorised`.

        Of several files one that is missing costs what it holds, and what cannot be told without it; those that cannot be read
        are named with `instrument_files.BadFiles`.
        """


class FeedDecoder(Protocol):
    """One connection's decoder: fed every frame, keeps what it needs between frames."""

    def receive(self, frame: bytes | str) -> list[BrokerEvent]:
        """Decode one whole message; never raises (a bad frame is a CorruptFrame)."""


@runtime_checkable
class SubscriptionDecoder(FeedDecoder, Protocol):
    """A decoder of frames that name instruments otherwise than their broker_token: it is told what is subscribed."""

    def subscribing(self, listings: Sequence[Listing]) -> None:
        """Learn the names of these instruments; called before the messages that subscribe them leave."""


class FeedCodec(Protocol):
    """A broker's market-data socket, its order-update socket, or both in one."""

    sockets: int
    """Most connections at once."""
    per_socket: int
    """Most instruments on one connection."""
    silence_seconds: float | None
    """A connection silent this long during a session is dead; None = the broker promises no heartbeat (lesson 3)."""
    ping_seconds: float | None
    """How often `ping_message` must be sent; None = never."""
    ready_seconds: float | None
    """None = subscriptions follow the opening messages at once; otherwise they wait for the decoder's `Ready`, this long."""

    def address(self, access: Access, now: datetime) -> StreamFlow: ...

    def decoder(self, access: Access, address: StreamAddress, listings: Mapping[str, Listing]) -> FeedDecoder:
        """Return a fresh decoder of the connection to `address`; `listings` (by broker_token) is read live."""

    def opening_messages(self, access: Access) -> list[bytes | str]: ...

    def subscribe_messages(self, access: Access, listings: Sequence[Listing]) -> list[bytes | str]: ...

    def unsubscribe_messages(self, access: Access, listings: Sequence[Listing]) -> list[bytes | str]: ...

    def ping_message(self) -> bytes | str | None:
        """None = a websocket ping, whose pong must come before the next is due."""


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
    """Bare segments, exchange-prefixed (`nse_equities`), for which it takes orders."""
    order_types: Mapping[str, frozenset[str]]
    """Calendar (`equity`, `currency`, `commodity`) -> order types."""
    products: Mapping[str, frozenset[str]]
    validities: frozenset[str]
    after_market: bool
    disclosed_quantity: bool
    modifiable: frozenset[str]
    """Of price, trigger_price, quantity, order_type, validity, disclosed_quantity; others answer 501."""
    asked_by_token: bool
    """Whether an order can be asked for by our token (order-engine 2.4): then `Broker.by_token` says how."""
    order_time_seconds: int = 1
    """The fineness in which its books write when an order was placed."""
    refused_in_derivatives: frozenset[str] = frozenset()
    """Order types of `order_types` that it does not take for futures and options."""

    def order_types_in(self, segment: str) -> frozenset[str]:
        """Return the order types it takes in a segment (bare or stored)."""
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
    """Whether the redirect of an assisted login carries the `state` of its page: only then is it told from another's."""
    credential_keys: frozenset[str]
    """Keys it needs in onebroker.toml, secrets among them."""
    other_credential_keys: tuple[frozenset[str], ...] = ()
    """Further sets of keys, any one of which does instead (Dhan's pasted access token, Groww's api_secret)."""
    optional_credential_keys: frozenset[str] = frozenset()
    """Keys it can use besides (Fyers' pin)."""
    endpoints: Endpoints
    capabilities: Capabilities
    order_windows: Windows
    call_windows: Windows
    kind_windows: Mapping[CallKind, Windows] = attrs.field(factory=dict)
    """Further windows of single kinds (quotes, history), beside those of all calls; without `day`."""
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
    """Whether its positions tell what was realized today, or what was bought and sold; else the day's result is worked out from its
    executed orders."""
    candles_with_interest: bool = True
    """Whether its candles of futures and options carry the open interest."""
    feed: FeedCodec
    order_feed: FeedCodec | None
    """None when `feed` carries the order updates too, or when the broker has none."""
    feed_carries_orders: bool
    quotes_first_on: frozenset[str] = frozenset()
    """Exchanges whose priority list of REST quotes names it (architecture 13)."""
    by_token: TokenCodec | None = None
    """None where an order cannot be asked for by our token."""
    margins: MarginCodec | None = None
    """None where the broker does not tell what an order needs."""
    account_field: AccountField | None = None
    """None where no answer names the account (docs/funds-and-positions.md lists what each broker's do)."""
    algo_field: AlgoField | None = None
    """None where no documented field of its order messages takes an algo id."""
    address_rule: str = ""
    """What the broker's documents say about the public addresses it takes calls from; "" = nothing."""
    event_account_field: AccountField | None = None
    """The same for the text messages of the socket that carries orders; None where none names it."""

    @property
    def all_credential_keys(self) -> frozenset[str]:
        """Every key it may find in onebroker.toml."""
        return self.credential_keys.union(self.optional_credential_keys, *self.other_credential_keys)

    def missing_credentials(self, given: Collection[str]) -> frozenset[str]:
        """Return the keys that are missing for the nearest complete set; empty when one is complete."""
        sets = (self.credential_keys, *self.other_credential_keys)
        return min((keys - frozenset(given) for keys in sets), key=len)


Registry = Mapping[str, Broker]
"""Broker code -> broker, in the order of the codes' priority for REST quotes (architecture 13)."""
