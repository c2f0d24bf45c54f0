"""What `/stream` sends. Made by generate.py from the service's documents; do not change it by hand."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias

from msgspec import Struct

from onebroker_client import answers
from onebroker_client.values import Choice, Moment, N
from onebroker_client.words import (
    Channel,
    Document,
    Event,
    Exchange,
    LtpSource,
    Mode,
    OptionType,
    Segment,
    Shape,
    StreamedParentEvent,
    SubscribedChannel,
    Type,
)


class BareQuote(Struct, Generic[N], frozen=True, kw_only=True):
    """The quote of an instrument without the order book. A figure is null when the broker does not report it."""

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
    ohlc: answers.DayBar[N]
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


class ChainFields(Struct, frozen=True, kw_only=True):
    """The fields by which a client knows its chain."""

    exchange: str
    underlying_symbol: str
    expiry_date: str
    """YYYY-MM-DD."""
    segment: str | None
    """null: the subscription named no segment."""
    strikes: int
    """The most strikes of the chain."""


class ChainUnavailable(Struct, frozen=True, kw_only=True):
    """A chain that its route would not serve now: `status` and `error` are those of the route. When it can be served again, it is sent again."""

    exchange: str
    underlying_symbol: str
    expiry_date: str
    """YYYY-MM-DD."""
    segment: str | None
    """null: the subscription named no segment."""
    strikes: int
    """The most strikes of the chain."""
    seq: int
    type: Literal["chain"]
    snapshot: bool
    status: int
    error: str


class DocumentAge(Struct, Generic[N], frozen=True, kw_only=True):
    """How old a document is. Its route has the same `as_of` and `brokers` at this moment."""

    as_of: str
    as_of_epoch: Moment
    """`as_of` in epoch seconds."""
    brokers: list[DocumentAgeBrokers[N]]


class DocumentAges(Struct, Generic[N], frozen=True, kw_only=True):
    """The ages of the subscribed documents, once a second. A document is left out while the client does not have its newest version, or while its route would not serve it."""

    seq: int
    """Counts all messages of a stream from 1, without a gap."""
    type: Literal["ages"]
    now: Moment
    """The service's time in epoch seconds."""
    documents: dict[str, DocumentAge[N]]


class Lagged(Struct, frozen=True, kw_only=True):
    """Events that were not sent, because the client was too slow. A snapshot follows."""

    seq: int
    """Counts all messages of a stream from 1, without a gap."""
    type: Literal["lagged"]
    channel: Channel
    missed: int


class OrderEvents(Struct, Generic[N], frozen=True, kw_only=True):
    seq: int
    """Counts all messages of a stream from 1, without a gap."""
    type: Literal["orders"]
    events: list[StreamedOrder[N]]


class OrdersSnapshot(Struct, Generic[N], frozen=True, kw_only=True):
    """The whole order book. Discard the orders that you held."""

    seq: int
    """Counts all messages of a stream from 1, without a gap."""
    type: Literal["orders"]
    snapshot: bool
    orders: list[answers.OrderView[N]]
    summary: answers.OrderSummary[N]
    as_of: str


class ParentEvents(Struct, Generic[N], frozen=True, kw_only=True):
    seq: int
    """Counts all messages of a stream from 1, without a gap."""
    type: Literal["parents"]
    events: list[StreamedParent[N]]


class ParentsSnapshot(Struct, Generic[N], frozen=True, kw_only=True):
    """The unfinished parents. Discard the parents that you held."""

    seq: int
    """Counts all messages of a stream from 1, without a gap."""
    type: Literal["parents"]
    snapshot: bool
    parents: list[answers.Parent[N]]
    unreadable_parents: list[str] | None = None


class Resumed(Struct, frozen=True, kw_only=True):
    """First message of a continued stream. Answers that were lost are not repeated."""

    seq: int
    """Counts all messages of a stream from 1, without a gap."""
    type: Literal["resumed"]
    stream: str
    subscriptions: Subscriptions


class Started(Struct, frozen=True, kw_only=True):
    """First message of a new stream."""

    seq: int
    """Counts all messages of a stream from 1, without a gap."""
    type: Literal["started"]
    stream: str
    keep_seconds: float
    """For how long the stream is kept after a lost connection."""
    not_resumed: str | None = None
    """Why the old stream was not continued."""


class StreamEntry(Struct, frozen=True, kw_only=True):
    """One instrument of a subscription."""

    request_index: int
    status: int
    instrument_id: str | None = None
    error: str | None = None


class StreamError(Struct, frozen=True, kw_only=True):
    """A message of the client that could not be carried out. The connection stays."""

    seq: int
    """Counts all messages of a stream from 1, without a gap."""
    type: Literal["error"]
    id: Any = None
    status: int
    error: str


