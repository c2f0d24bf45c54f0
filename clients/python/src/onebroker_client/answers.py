"""What the routes answer. Made by generate.py from the service's documents; do not change it by hand."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias

from msgspec import Struct

from onebroker_client.values import Choice, Moment, N
from onebroker_client.words import (
    AppliesTo,
    BareSegment,
    Columns,
    DayState,
    Direction,
    Exchange,
    ForwardSource,
    HaltMode,
    IdentityFields,
    Interval,
    Kind,
    LastLoadKind,
    LegState,
    LoginState,
    LtpSource,
    OnEnd,
    OptionType,
    OrderType,
    Outcome,
    ParentState,
    Part,
    PartState,
    PriceBasis,
    PricedBy,
    PricesSource,
    ProblemKind,
    ReadStatus,
    Rule,
    Segment,
    Shape,
    Side,
    Source,
    Stage,
    StartThen,
    Status,
    SyntheticType,
    Validity,
)


class AdditionalDetails(Struct, Generic[N], frozen=True, kw_only=True):
    """The details, with the further attributes of each broker's instrument file."""

    instrument_id: str
    """The same at every broker and on every day."""
    exchange: Exchange
    segment: Segment
    shape: Shape
    symbol: str | None
    """Of a security."""
    underlying_symbol: str | None
    """Of a future or an option."""
    expiry_date: date | None
    """Of a future or an option."""
    strike_price: N | None
    """Of an option, in rupees."""
    option_type: OptionType | None
    name: str | None
    isin: str | None
    lot_size: int | None
    """Units in a lot; null when the brokers do not agree on it."""
    tick_size: N | None
    """Rupees; null when the brokers do not agree on it."""
    freeze_quantity: int | None
    """The most units that the exchange takes in one order; null when it is not known."""
    brokers: dict[str, BrokerNaming[N]]
    """Broker code -> naming; only brokers that list the instrument."""
    attributes: dict[str, dict[str, str]]
    """Broker code -> attribute -> value, as in the file."""


class AdditionalDetailsEntry(Struct, Generic[N], frozen=True, kw_only=True):
    """One item's answer: the place of the item in the request, the status that the GET form would give, and `data` (200) or `error`."""

    request_index: int
    status: int
    data: AdditionalDetails[N] | None = None
    error: str | None = None


class AdditionalDetailsResults(Struct, Generic[N], frozen=True, kw_only=True):
    """An entry for each item of the request, in its order."""

    results: list[AdditionalDetailsEntry[N]]


class AlertsHealth(Struct, frozen=True, kw_only=True):
    """The messages to people. The counts are since the start of the actor."""

    receivers: list[ReceiverHealth]
    waiting: int
    gathering: int
    sent: int
    failed: int
    given_up: int
    dropped_events: int
    store_trouble: str | None
    """Why the messages cannot be stored now."""


class Alive(Struct, frozen=True, kw_only=True):
    status: Literal["ok"]


class AuditHealth(Struct, frozen=True, kw_only=True):
    """The audit. The counts are since the start of the process."""

    lines: int
    waiting: int
    lost: int
    synced_at: str | None
    trouble: str | None


class AuditPage(Struct, frozen=True, kw_only=True):
    """Lines of the audit, oldest first."""

    lines: list[dict[str, Any]]
    cursor: str
    """For the next request, also at the present end."""
    more: bool
    """Whether lines after the cursor may be there now."""


class BackfillProgress(Struct, frozen=True, kw_only=True):
    """One moment of a backfill, for showing its progress."""

    instruments: int
    """Total number."""
    done: int
    rows: int
    refused: int
    unread: int
    brokers: dict[str, BrokerShare]


class BrokerHealth(Struct, Generic[N], frozen=True, kw_only=True):
    """One broker's state."""

    login: LoginState
    trouble: str | None
    read_errors: dict[str, str]
    """Resource -> why its last read failed; empty when all reads succeed."""
    contradictions: int
    broken_acknowledgments: int
    market_feed: FeedHealth
    order_feed: FeedHealth | None
    """Null: the market feed carries the order updates, or the broker has no order feed."""
    room: BudgetRoom[N] | None
    """The messages that its limits leave."""
    parts: dict[str, str | None]
    """Document -> when the broker was last read for it; null: it is missing there."""


class BrokerLogin(Struct, frozen=True, kw_only=True):
    """How a broker is logged in to."""

    broker: str
    """Broker code."""
    page: str | None
    """The address that the person opens; null when the broker needs no person."""
    redirect: str | None
    """The path to which the broker must send the person back: it is registered at the broker with this service's address before it."""
    closes_at: Moment | None
    """Until when the login can be brought back, YYYY-MM-DDTHH:MM:SS in Indian time."""
    login: MadeLogin | None
    """The login that was made now; null when a person must make it."""


class BrokerNaming(Struct, Generic[N], frozen=True, kw_only=True):
    """How one broker names an instrument."""

    broker_token: str
    tradingsymbol: str
    exchange: str
    """The broker's own exchange code."""
    lot_size: int | None
    """Units in a lot."""
    tick_size: N | None
    """Rupees."""


class BrokerPosition(Struct, Generic[N], frozen=True, kw_only=True):
    """An element of `by_broker`: the broker's own row."""

    broker: str
    position_key: str
    instrument_token: str
    tradingsymbol: str
    quantity: int | None
    """Units, signed: below zero for a short position."""
    average_price: N | None
    """Rupees."""
    pnl: PositionPnl[N]
    contracts: int | None = None
    """Only when `quantity` is null: the broker's signed quantity, in contracts whose units are not known."""
    covered_by_holdings: bool | None = None
    """(ours) True for a delivery row below zero whose units are in the broker's holdings: a sale out of the holdings, not a short. Else absent."""


class BrokerRead(Struct, frozen=True, kw_only=True):
    """One broker's part in a document."""

    broker: str
    """Broker code."""
    status: ReadStatus
    """`ok`: read and recent. `stale`: older than the document's limit, and still included. `missing`, `unreadable`: not included."""
    as_of: Moment | None
    """When the broker was last read, YYYY-MM-DDTHH:MM:SS in Indian time; null when it is missing."""


class BrokerShare(Struct, frozen=True, kw_only=True):
    """The share of one broker in a run."""

    instruments: int
    rows: int
    why: str | None
    """Why the broker is left alone for the rest of the run, or pauses."""


class BudgetRoom(Struct, Generic[N], frozen=True, kw_only=True):
    """What other modules see: the messages that could be sent at once, and the day's count of order messages."""

    entry_room: int | None
    """Order messages possible without the reserve; None = no limit."""
    exit_room: int | None
    """Order messages possible with the reserve; None = no limit."""
    order_windows: dict[str, int]
    """Window name -> order messages left in it, including the reserve."""
    call_windows: dict[str, int]
    """The same for all calls; includes `day` where the calls of a day are capped."""
    closed_seconds: float
    """Seconds for which the broker's own refusal still closes the budget."""
    order_messages_today: int
    daily_cap: int | None
    exit_reserve: int
    free_share: N
    """The smallest share, 0 to 1, left in any window that an order message counts in, or in the daily cap."""


class CancelEntry(Struct, Generic[N], frozen=True, kw_only=True):
    """The answer to one cancel of a list."""

    request_index: int
    status: int
    """The status that the single form would give."""
    response: CancelEntryResponse[N]


class CancelRequest(Struct, frozen=True, kw_only=True):
    method: str
    url: str


class CancelResults(Struct, Generic[N], frozen=True, kw_only=True):
    """An entry for each item of the request, in its order."""

    results: list[CancelEntry[N]]


class Cancelled(Struct, Generic[N], frozen=True, kw_only=True):
    """The answer to the cancel of an order. On a dry run `dry_run` and `request` take the place of the outcome."""

    broker: str
    order_id: str
    status_before_cancel: str
    dry_run: bool | None = None
    request: CancelRequest | None = None
    outcome: Outcome | None = None
    status_message: str | None = None
    broker_response: Any = None
    warnings: list[str] | None = None
    """(ours) The units that stay open without this stop, where the order is the stop of a parent."""
    timing_ms: Timing[N]


class CancelledLeg(Struct, frozen=True, kw_only=True):
    """The cancel of one resting order of a parent."""

    leg_id: str
    broker: str
    order_id: str | None
    outcome: Outcome
    status_message: str | None


class CancelledOrder(Struct, frozen=True, kw_only=True):
    """The cancel of one resting order of a part."""

    leg_id: str
    broker: str
    order_id: str | None
    outcome: Outcome
    status_message: str | None
    cancel_accepted: bool


class CashMovement(Struct, Generic[N], frozen=True, kw_only=True):
    """Rupees."""

    pay_in_today: N
    pay_out_today: N
    uncleared_funds: N
    pending_withdrawal: N