class StreamedChain(Struct, Generic[N], frozen=True, kw_only=True):
    """An option chain, as its route answers it. Without `snapshot`, `rows` has the strikes that changed."""

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
    forward: answers.Forward[N]
    totals: answers.Totals[N]
    rows: list[answers.Row[N]]
    """By rising strike."""
    seq: int
    type: Literal["chain"]
    snapshot: bool | None = None
    """Discard the rows that you held."""
    strikes: int
    """As in the subscription."""
    shown: list[N]
    """All strikes of the chain. Keep only these."""


class StreamedDocument(Struct, Generic[N], frozen=True, kw_only=True):
    """A document, as its route answers it."""

    seq: int
    """Counts all messages of a stream from 1, without a gap."""
    type: Literal["document"]
    document: Document
    data: StreamedDocumentData[N]


class StreamedLtp(Struct, Generic[N], frozen=True, kw_only=True):
    """A quote in the mode `ltp`."""

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
    stale: bool
    stale_since: None


class StreamedOrder(Struct, Generic[N], frozen=True, kw_only=True):
    """One order came, changed, or is no longer in the book."""

    event: Event
    previous_status: str | None
    """Null for a new order."""
    order: answers.OrderView[N]
    """As it is now; for an order that is gone, as it was last."""


class StreamedParent(Struct, Generic[N], frozen=True, kw_only=True):
    """One parent came, changed, or finished."""

    event: StreamedParentEvent
    previous_state: str | None
    """Null for a parent that was not shown before."""
    parent: answers.Parent[N]


class StreamedQuotes(Struct, Generic[N], frozen=True, kw_only=True):
    """The newest quote of each instrument that changed."""

    seq: int
    """Counts all messages of a stream from 1, without a gap."""
    type: Literal["quotes"]
    snapshot: bool | None = None
    """In the first message after a subscription."""
    quotes: list[StreamedQuotesQuotes[N]]


class StreamedStale(Struct, Generic[N], frozen=True, kw_only=True):
    """An instrument whose quote may not be served any more, or that has none."""

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
    stale: bool
    stale_since: Moment | None
    """Epoch seconds; null: there is no quote."""


class Subscribed(Struct, frozen=True, kw_only=True):
    seq: int
    """Counts all messages of a stream from 1, without a gap."""
    type: Literal["subscribed"]
    id: Any = None
    channel: SubscribedChannel
    mode: Mode | None = None
    results: list[StreamEntry] | None = None
    """Of quotes: an entry for each item."""
    documents: list[Document] | None = None
    ages: bool | None = None


class SubscribedChain(Struct, frozen=True, kw_only=True):
    """The answer to the subscription of a chain."""

    exchange: str
    underlying_symbol: str
    expiry_date: str
    """YYYY-MM-DD."""
    segment: str | None
    """null: the subscription named no segment."""
    strikes: int
    """The most strikes of the chain."""
    seq: int
    type: Literal["subscribed"]
    id: Any = None
    channel: Literal["chain"]


class Subscriptions(Struct, frozen=True, kw_only=True):
    quotes: dict[str, Mode]
    """Instrument id -> mode."""
    orders: bool
    parents: bool
    documents: list[Document]
    ages: bool | None = None
    """Left out: the ages of the documents are not sent."""
    chain: list[ChainFields]


class Unavailable(Struct, frozen=True, kw_only=True):
    """Content that its route would not serve now: `status` and `error` are those of the route. When it can be served again, it is sent again."""

    seq: int
    """Counts all messages of a stream from 1, without a gap."""
    type: Type
    document: Document | None = None
    snapshot: bool | None = None
    status: int
    error: str
    as_of: str | None = None
    brokers: list[answers.BrokerRead] | None = None


class Unsubscribed(Struct, frozen=True, kw_only=True):
    seq: int
    """Counts all messages of a stream from 1, without a gap."""
    type: Literal["unsubscribed"]
    id: Any = None
    channel: SubscribedChannel | Literal["chain"]
    results: list[StreamEntry] | None = None
    instruments: list[str] | None = None
    """Without `instruments` in the request: those that ended."""
    documents: list[Document] | None = None
    chains: list[ChainFields] | None = None
    """The chains that ended."""


if TYPE_CHECKING:
    DocumentAgeBrokers: TypeAlias = answers.FundsRead[N] | answers.BrokerRead
    StreamedDocumentData: TypeAlias = (
        answers.FundsDocument[N]
        | answers.HoldingsDocument[N]
        | answers.PositionsDocument[N]
        | answers.OrderBook[N]
        | answers.TradeBook[N]
    )
    StreamedQuotesQuotes: TypeAlias = StreamedLtp[N] | BareQuote[N] | answers.Quote[N] | StreamedStale[N]

else:

    class DocumentAgeBrokers(Choice):
        structs = (
            answers.FundsRead,
            answers.BrokerRead,
        )

    class StreamedDocumentData(Choice):
        structs = (
            answers.FundsDocument,
            answers.HoldingsDocument,
            answers.PositionsDocument,
            answers.OrderBook,
            answers.TradeBook,
        )

    class StreamedQuotesQuotes(Choice):
        structs = (
            StreamedLtp,
            BareQuote,
            answers.Quote,
            StreamedStale,
        )