class CatalogueHealth(Struct, frozen=True, kw_only=True):
    """The list of instruments."""

    mapping_date: date | None
    published_today: bool
    reason: str
    """Why it was not published today; empty when it was."""
    build: Stage
    trouble: str | None
    lost: dict[str, str]
    """Broker code -> why the mapping holds nothing of the broker."""
    missing_files: dict[str, dict[str, str]]
    """Broker code -> file -> why the mapping holds nothing of it."""
    shrunk: dict[str, dict[str, int]]
    """Broker code -> segment -> listings before, where there are far fewer now."""
    unlisted: int
    """Instruments that are listed no more and are still known."""


class Cell(Struct, Generic[N], frozen=True, kw_only=True):
    """One option. Prices in rupees, quantities in units; null = not known."""

    instrument_id: str
    last_price: N | None = None
    bid: N | None = None
    ask: N | None = None
    volume: int | None = None
    oi: int | None = None
    oi_change: int | None = None
    """Open interest less that of the last stored day candle before today."""
    priced_by: PricedBy | None = None
    """The price behind the volatility: the middle of bid and ask, else the last price."""
    implied_volatility: N | None = None
    """Fraction a year."""
    delta: N | None = None
    gamma: N | None = None
    theta: N | None = None
    """Rupees a calendar day."""
    vega: N | None = None
    """Rupees for one percentage point of volatility."""
    rho: N | None = None
    """Rupees for one percentage point of the rate."""
    source: Source | None = None
    """`candle`: outside market hours, the close of the last stored day candle."""
    received_at: Moment | None = None
    """Epoch seconds of the quote's receipt, or of the candle."""
    age_seconds: float | None = None
    missing: dict[str, str]
    """Name of a null field -> why. `quote` stands for all figures, `greeks` for volatility and greeks."""


class Chain(Struct, Generic[N], frozen=True, kw_only=True):
    mapping_date: str
    exchange: str
    segment: str
    underlying_symbol: str
    expiry_date: str
    strikes_listed: int
    as_of: Moment
    """Epoch seconds."""
    market_open: bool
    expires_at: Moment
    """Epoch seconds: the exchange's close on the expiry day."""
    days_to_expiry: N
    """Calendar days until then; 0 afterwards."""
    rate: N
    """The setting `chain.rate`, a fraction a year."""
    forward: Forward[N]
    totals: Totals[N]
    rows: list[Row[N]]
    """By rising strike."""


class ChargesHealth(Struct, frozen=True, kw_only=True):
    checked: date
    """The day on which the tables of charges were last compared with their sources."""
    problem: str | None


class ClockHealth(Struct, frozen=True, kw_only=True):
    """The wall clock of the machine."""

    steps: int
    """How often it was set since the start."""
    brokers_ahead_seconds: dict[str, float | None]
    """Broker code -> how far its clock is ahead of ours; null where that is not known."""
    problem: str | None


class CloseDryRun(Struct, Generic[N], frozen=True, kw_only=True):
    """What a close within limits would do; nothing was sent."""

    dry_run: bool
    would_cancel: list[OpenOrder]
    would_close: list[Closing]
    brokers_not_read: list[str]
    """Brokers whose orders or positions are not known now."""
    positions_not_readable: list[UnreadablePositions]
    positions_doubted: list[DoubtedPosition] | None = None
    """Only when there are such positions."""
    timing_ms: Timing[N]
    closes: CloseLimits
    trades_not_read: list[str] | None = None
    """`broker:position_key`; only of a close by tag, where the trade book does not show all fills: the units of the tag follow the order book then."""


class CloseLimits(Struct, frozen=True, kw_only=True):
    """What a close covers; null = no limit."""

    broker: str | None
    instrument_id: str | None
    product: str | None
    """Product word of a position, such as `intraday`."""
    tag: str | None


class ClosedWithin(Struct, Generic[N], frozen=True, kw_only=True):
    """What a close did within its limits. Every field is about the limits only."""

    halted: ParentsHalted
    cancelled: list[FlattenCancel]
    still_open_after_waiting: list[str]
    """`broker:order_id` of orders that the books still show open."""
    not_shown_after_waiting: list[UnshownOrder]
    """They may still fill, and are cancelled when their brokers show them."""
    closed: list[FlattenClose]
    positions_still_open_after_waiting: list[str]
    """`broker:position_key`."""
    brokers_not_read: list[str]
    positions_not_readable: list[UnreadablePositions]
    positions_doubted: list[DoubtedPosition] | None = None
    """Only when there are such positions. They are closed by their fills, or by their row where it shows more than the fills explain."""
    flat: bool
    """True only when every cancel and close went out, and the brokers show nothing open and agree with their own fills."""
    timing_ms: Timing[N]
    closes: CloseLimits
    trades_not_read: list[str] | None = None
    """`broker:position_key`; only of a close by tag, where the trade book does not show all fills: the units of the tag follow the order book then."""


class Closing(Struct, frozen=True, kw_only=True):
    """An order that closes a position, or a slice of a position above the freeze quantity."""

    broker: str
    position_key: str
    instrument_token: str
    tradingsymbol: str
    exchange: str
    """The broker's own exchange code."""
    segment: Segment | None
    """Null when the broker's token does not name exactly one instrument."""
    product: str
    """Product word of a position, such as `intraday`."""
    quantity: int | None
    """Units of the position, signed; null when they are not known."""
    transaction_type: Side
    close_quantity: int | None
    """Units of the order."""
    covered_by_holdings: bool | None = None
    """(ours) True: a sale out of the holdings, which this order buys back unless `skip_covered` is true. Else absent."""


class ConnectionFigures(Struct, frozen=True, kw_only=True):
    """The figures that health and metrics show."""

    open: int
    proved: int
    most: int
    refused: int
    """Connections closed as soon as they came, since the start of the process."""
    gave_way: int
    """Connections closed to make room for a newer one, since the start of the process."""
    free_files: int
    """Files that the process may still open."""


class Crash(Struct, frozen=True, kw_only=True):
    """A part of the service that crashed and was started again."""

    actor: str
    error: str
    count: int
    at: str
    last_message: str | None


class DayBar(Struct, Generic[N], frozen=True, kw_only=True):
    """The prices of the day; null before the first trade."""

    open: N | None
    high: N | None
    low: N | None


class Depth(Struct, Generic[N], frozen=True, kw_only=True):
    """The best prices of the order book, the best first."""

    buy: list[QuoteLevel[N]]
    sell: list[QuoteLevel[N]]


class DescribedRoutes(Struct, frozen=True, kw_only=True):
    """An OpenAPI 3.1 document."""

    openapi: str
    info: dict[str, Any]
    servers: list[dict[str, Any]]
    tags: list[dict[str, Any]]
    paths: dict[str, Any]
    components: dict[str, Any]


class DescribedStream(Struct, frozen=True, kw_only=True):
    """An AsyncAPI 3 document."""

    asyncapi: str
    info: dict[str, Any]
    defaultContentType: str
    servers: dict[str, Any]
    channels: dict[str, Any]
    operations: dict[str, Any]
    components: dict[str, Any]


class Details(Struct, Generic[N], frozen=True, kw_only=True):
    """One instrument, with each broker's naming of it."""

    instrument_id: str
    """The same at every broker and on every day."""
    exchange: Exchange
    segment: Segment
    shape: Shape
    symbol: str | None
    """Of a security."""
    underlying_symbol: str | None
    """Of a future or an option."""
    expiry_date: date | None
    """Of a future or an option."""
    strike_price: N | None
    """Of an option, in rupees."""
    option_type: OptionType | None
    name: str | None
    isin: str | None
    lot_size: int | None
    """Units in a lot; null when the brokers do not agree on it."""
    tick_size: N | None
    """Rupees; null when the brokers do not agree on it."""
    freeze_quantity: int | None
    """The most units that the exchange takes in one order; null when it is not known."""
    brokers: dict[str, BrokerNaming[N]]
    """Broker code -> naming; only brokers that list the instrument."""


class DetailsEntry(Struct, Generic[N], frozen=True, kw_only=True):
    """One item's answer: the place of the item in the request, the status that the GET form would give, and `data` (200) or `error`."""

    request_index: int
    status: int
    data: Details[N] | None = None
    error: str | None = None


class DetailsResults(Struct, Generic[N], frozen=True, kw_only=True):
    """An entry for each item of the request, in its order."""

    results: list[DetailsEntry[N]]


class DiskHealth(Struct, frozen=True, kw_only=True):
    """The disk of the data directory, in megabytes."""

    free_mb: int | None
    reserve_mb: int
    trouble: str | None


class DoubtedPosition(Struct, frozen=True, kw_only=True):
    """A position whose row at the broker and whose fills do not agree. Units are signed."""

    broker: str
    position_key: str
    instrument_id: str | None
    """Null when the broker's token does not name exactly one instrument."""
    tradingsymbol: str
    product: str
    """Product word of a position, such as `intraday`."""
    shown: int
    """Units that the broker shows."""
    by_fills: int
    """Units by the broker's own orders: carried in, bought and sold."""
    since: str
    """Since when they do not agree, in Indian time."""
    status_message: str


class DoubtedRow(Struct, frozen=True, kw_only=True):
    """A position of a broker whose row does not agree with the fills of the broker's orders. Units are signed."""

    instrument_id: str | None
    """Null when the broker's token names no single instrument."""
    tradingsymbol: str
    product: str
    """Product word of a position, such as `intraday`."""
    shown: int
    """Units that the broker shows."""
    by_fills: int
    """Units by the broker's own orders: carried in, bought and sold."""
    since: str
    """Since when they do not agree, in Indian time."""


class DryRunRequest(Struct, Generic[N], frozen=True, kw_only=True):
    """One order that the start of a plan would send."""

    path: str
    broker: str
    request: ShownRequest
    order: ShownOrder[N]
    estimated_cost: EstimatedCost[N] | None
    skipped: list[Skipped]


class EndedParents(Struct, Generic[N], frozen=True, kw_only=True):
    """Parents that ended on a day, the newest end first."""

    parents: list[Parent[N]]
    cursor: str | None
    """For the next request; null when no parent was listed."""
    more: bool
    """Whether further parents ended on that day, before these."""
    unreadable_parents: list[str] | None = None
    """Ids of parents whose record cannot be read; left out when there are none."""


class EngineHealth(Struct, frozen=True, kw_only=True):
    """Whether the order engine takes orders."""

    running: bool
    reason: str
    """Why it takes none; empty when it runs."""
    starting: bool
    trouble: str | None
    """What keeps open orders from acting although the engine runs."""


class EstimatedCost(Struct, Generic[N], frozen=True, kw_only=True):
    """The charges of an order, in rupees."""

    total: N
    brokerage: N
    exchange: N
    regulator: N
    stamp: N
    transaction_tax: N
    gst: N
    dp: N
    """Depository charge, its tax included."""


class ExpiriesAnswer(Struct, frozen=True, kw_only=True):
    mapping_date: str
    exchange: str
    underlying_symbol: str
    futures: list[ExpiryRow]
    options: list[ExpiryRow]


class ExpiryRow(Struct, frozen=True, kw_only=True):
    """One expiry of one segment."""

    expiry_date: str
    segment: str
    kind: Kind
    """`monthly`: the last listed expiry of its month among the underlying's futures and options."""
    contracts: int
    strikes: int | None
    """Different strikes; None for futures."""


class Failure(Struct, Generic[N], frozen=True, kw_only=True):
    """Why a request was not carried out. The other keys are there where they help."""

    error: str
    """The reason, as a sentence."""
    outcome: Outcome | None = None
    """`unknown`: the request may have been carried out all the same."""
    broker: str | None = None
    order_id: str | None = None
    brokers: list[FailureBrokers[N]] | None = None
    """The parts of the document that is not served, or the brokers that hold an order of this id."""
    instrument_id: str | None = None
    skipped: list[Skipped] | None = None
    holders: list[Holder] | None = None
    """(ours) Of a delivery sale that no broker can deliver: who can deliver a part."""
    contract_size_status: str | None = None
    """Why the number of units in a contract is not known."""
    as_of: Moment | None = None
    """When the document that is not served was written, YYYY-MM-DDTHH:MM:SS in Indian time."""
    intent_id: str | None = None
    """`GET /api/orders/intents/<intent_id>` tells later what came of it."""
    parent_id: str | None = None
    part: str | None = None
    expired_seconds: float | None = None
    """For how long the caller had stopped waiting, in seconds."""


class FeedHealth(Struct, frozen=True, kw_only=True):
    """The sockets of one kind at a broker."""

    connected: bool
    last_frame_at: str | None
    reconnects: int
    corrupt_frames: int
    subscribed: int
    trouble: str | None
    down_since: str | None
    """Null: connected, or nothing is wanted of it."""
    corrupt_since: str | None
    corrupt_at: str | None


class FieldChange(Struct, frozen=True, kw_only=True, rename={"from_": "from"}):
    """The change of one field."""

    from_: Any
    """Null where the order has no such price."""
    to: Any


class FindAnswer(Struct, Generic[N], frozen=True, kw_only=True):
    mapping_date: str
    query: str
    instruments: list[FoundInstrument[N]]


class FlattenCancel(Struct, frozen=True, kw_only=True):
    """The cancel of one order."""

    broker: str
    order_id: str
    sent: bool
    outcome: Outcome | None
    """Null when the cancel was not sent."""
    status_message: str | None


class FlattenClose(Struct, frozen=True, kw_only=True):
    """The close of one position."""

    broker: str
    position_key: str
    instrument_token: str
    tradingsymbol: str
    exchange: str
    """The broker's own exchange code."""
    segment: Segment | None
    """Null when the broker's token does not name exactly one instrument."""
    product: str
    """Product word of a position, such as `intraday`."""
    quantity: int | None
    """Units of the position, signed; null when they are not known."""
    transaction_type: Side
    close_quantity: int | None
    """Units of the order."""
    covered_by_holdings: bool | None = None
    """(ours) True: a sale out of the holdings, which this order buys back unless `skip_covered` is true. Else absent."""
    sent: bool
    outcome: Outcome | None
    order_id: str | None
    status_message: str | None
    http_status: int
    """The status that place would give the order."""
    intent_id: str | None


class FlattenDryRun(Struct, Generic[N], frozen=True, kw_only=True):
    """What a flatten would do; nothing was sent."""

    dry_run: bool
    would_cancel: list[OpenOrder]
    would_close: list[Closing]
    brokers_not_read: list[str]
    """Brokers whose orders or positions are not known now."""
    positions_not_readable: list[UnreadablePositions]
    positions_doubted: list[DoubtedPosition] | None = None
    """Only when there are such positions."""
    timing_ms: Timing[N]


class Flattened(Struct, Generic[N], frozen=True, kw_only=True):
    """What a flatten did."""

    halted: ParentsHalted
    cancelled: list[FlattenCancel]
    still_open_after_waiting: list[str]
    """`broker:order_id` of orders that the books still show open."""
    not_shown_after_waiting: list[UnshownOrder]
    """They may still fill, and are cancelled when their brokers show them."""
    closed: list[FlattenClose]
    positions_still_open_after_waiting: list[str]
    """`broker:position_key`."""
    brokers_not_read: list[str]
    positions_not_readable: list[UnreadablePositions]
    positions_doubted: list[DoubtedPosition] | None = None
    """Only when there are such positions. They are closed by their fills, or by their row where it shows more than the fills explain."""
    flat: bool
    """True only when every cancel and close went out, and the brokers show nothing open and agree with their own fills."""
    timing_ms: Timing[N]


class Forward(Struct, Generic[N], frozen=True, kw_only=True):
    """The forward price of the underlying for the expiry."""

    price: N | None
    source: ForwardSource | None
    instrument_id: str | None
    """The future, when the price is from it."""
    reason: str | None
    """Why there is none."""


class FoundInstrument(Struct, Generic[N], frozen=True, kw_only=True):
    """A record as in `/api/instruments/search`, and how well it fits."""

    instrument_id: str
    exchange: str
    segment: str
    shape: str
    symbol: str | None
    underlying_symbol: str | None
    expiry_date: str | None
    strike_price: N | None
    option_type: str | None
    name: str | None
    isin: str | None
    lot_size: int | None
    tick_size: N | None
    score: N


class FundsDocument(Struct, Generic[N], frozen=True, kw_only=True):
    """Funds of all brokers, in rupees, rounded to paise. A figure that a broker does not report counts as zero."""

    summary: FundsSummary[N]
    pnl: FundsPnl[N]
    margin_breakdown: MarginBreakdown[N]
    cash_movement: CashMovement[N]
    segments: dict[str, SegmentFunds[N]]
    """Only segments that at least one broker reports, in the order of SEGMENTS."""
    brokers: list[FundsRead[N]]
    as_of: Moment
    """When the document was made, YYYY-MM-DDTHH:MM:SS in Indian time."""


class FundsPnl(Struct, Generic[N], frozen=True, kw_only=True):
    """Rupees, as the brokers show them with their funds."""

    realized: N
    unrealized: N


class FundsRead(Struct, Generic[N], frozen=True, kw_only=True):
    """One broker's part in the funds."""

    broker: str
    """Broker code."""
    status: ReadStatus
    """`ok`: read and recent. `stale`: older than the document's limit, and still included. `missing`, `unreadable`: not included."""
    as_of: Moment | None
    """When the broker was last read, YYYY-MM-DDTHH:MM:SS in Indian time; null when it is missing."""
    available_balance: N | None = None
    """Rupees; left out when the broker's part is not included."""
    pools: dict[str, N]
    """Segment -> free cash in rupees; empty for a broker with one pool."""
    error: str | None = None
    """Why the part is unreadable."""


class FundsSummary(Struct, Generic[N], frozen=True, kw_only=True):
    """Rupees, of all brokers that are `ok` or `stale` together."""

    total_balance: N
    """available_balance + margin_utilized."""
    available_balance: N
    cash_balance: N
    collateral_value: N
    adhoc_credit: N
    margin_utilized: N
    withdrawable_balance: N


class HaltHealth(Struct, frozen=True, kw_only=True):
    """The halt of trading by a person. All fields are null until the stored halt has been read."""

    halted: bool | None
    mode: HaltMode | None
    reason: str | None
    since: str | None


class HaltState(Struct, frozen=True, kw_only=True):
    """Whether trading is halted. The other fields are there only when it is."""

    halted: bool
    mode: HaltMode | None = None
    reason: str | None = None
    since: Moment | None = None
    """ISO 8601 with offset."""


class Halted(Struct, frozen=True, kw_only=True):
    """Trading is halted, and the halt is stored."""

    halted: bool
    mode: HaltMode
    reason: str
    since: Moment
    """ISO 8601 with offset."""
    entries_under_way: bool
    """Whether a message that was leaving at that moment was not answered in time."""


class Health(Struct, Generic[N], frozen=True, kw_only=True):
    """What is wrong now, and the state of each part. A part that does not run has no key."""

    status: Status
    """`degraded` while `problems` is not empty."""
    time: str
    problems: list[Problem]
    """Oldest first."""
    actors: dict[str, bool]
    """Part of the service -> whether it is up."""
    crashes: list[Crash]
    store: StoreHealth
    brokers: dict[str, BrokerHealth[N]] | None = None
    engine: EngineHealth | None = None
    unknown_orders: list[UnknownOrder] | None = None
    order_problems: list[OrderProblem] | None = None
    market: dict[str, MarketHealth] | None = None
    """Exchange and calendar, such as `nse equity` -> what is known of today."""
    clock: ClockHealth | None = None
    charges: ChargesHealth | None = None
    daily_loss: LossHealth[N] | None = None
    """Null: there is no limit."""
    halt: HaltHealth | None = None
    catalogue: CatalogueHealth | None = None
    documents: dict[str, str | None] | None = None
    """Document -> its `as_of`; null before it is first made."""
    reference: ReferenceHealth | None = None
    history: HistoryHealth | None = None
    alerts: AlertsHealth | None = None
    disk: DiskHealth | None = None
    audit: AuditHealth | None = None
    streams: StreamsHealth | None = None
    connections: ConnectionFigures | None = None


class HistoryHealth(Struct, frozen=True, kw_only=True):
    """Candles and their loads."""

    last_load: LastLoad | None
    loading: str | None
    """The market that is being loaded now."""
    daily: dict[str, MarketLoads]
    backfill: BackfillProgress | None
    tick_archive: TickArchiveHealth


class Holder(Struct, frozen=True, kw_only=True):
    """A broker that can deliver a part of a delivery sale."""

    broker: str
    quantity: int | None
    """Units; null when the holdings there cannot be read."""


class HoldingPnl(Struct, Generic[N], frozen=True, kw_only=True):
    """Rupees of the whole holding; null when a figure needed for it is not known."""

    unrealized: N | None
    day_change: N | None
    """quantity x (last_price - the previous close the brokers report)."""
    day_change_percentage: N | None


class HoldingView(Struct, Generic[N], frozen=True, kw_only=True):
    """An element of `holdings`, fields in the order of rules 1.2.5."""

    instrument_id: str | None
    """Null when the catalogue does not know the broker's token."""
    isin: str | None
    symbol: str
    exchange: str
    segment: str | None
    """Null like `instrument_id`."""
    quantity: int
    """Units of all buckets together: settled, T1, margin trading."""
    average_price: N | None
    """invested_value / quantity; null when a broker does not report the cost of a bucket."""
    invested_value: N | None
    """Rupees; each bucket at its own average price."""
    last_price: N | None
    """Rupees; null while no price is known."""
    current_value: N | None
    """quantity x last_price."""
    pnl: HoldingPnl[N]
    collateral_quantity: int
    """Pledged units, which `quantity` includes."""


class HoldingsDocument(Struct, Generic[N], frozen=True, kw_only=True):
    """Holdings of all brokers, one row for each company, sorted by symbol."""

    holdings: list[HoldingView[N]]
    summary: HoldingsSummary[N]
    brokers: list[BrokerRead]
    as_of: Moment
    """When the document was made, YYYY-MM-DDTHH:MM:SS in Indian time."""


class HoldingsSummary(Struct, Generic[N], frozen=True, kw_only=True):
    """Sums over the rows for which the figure is known."""

    holdings_count: int
    """Rows of `holdings`."""
    total_investment: N
    """Rupees, like the other sums."""
    total_current_value: N
    total_unrealized_pnl: N


class Instrument(Struct, Generic[N], frozen=True, kw_only=True):
    """The nine identity fields of an instrument."""

    instrument_id: str
    """The same at every broker and on every day."""
    exchange: Exchange
    segment: Segment
    shape: Shape
    symbol: str | None
    """Of a security."""
    underlying_symbol: str | None
    """Of a future or an option."""
    expiry_date: date | None
    """Of a future or an option."""
    strike_price: N | None
    """Of an option, in rupees."""
    option_type: OptionType | None


class InstrumentRecord(Struct, Generic[N], frozen=True, kw_only=True):
    """One instrument of a list."""

    instrument_id: str
    """The same at every broker and on every day."""
    exchange: Exchange
    segment: Segment
    shape: Shape
    symbol: str | None
    """Of a security."""
    underlying_symbol: str | None
    """Of a future or an option."""
    expiry_date: date | None
    """Of a future or an option."""
    strike_price: N | None
    """Of an option, in rupees."""
    option_type: OptionType | None
    name: str | None
    isin: str | None
    lot_size: int | None
    """Units in a lot; null when the brokers do not agree on it."""
    tick_size: N | None
    """Rupees; null when the brokers do not agree on it."""


class KeptAnswer(Struct, Generic[N], frozen=True, kw_only=True):
    """The engine's answer to one intent."""

    intent_id: str
    status: int
    """The status that the request was answered with, or would have been."""
    response: KeptAnswerResponse[N]


class LastLoad(Struct, frozen=True, kw_only=True):
    """The latest load of candles, ticks or factors since the start."""

    kind: LastLoadKind
    at: str
    added: int
    """Rows that were not stored before."""
    replaced: int
    """Rows that were stored with other values."""
    equal: int
    """Rows that were stored already."""


class LossHealth(Struct, Generic[N], frozen=True, kw_only=True):
    """The daily loss limit, in rupees."""

    limit: N
    loss: N | None
    """Null while it is not known."""
    locked: bool
    refuses: str | None
    """Why new orders are refused; null: they are not."""


class Ltp(Struct, Generic[N], frozen=True, kw_only=True):
    """The last price of an instrument."""

    instrument_id: str
    """The same at every broker and on every day."""
    exchange: Exchange
    segment: Segment
    shape: Shape
    symbol: str | None
    """Of a security."""
    underlying_symbol: str | None
    """Of a future or an option."""
    expiry_date: date | None
    """Of a future or an option."""
    strike_price: N | None
    """Of an option, in rupees."""
    option_type: OptionType | None
    last_price: N
    last_trade_time: Moment | None
    """Epoch seconds; null when the broker does not report it."""
    received_at: Moment
    """Epoch seconds at which the price was received."""
    source: LtpSource
    """`cache`: stored from a feed or an earlier call. `broker`: fetched for this request."""


class LtpEntry(Struct, Generic[N], frozen=True, kw_only=True):
    """One item's answer: the place of the item in the request, the status that the GET form would give, and `data` (200) or `error`."""

    request_index: int
    status: int
    data: Ltp[N] | None = None
    error: str | None = None


class LtpResults(Struct, Generic[N], frozen=True, kw_only=True):
    """An entry for each item of the request, in its order."""

    results: list[LtpEntry[N]]


class MadeLogin(Struct, frozen=True, kw_only=True):
    user_id: str
    """The broker's id of the account."""
    expires_at: Moment
    """YYYY-MM-DDTHH:MM:SS in Indian time."""


class MarginBreakdown(Struct, Generic[N], frozen=True, kw_only=True):
    """Rupees."""

    span_margin: N
    exposure_margin: N
    other_margin: N


class MarketHealth(Struct, frozen=True, kw_only=True):
    """What is known of today at one market."""

    today: DayState
    open: bool
    """Whether a session runs now."""
    known_until: date | None
    """The last day whose holidays are known; null: the market never closes, or no holiday is known."""


class MarketLoads(Struct, frozen=True, kw_only=True):
    """The daily load of candles of one market."""

    last_day: date | None
    """All days up to this day are loaded; null: nothing was ever loaded."""
    loaded_at: str | None
    instruments: int
    failed: int
    """Instruments without readable candles at any broker."""
    next_due: str | None
    """In the past when the load is overdue."""
    trouble: str | None


class Modified(Struct, Generic[N], frozen=True, kw_only=True):
    """The answer to the change of an order at its broker. On a dry run `dry_run` and `request` take the place of the outcome."""

    broker: str
    order_id: str
    instrument: Instrument[N] | None
    """Null when the catalogue does not know the broker's token."""
    status_before_modify: str
    changes: dict[str, FieldChange]
    """The fields that differ from the present order; empty: nothing was to be sent."""
    dry_run: bool | None = None
    request: ShownRequest | None = None
    outcome: Outcome | None = None
    status_message: str | None = None
    broker_response: Any = None
    timing_ms: Timing[N]
    parent_id: str | None = None
    """Of an order that the engine placed: its parent, the part, and the intent of this change."""
    part: str | None = None
    intent_id: str | None = None


class ModifyEntry(Struct, Generic[N], frozen=True, kw_only=True):
    """The answer to one change of a list."""

    request_index: int
    status: int
    """The status that the single form would give."""
    response: ModifyEntryResponse[N]


class ModifyResults(Struct, Generic[N], frozen=True, kw_only=True):
    """An entry for each item of the request, in its order."""

    results: list[ModifyEntry[N]]


class Ohlc(Struct, Generic[N], frozen=True, kw_only=True):
    """The day of an instrument."""

    open: N | None
    high: N | None
    low: N | None
    close: N | None
    """The last traded price: a running day has no close."""
    volume: int | None
    """Units traded today; null when the broker does not report it, or for an index."""


class OhlcEntry(Struct, Generic[N], frozen=True, kw_only=True):
    """One item's answer: the place of the item in the request, the status that the GET form would give, and `data` (200) or `error`."""

    request_index: int
    status: int
    data: Ohlc[N] | None = None
    error: str | None = None


class OhlcResults(Struct, Generic[N], frozen=True, kw_only=True):
    """An entry for each item of the request, in its order."""

    results: list[OhlcEntry[N]]


class OpenOrder(Struct, frozen=True, kw_only=True):
    """An order that a flatten would cancel."""

    broker: str
    order_id: str
    status: str


class OpenParents(Struct, Generic[N], frozen=True, kw_only=True):
    """Every unfinished parent, oldest first."""

    parents: list[Parent[N]]
    unreadable_parents: list[str] | None = None
    """Ids of parents whose record cannot be read; left out when there are none."""


class OrderBook(Struct, Generic[N], frozen=True, kw_only=True):
    """Today's orders at every broker, sorted by broker, order time and order id."""

    orders: list[OrderView[N]]
    summary: OrderSummary[N]
    brokers: list[BrokerRead]
    as_of: Moment
    """When the document was made, YYYY-MM-DDTHH:MM:SS in Indian time."""
    page: Page | None = None
    """Only with a parameter."""


class OrderProblem(Struct, frozen=True, kw_only=True):
    """A parent that has a problem now."""

    parent_id: str
    instrument_id: str
    message: str
    why: str | None
    """Of units that are open without a stop: why their exits do not guard them, where an exit says it."""
    since: str
    ended: bool
    """Whether the parent has ended with the problem. It stays in the list until the next broking day."""


class OrderSummary(Struct, Generic[N], frozen=True, kw_only=True):
    count: int
    """Orders of the day, whatever the filters."""
    by_status: dict[str, int]
    """Known statuses in the order of the rules, then passed-through statuses by name; only statuses that occur."""
    filled_value: N
    """Rupees: the sum of filled quantity x average price."""


class OrderView(Struct, Generic[N], frozen=True, kw_only=True):
    """An element of `orders`, fields in the order of rules 2.2.2."""

    broker: str
    """Broker code."""
    order_id: str
    """The broker's own id, which modify and cancel take."""
    exchange_order_id: str | None
    parent_order_id: str | None
    """The broker's own id of the order that this order belongs to."""
    status: str
    """COMPLETE, CANCELLED, REJECTED and EXPIRED are final. A broker's unknown word passes through upper-cased."""
    status_message: str | None
    """The broker's words."""
    id: str
    """The broker's own name of the instrument, the same as `instrument_token`. The rules list both, with `tradingsymbol`, as the broker's own naming. Without this, brokers with only one such name would leave one of the fields empty."""
    instrument_token: str
    tradingsymbol: str
    exchange: str
    """The broker's own exchange code, such as NSE_EQ."""
    transaction_type: str
    product: str
    """A broker's unknown word passes through upper-cased. The same holds for order_type and validity."""
    order_type: str
    validity: str
    quantity: int
    """Units, like the other quantities."""
    filled_quantity: int
    pending_quantity: int
    cancelled_quantity: int
    disclosed_quantity: int
    price: N
    """Rupees; 0 of an order without a limit."""
    trigger_price: N
    """Rupees; 0 of an order without a trigger."""
    average_price: N
    """Rupees for one unit that filled; 0 while nothing has."""
    order_timestamp: Moment | None
    """ISO 8601 with the offset of India."""
    exchange_timestamp: str | None
    tag: str | None
    """The caller's tag."""
    instrument_id: str | None
    """Null when the catalogue does not know the broker's token."""
    engine_parent_id: str | None
    """The engine's parent that placed the order; null, like the next three fields, for an order placed elsewhere."""
    synthetic_type: str | None
    """`simple` or `plan`. The type that was asked for is the parent's `routed_from`."""
    intent_id: str | None
    leg_role: str | None
    """The part of the plan, such as `root.each_fill.children.0`; `entry` for a simple order."""


class Page(Struct, frozen=True, kw_only=True):
    """The page of a filtered answer."""

    matched: int
    """Entries that match, on all pages."""
    returned: int
    cursor: int
    """Matching entries that were skipped."""
    next_cursor: int | None
    """Null on the last page."""


class Parent(Struct, Generic[N], frozen=True, kw_only=True):
    """One order that was asked of the engine, with the broker orders that it placed."""

    parent_order_id: str
    synthetic_type: SyntheticType
    routed_from: str | None
    """The order type that was asked for; null for a simple order and a plan."""
    state: ParentState
    status_message: str | None
    """What was said at its last change, and what is wrong with it now."""
    instrument_id: str
    intent_id: str
    created_at: Moment
    """Epoch seconds."""
    updated_at: Moment
    """Epoch seconds."""
    over_filled_quantity: int
    """Units by which exits closed more than there was, because two filled in the same moment."""
    open_units: dict[str, int]
    """(ours) Instrument id -> units that the entries have filled and that the exits which hang on them have not closed."""
    body: dict[str, Any]
    """The order as its caller sent it."""
    parameters: dict[str, Any]
    legs: list[ParentLeg[N]]


class ParentCancelled(Struct, frozen=True, kw_only=True):
    """The answer to the cancel of a parent."""

    parent_id: str
    synthetic_type: SyntheticType
    state: ParentState
    cancelled_legs: list[CancelledLeg]
    """The orders whose cancel was tried now."""
    open_units: dict[str, int] | None = None
    """(ours) Instrument id -> units that the parent's entries have filled and its exits have not closed. Nobody closes them any more. Left out where there are none."""
    warnings: list[str] | None = None
    """(ours) The units that stay open without their stop."""
    intent_id: str


class ParentLeg(Struct, Generic[N], frozen=True, kw_only=True):
    """One broker order of a parent. Quantities in units, prices in rupees, times in epoch seconds."""

    leg_id: str
    part: str
    """The part of the plan; `entry` for a simple order."""
    broker: str
    order_id: str | None
    """Null while the broker has not told it."""
    state: LegState
    status_message: str | None
    transaction_type: str
    product: str
    order_type: OrderType
    quantity: int
    filled_quantity: int
    pending_quantity: int
    price: N | None
    trigger_price: N | None
    average_price: N | None
    sent_at: Moment | None
    """Epoch seconds."""
    updated_at: Moment
    """Epoch seconds."""


class ParentsHalted(Struct, frozen=True, kw_only=True):
    """What became of the engine's open parents."""

    halted_parents: int | None = None
    partly: list[str] | None = None
    """Of a close: ids of parents that also work outside its limits. They go on; their orders within the limits are cancelled."""
    error: str | None = None
    """Why they could not be halted."""
    intent_id: str | None = None


class PartCancelled(Struct, frozen=True, kw_only=True):
    """The answer to the cancel of a part of a plan. The other parts go on."""

    parent_id: str
    synthetic_type: Literal["plan"]
    part: str
    state: PartState
    orders: list[CancelledOrder]
    outcome: Outcome
    """`partial`: some cancels were accepted; `rejected`: none was."""
    status_message: str | None
    warnings: list[str] | None = None
    """(ours) The units that stay open without their stop."""
    intent_id: str


class PartModified(Struct, Generic[N], frozen=True, kw_only=True):
    """The answer to the change of a held order, or of a part that has sent nothing."""

    parent_id: str
    part: str
    instrument: Instrument[N] | None
    state: PartState
    changes: dict[str, FieldChange]
    dry_run: bool | None = None
    outcome: Outcome | None = None
    status_message: str | None = None
    intent_id: str | None = None


class PartView(Struct, Generic[N], frozen=True, kw_only=True):
    """The present state of a part. Fields that do not apply are left out."""

    part: str
    """Kind of the part; the order type, for a preset that has not started."""
    state: PartState
    status_message: str | None = None
    instrument_id: str | None = None
    transaction_type: Side | None = None
    quantity: int | ShownQuantity[N] | None = None
    """Units once they are known."""
    filled_quantity: int | None = None
    average_price: N | None = None
    """Rupees."""
    price: dict[str, Any] | None = None
    execution: dict[str, Any] | None = None
    when: dict[str, Any] | None = None
    """A condition as in a plan's body: an object by its kind."""
    lifetime: ShownLifetime[N] | None = None
    trigger_direction: Direction | None = None
    trigger_level: N | None = None
    next_at: Moment | None = None
    """Epoch seconds at which the clock next moves the part."""
    watermark: N | None = None
    """The best last price since the start of a trail, in rupees."""


class PlaceDryRun(Struct, Generic[N], frozen=True, kw_only=True):
    """What a simple order would send; nothing was sent."""

    dry_run: bool
    broker: str
    instrument_id: str
    tag: str | None
    request: ShownRequest
    order: ShownOrder[N]
    estimated_cost: EstimatedCost[N] | None
    """Null when the charges of the instrument are not known."""
    skipped: list[Skipped]
    warnings: list[str] | None = None
    """(ours) What the order opens beside units that other brokers hold."""
    timing_ms: Timing[N]
    intent_id: str


class PlaceEntry(Struct, Generic[N], frozen=True, kw_only=True):
    """The answer to one order of a list."""

    request_index: int
    """The place of the order in the list, from 0."""
    status: int
    """The status that the single form would give."""
    response: PlaceEntryResponse[N]


class PlaceResults(Struct, Generic[N], frozen=True, kw_only=True):
    """An entry for each item of the request, in its order."""

    results: list[PlaceEntry[N]]


class Placed(Struct, Generic[N], frozen=True, kw_only=True):
    """The answer to an order that was taken up. The outcome decides the status: accepted 200, armed 202, partial 207, rejected 422, unknown 504."""

    broker: str | None
    """Broker code; null while no broker was chosen."""
    instrument_id: str
    tag: str | None
    outcome: Outcome
    """`armed`: nothing was sent yet. `unknown`: the broker may have the order; read the order book before sending again."""
    order_id: str | None
    """The broker's own id, which modify and cancel take."""
    status_message: str | None
    """The broker's words, or the distinct reasons joined by `;`."""
    broker_response: Any
    """The broker's answer: decoded JSON, or the first 300 characters of another text."""
    skipped: list[Skipped]
    """The brokers that were passed over, with the reason."""
    timing_ms: Timing[N]
    intent_id: str
    parent_id: str
    """The engine's parent: `GET /api/orders/parents` shows it, a cancel with parent_id ends it."""
    warnings: list[str] | None = None
    """(ours) What an order opens beside units that other brokers hold."""
    trigger_direction: Direction | None = None
    """With `trigger_level`, where the order waits for a price: the side from which the price must come."""
    trigger_level: N | None = None
    """Rupees, or the figure of the account that is watched."""
    legs: list[PlacedLeg[N]] | None = None
    """Of types that send several orders at once: one entry for each order."""


class PlacedLeg(Struct, Generic[N], frozen=True, kw_only=True):
    """One of several orders."""

    path: str
    """The part of the plan, such as `root.children.0`."""
    instrument_id: str
    outcome: Outcome
    order_id: str | None
    """The broker's own id."""
    status_message: str | None
    broker: str | None
    trigger_direction: Direction | None = None
    trigger_level: N | None = None


class PlanDryRun(Struct, Generic[N], frozen=True, kw_only=True):
    """What an order that runs as a plan would do; nothing was sent."""

    dry_run: bool
    instrument_id: str
    tag: str | None
    synthetic_type: Literal["plan"]
    routed_from: str | None
    """The type that was asked for; null: a plan."""
    plan: ShownPlan[N]
    """The tree of parts, with defaults filled in."""
    requests: list[DryRunRequest[N]]
    """The orders that would leave now."""
    trigger_direction: Direction | None = None
    trigger_level: N | None = None
    warnings: list[str] | None = None
    """Settings that are allowed and rarely meant, and what an order opens beside units that other brokers hold."""
    timing_ms: Timing[N]
    intent_id: str


class PositionPnl(Struct, Generic[N], frozen=True, kw_only=True):
    """Rupees; null when the figure is not known for a broker of the row."""

    realized: N | None
    unrealized: N | None
    total: N | None


class PositionView(Struct, Generic[N], frozen=True, kw_only=True):
    """A row of `net` or `day`."""

    instrument_id: str | None
    """Null, like the other identity fields, when the catalogue does not know the broker's token."""
    exchange: str | None
    segment: str | None
    shape: str | None
    symbol: str | None
    underlying_symbol: str | None
    expiry_date: str | None
    strike_price: N | None
    option_type: str | None
    product: str
    """delivery, intraday, carry, cover, bracket, margin_trading, or the broker's term upper-cased."""
    quantity: int | None
    """Units, signed. Null when a broker of the row counts contracts of unknown size, or does not report today's trades. The same holds for the other quantities."""
    buy_quantity: int | None
    sell_quantity: int | None
    buy_value: N | None
    """Rupees."""
    sell_value: N | None
    """Rupees."""
    buy_average: N | None
    sell_average: N | None
    average_price: N | None
    """Null when nothing is held, when a broker gives no average, or when brokers are on opposite sides."""
    last_price: N | None
    """The price from the most recently read broker that reports one. If no broker reports a price, the live quote's price."""
    multiplier: N | None
    """The brokers' own figure; null when their figures differ."""
    overnight_quantity: int | None
    pnl: PositionPnl[N]
    by_broker: list[BrokerPosition[N]]
    """Each broker's own row, a `BrokerPosition` as JSON."""


class PositionsDocument(Struct, Generic[N], frozen=True, kw_only=True):
    """Positions of all brokers, one row for each instrument and product."""

    net: list[PositionView[N]]
    """What is held now, carried from earlier days or not."""
    day: list[PositionView[N]]
    """What was traded today, where brokers show it."""
    summary: PositionsSummary[N]
    brokers: list[PositionsRead]
    as_of: Moment
    """When the document was made, YYYY-MM-DDTHH:MM:SS in Indian time."""


class PositionsRead(Struct, frozen=True, kw_only=True):
    """One broker's part in the positions."""

    broker: str
    """Broker code."""
    status: ReadStatus
    """`ok`: read and recent. `stale`: older than the document's limit, and still included. `missing`, `unreadable`: not included."""
    as_of: Moment | None
    """When the broker was last read, YYYY-MM-DDTHH:MM:SS in Indian time; null when it is missing."""
    doubted: list[DoubtedRow] | None = None
    """Positions whose rows do not agree with the fills of the broker's orders; left out when there are none. Such a row may be missing in `net`."""


class PositionsSummary(Struct, Generic[N], frozen=True, kw_only=True):
    """Profit and loss of the net view. Each figure is the sum of the figures that its rows show."""

    net_count: int
    day_count: int
    realized: N
    unrealized: N
    total: N
    unknown_rows: int
    """Number of net rows whose total is not known, and so not included in `total`."""


class Prices(Struct, Generic[N], frozen=True, kw_only=True, rename={"from_": "from"}):
    """Candles of one instrument, oldest first."""

    instrument_id: str
    """The same at every broker and on every day."""
    exchange: Exchange
    segment: Segment
    shape: Shape
    symbol: str | None
    """Of a security."""
    underlying_symbol: str | None
    """Of a future or an option."""
    expiry_date: date | None
    """Of a future or an option."""
    strike_price: N | None
    """Of an option, in rupees."""
    option_type: OptionType | None
    interval: Interval
    from_: date
    """First India calendar day."""
    to: date
    """Last India calendar day, included."""
    adjustable: bool
    """Whether prices of this segment are adjusted for corporate actions."""
    price_basis: PriceBasis
    known_as_of: date | None
    """Null unless the basis is `adjusted`."""
    source: PricesSource
    columns: list[Columns]
    """Names the positions of a candle. `price_factor` is there when the basis is `adjusted`."""
    candles: list[list[Any]]
    """Each an array by `columns`: time in ISO 8601 with offset, prices in rupees, volume and oi in units or null."""


class PricesEntry(Struct, Generic[N], frozen=True, kw_only=True):
    """One item's answer: the place of the item in the request, the status that the GET form would give, and `data` (200) or `error`."""

    request_index: int
    status: int
    data: Prices[N] | None = None
    error: str | None = None


class PricesResults(Struct, Generic[N], frozen=True, kw_only=True):
    """An entry for each item of the request, in its order."""

    results: list[PricesEntry[N]]


class Problem(Struct, frozen=True, kw_only=True):
    """Something that is wrong now."""

    what: str
    """What is wrong, with the broker's words where there are such."""
    broker: str | None
    """Broker code; null: it is not of one broker."""
    since: str
    """Since when it is wrong, as far as that is known, in Indian time."""
    do: str
    """What the reader can do."""
    kind: ProblemKind
    subject: str | None
    """Tells problems of one kind and broker apart."""


class Quote(Struct, Generic[N], frozen=True, kw_only=True):
    """The whole quote of an instrument."""

    instrument_id: str
    """The same at every broker and on every day."""
    exchange: Exchange
    segment: Segment
    shape: Shape
    symbol: str | None
    """Of a security."""
    underlying_symbol: str | None
    """Of a future or an option."""
    expiry_date: date | None
    """Of a future or an option."""
    strike_price: N | None
    """Of an option, in rupees."""
    option_type: OptionType | None
    last_price: N
    last_trade_time: Moment | None
    """Epoch seconds; null when the broker does not report it."""
    received_at: Moment
    """Epoch seconds at which the price was received."""
    source: LtpSource
    """`cache`: stored from a feed or an earlier call. `broker`: fetched for this request."""
    broker: str
    """The broker that the quote came from."""
    broker_token: str
    lot_size: int | None
    """Units in a lot."""
    average_price: N | None
    """The day's volume-weighted average."""
    ohlc: DayBar[N]
    previous_close: N | None
    change_percent: N | None
    """Percent change from previous_close, four decimals."""
    last_quantity: int | None
    volume: int | None
    buy_quantity: int | None
    """Units of all bids."""
    sell_quantity: int | None
    """Units of all offers."""
    oi: int | None
    """Open interest; of derivatives."""
    oi_day_high: int | None
    oi_day_low: int | None
    exchange_time: Moment | None
    """Epoch seconds."""
    unified_at: Moment
    """Epoch seconds at which this document was made."""
    stale: bool
    """Always false: a stale quote is never served."""
    stale_since: N | None
    depth: Depth[N]


class QuoteEntry(Struct, Generic[N], frozen=True, kw_only=True):
    """One item's answer: the place of the item in the request, the status that the GET form would give, and `data` (200) or `error`."""

    request_index: int
    status: int
    data: Quote[N] | None = None
    error: str | None = None


class QuoteLevel(Struct, Generic[N], frozen=True, kw_only=True):
    """One price of the order book."""

    price: N
    quantity: int
    orders: int | None
    """Orders at this price; null when the broker does not report it."""


class QuoteResults(Struct, Generic[N], frozen=True, kw_only=True):
    """An entry for each item of the request, in its order."""

    results: list[QuoteEntry[N]]


class ReceiverHealth(Struct, frozen=True, kw_only=True):
    """One receiver of alerts. Of its URL only the scheme is shown."""

    number: int
    scheme: str
    waiting: int
    sent: int
    failed: int
    failing_since: str | None
    last_failure: str | None
    last_failure_at: str | None


class ReferenceHealth(Struct, frozen=True, kw_only=True):
    """How many reference documents each collection holds."""

    users: int | None = None
    brokers: int | None = None
    exchanges: int | None = None
    profiles: bool
    trouble: str | None


class RestingLeg(Struct, Generic[N], frozen=True, kw_only=True):
    """An order whose cancel would be tried."""

    leg_id: str
    part: str
    broker: str
    order_id: str | None
    state: LegState
    transaction_type: str
    quantity: int
    filled_quantity: int
    price: N | None
    trigger_price: N | None


class Resumed(Struct, frozen=True, kw_only=True):
    halted: bool


class Row(Struct, Generic[N], frozen=True, kw_only=True):
    """One strike."""

    strike_price: N
    ce: Cell[N] | None
    """The call; null when none is listed."""
    pe: Cell[N] | None


class Search(Struct, Generic[N], frozen=True, kw_only=True):
    """Instruments that a search found."""

    mapping_date: date
    exchange: Exchange
    segment: Segment
    query: str
    matched: int
    """All that match, also beyond `limit`."""
    instruments: list[InstrumentRecord[N]]


class SegmentCount(Struct, frozen=True, kw_only=True):
    """A segment of an exchange that holds instruments."""

    exchange: Exchange
    segment: Segment
    bare_segment: BareSegment
    """The segment without the exchange; requests may use either."""
    shape: Shape
    identity_fields: list[IdentityFields]
    """The fields that name an instrument of the segment."""
    instruments: int


class SegmentFunds(Struct, Generic[N], frozen=True, kw_only=True):
    """Rupees of one segment."""

    available_balance: N
    """Of a broker that reports free cash by product: the smallest of these figures."""
    margin_utilized: N
    span_margin: N
    exposure_margin: N


class SegmentList(Struct, frozen=True, kw_only=True):
    """The segments of the latest mapping, in their fixed order."""

    mapping_date: date
    exchanges: list[Exchange]
    segments: list[SegmentCount]


class Session(Struct, frozen=True, kw_only=True, rename={"access_token": "access-token"}):
    access_token: str
    """Goes into the header `access-token` of the other requests. All clients share it."""
    expires_at: Moment
    """YYYY-MM-DD HH:MM:SS.ffffff, Indian time. The first connect after 07:00 makes a new token."""


class SessionEnded(Struct, frozen=True, kw_only=True):
    status: Literal["disconnected"]


class SessionStatus(Struct, frozen=True, kw_only=True):
    status: Literal["connected"]
    expires_at: str | None
    """As in the answer of connect."""


class ShownLifetime(Struct, Generic[N], frozen=True, kw_only=True):
    """The end of a part, as in a plan's body."""

    at_time: str | None = None
    after_minutes: N | None = None
    after_days: int | None = None
    when: dict[str, Any] | None = None
    """A condition as in a plan's body: an object by its kind."""
    applies_to: AppliesTo | None = None
    on_end: OnEnd | None = None


class ShownOrder(Struct, Generic[N], frozen=True, kw_only=True):
    """The order that a request carries."""

    transaction_type: Side
    product: str
    order_type: OrderType
    validity: Validity
    quantity: int
    """Units."""
    price: N | None
    """Rupees."""
    trigger_price: N | None
    """Rupees."""


class ShownPlan(Struct, Generic[N], frozen=True, kw_only=True):
    """A part of a plan with the parts below it. Fields that do not apply are left out."""

    part: Part
    path: str
    preset: str | None = None
    """The order type that the part was made of."""
    instrument_id: str | None = None
    transaction_type: Side | None = None
    product: str | None = None
    validity: Validity | None = None
    tag: str | None = None
    broker: str | None = None
    quantity: int | ShownQuantity[N] | None = None
    price: dict[str, Any] | None = None
    execution: dict[str, Any] | None = None
    hold: bool | None = None
    closes: bool | None = None
    """Whether the order is an exit."""
    each_fill: ShownPlan[N] | None = None
    first: ShownPlan[N] | None = None
    then: ShownPlan[N] | None = None
    start_then: StartThen | None = None
    children: list[ShownPlan[N]] | None = None
    most_inventory: int | None = None
    rule: Rule | None = None
    breakeven_after: int | None = None
    when: dict[str, Any] | None = None
    """A condition as in a plan's body: an object by its kind."""
    lifetime: ShownLifetime[N] | None = None


class ShownQuantity(Struct, Generic[N], frozen=True, kw_only=True):
    """A quantity that is not a number of units, as in a plan's body."""

    share: N | None = None
    from_fill: dict[str, Any] | None = None
    position: dict[str, Any] | None = None
    exposure: dict[str, Any] | None = None
    most: int | None = None


class ShownRequest(Struct, frozen=True, kw_only=True):
    """A request to a broker, without headers and secrets."""

    method: str
    url: str
    body: Any


class Skipped(Struct, frozen=True, kw_only=True):
    """A broker that was passed over for an order."""

    broker: str
    reason: str


class StopDryRun(Struct, Generic[N], frozen=True, kw_only=True):
    """What the cancel of a parent or part would try; nothing was sent."""

    parent_id: str
    synthetic_type: SyntheticType
    part: str | None = None
    state: str
    dry_run: bool
    resting_legs: list[RestingLeg[N]]
    open_units: dict[str, int] | None = None
    """(ours) Of a whole parent: instrument id -> units that its entries have filled and its exits have not closed."""
    warnings: list[str] | None = None
    """(ours) The units that would stay open without their stop."""


class StoreHealth(Struct, frozen=True, kw_only=True):
    reachable: bool
    durability: str | None
    """What an acknowledged write is worth, such as `every write on disk`, or what of it can be lost; null before the first contact."""


class StreamsHealth(Struct, frozen=True, kw_only=True):
    connections: int
    streams: int
    waiting: int
    """Streams without a connection."""
    instruments: int


class Tick(Struct, Generic[N], frozen=True, kw_only=True):
    """One recorded tick. Prices in rupees, quantities in units; a figure is null when the broker did not send it."""

    time: Moment
    """With the offset +00:00, to the microsecond."""
    broker: str
    last_price: N
    average_price: N | None
    ohlc: TickBar[N]
    last_quantity: int | None
    volume: int | None
    buy_quantity: int | None
    sell_quantity: int | None
    oi: int | None
    depth: TickDepth[N] | None


class TickArchiveHealth(Struct, frozen=True, kw_only=True):
    """The archive of ticks of days that are over."""

    place: str | None
    """As `history.tick_archive` names it; null: ticks are not archived."""
    waiting_days: int | None
    """Days that are over and have not all of their ticks in the archive; null: not looked yet, or no archive."""
    last_day: date | None
    """The day whose file was written last since the start."""
    written_at: str | None
    trouble: str | None


class TickBar(Struct, Generic[N], frozen=True, kw_only=True):
    """The prices of the day, as the broker sent them with the tick."""

    open: N | None
    high: N | None
    low: N | None
    close: N | None
    """The close of the day before."""


class TickDepth(Struct, Generic[N], frozen=True, kw_only=True):
    buy: list[QuoteLevel[N]]
    sell: list[QuoteLevel[N]]


class TickPeriod(Struct, frozen=True, kw_only=True):
    """What an entry's ticks are of; the headers of the GET form say the same."""

    instrument_id: str
    adjustable: bool
    price_basis: PriceBasis
    start: Moment
    """Included."""
    end: Moment
    """Not included."""


class TicksEntry(Struct, Generic[N], frozen=True, kw_only=True):
    """One item's answer: the place of the item in the request, the status that the GET form would give, and `data` (200) or `error`."""

    request_index: int
    status: int
    data: TickPeriod | None = None
    error: str | None = None
    ticks: list[Tick[N]] | None = None


class TicksResults(Struct, Generic[N], frozen=True, kw_only=True):
    """An entry for each item of the request, in its order."""

    results: list[TicksEntry[N]]


class Timing(Struct, Generic[N], frozen=True, kw_only=True):
    """Where the time of an order message went, in milliseconds. Empty when the answer was made again after a restart."""

    preparation: N | None = None
    """All but the broker."""
    broker: N | None = None
    """Only when the message went out and its answer came."""


class Totals(Struct, Generic[N], frozen=True, kw_only=True):
    """Figures over the strikes shown. Put-call ratios and max pain count only strikes whose call and put are both known."""

    pcr_oi: N | None
    pcr_volume: N | None
    max_pain: N | None
    """The strike at which all open options together are worth the least at expiry."""
    strikes_with_oi: int
    strikes_with_volume: int
    atm_strike: N | None
    straddle_price: N | None
    """Price of call and put of the strike at the money."""
    missing: dict[str, str]


class TradeBook(Struct, Generic[N], frozen=True, kw_only=True):
    """Today's trades at every broker, sorted by broker, trade time and trade id."""

    trades: list[TradeView[N]]
    summary: TradeSummary[N]
    brokers: list[BrokerRead]
    as_of: Moment
    """When the document was made, YYYY-MM-DDTHH:MM:SS in Indian time."""
    page: Page | None = None
    """Only with a parameter."""


class TradeSummary(Struct, Generic[N], frozen=True, kw_only=True):
    count: int
    """Trades of the day, whatever the filters."""
    buy_value: N
    """Rupees, like the other values."""
    sell_value: N
    total_value: N


class TradeView(Struct, Generic[N], frozen=True, kw_only=True):
    """An element of `trades`, fields in the order of rules 2.2.3."""

    broker: str
    """Broker code."""
    trade_id: str
    order_id: str
    """The broker's own id of the order."""
    exchange_order_id: str | None
    exchange_trade_id: str | None
    instrument_id: str | None
    """Null when the catalogue does not know the broker's token."""
    instrument_token: str
    tradingsymbol: str
    exchange: str
    """The broker's own exchange code, such as NSE_EQ."""
    transaction_type: str
    product: str
    """A broker's unknown word passes through upper-cased."""
    quantity: int
    """Units."""
    price: N
    """Rupees."""
    value: N
    """quantity x price, rounded to paise."""
    trade_timestamp: str | None
    """As the broker writes it; so times can be compared only within one broker."""
    exchange_timestamp: str | None
    engine_parent_id: str | None
    """The engine's parent that placed the order; null, like the next three fields, for an order placed elsewhere."""
    synthetic_type: str | None
    intent_id: str | None
    leg_role: str | None


class TriedReceiver(Struct, frozen=True, kw_only=True):
    """Whether a receiver took the test message."""

    receiver: int
    """Its place in `alerts.to`, from 1."""
    scheme: str
    """Such as `tgram`."""
    ok: bool
    words: str | None
    """Why it did not take the message; null when it did."""


class TriedReceivers(Struct, frozen=True, kw_only=True):
    receivers: list[TriedReceiver]


class UnknownOrder(Struct, frozen=True, kw_only=True):
    """An order with an order engine's token that neither the engine nor the store knows. Nothing is done to it."""

    broker: str
    order_id: str
    token: str
    status: str


class UnreadablePositions(Struct, frozen=True, kw_only=True):
    """A broker of which some position rows could not be read."""

    broker: str
    status_message: str


class UnshownOrder(Struct, frozen=True, kw_only=True):
    """An order of ours that may be alive and that no broker's book shows."""

    broker: str
    leg_id: str
    order_id: str | None
    tradingsymbol: str
    transaction_type: Side
    quantity: int
    status_message: str


class UserDocuments(Struct, frozen=True, kw_only=True):
    user_details: list[dict[str, Any]]
    """The imported documents, without `_id`."""
    broker_profiles: dict[str, dict[str, Any] | None] | None
    """Broker code -> the broker's own profile, null for a broker that has given none; null as a whole when none is available."""


class WaitingIntent(Struct, frozen=True, kw_only=True):
    intent_id: str
    state: Literal["waiting"]


class Welcome(Struct, frozen=True, kw_only=True):
    message: str


if TYPE_CHECKING:
    CancelEntryResponse: TypeAlias = Cancelled[N] | ParentCancelled | PartCancelled | StopDryRun[N] | Failure[N]
    FailureBrokers: TypeAlias = FundsRead[N] | BrokerRead | str
    KeptAnswerResponse: TypeAlias = (
        Placed[N] | Modified[N] | PartModified[N] | ParentCancelled | PartCancelled | ParentsHalted | Failure[N]
    )
    ModifyEntryResponse: TypeAlias = Modified[N] | PartModified[N] | Failure[N]
    PlaceEntryResponse: TypeAlias = Placed[N] | PlaceDryRun[N] | PlanDryRun[N] | Failure[N]

else:

    class CancelEntryResponse(Choice):
        structs = (
            Cancelled,
            ParentCancelled,
            PartCancelled,
            StopDryRun,
            Failure,
        )

    class FailureBrokers(Choice):
        structs = (
            FundsRead,
            BrokerRead,
        )

    class KeptAnswerResponse(Choice):
        structs = (
            Placed,
            Modified,
            PartModified,
            ParentCancelled,
            PartCancelled,
            ParentsHalted,
            Failure,
        )

    class ModifyEntryResponse(Choice):
        structs = (
            Modified,
            PartModified,
            Failure,
        )

    class PlaceEntryResponse(Choice):
        structs = (
            Placed,
            PlaceDryRun,
            PlanDryRun,
            Failure,
        )
