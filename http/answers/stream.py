"""Messages of the stream (`/stream`), both ways (docs/stream.md). The content of a message is that of the REST routes."""

from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from onebroker.actors.chain.documents import Chain
from onebroker.actors.portfolio.order_book import OrderSummary, OrderView
from onebroker.actors.store.keys import Resource
from onebroker.config.schema_marks import schema_of
from onebroker.http.answers.parents import Parent
from onebroker.http.answers.quotes import BareQuote, Ltp
from onebroker.http.answers.shared import UNSET, BrokerRead, Instrument, Unset, UuidText
from onebroker.http.live.client_requests import EventsName
from onebroker.http.live.quote_board import Mode

OwnId: TypeAlias = str | float
ItemNamed: TypeAlias = Annotated[msgspec.Raw, schema_of("InstrumentNamed")]
ChannelName: TypeAlias = Literal["quotes", "orders", "parents", "documents"]


# --- what a client sends ----------------------------------------------------------------------------------------------------


class _Request(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    id: OwnId | Unset = UNSET
    """Comes back in the answer."""


class ShowToken(_Request, kw_only=True):
    """The first message of a client that cannot set the header `access-token`, within 5 s."""

    access_token: str = msgspec.field(name="access-token")
    resume: int | Unset = UNSET
    """`seq` of the last message received, to continue a stream."""
    stream: str | Unset = UNSET


class SubscribeQuotes(_Request, kw_only=True):
    """Quotes of instruments. A second subscription of an instrument sets the new mode."""

    subscribe: Literal["quotes"]
    mode: Mode = Mode.LTP
    instruments: Annotated[list[ItemNamed], msgspec.Meta(min_length=1)]


class SubscribeEvents(_Request, kw_only=True):
    """The order book or the unfinished parents, then their events."""

    subscribe: EventsName


class SubscribeDocuments(_Request, kw_only=True):
    """Whole documents."""

    subscribe: Literal["documents"]
    documents: Annotated[list[Resource], msgspec.Meta(min_length=1)]
    ages: bool | Unset = UNSET
    """Whether the ages of the client's documents are sent too, once a second. Left out: no."""


class SubscribeChain(_Request, kw_only=True):
    """An option chain: whole, then its changes."""

    subscribe: Literal["chain"]
    underlying_symbol: str
    exchange: str
    expiry_date: str
    """YYYY-MM-DD."""
    segment: str | Unset = UNSET
    """Needed where two segments have options of this underlying and expiry."""
    strikes: int | Unset = UNSET
    """The most strikes, those nearest to the money. Left out: 20."""


class UnsubscribeQuotes(_Request, kw_only=True):
    unsubscribe: Literal["quotes"]
    instruments: Annotated[list[ItemNamed], msgspec.Meta(min_length=1)] | Unset = UNSET
    """Left out: all."""


class UnsubscribeEvents(_Request, kw_only=True):
    unsubscribe: EventsName


class UnsubscribeDocuments(_Request, kw_only=True):
    unsubscribe: Literal["documents"]
    documents: Annotated[list[Resource], msgspec.Meta(min_length=1)] | Unset = UNSET
    """Left out: all."""


class UnsubscribeChain(_Request, kw_only=True):
    """End a chain, named as in its subscription. Without the fields: all chains."""

    unsubscribe: Literal["chain"]
    underlying_symbol: str | Unset = UNSET
    exchange: str | Unset = UNSET
    expiry_date: str | Unset = UNSET
    segment: str | Unset = UNSET
    strikes: int | Unset = UNSET


class ResumeStream(_Request, kw_only=True):
    """Continue a stream after a lost connection, before any subscription, within 60 s."""

    resume: Annotated[int, msgspec.Meta(ge=0)]
    """`seq` of the last message received."""
    stream: str
    """The id of `started`."""


REQUESTS = (
    ShowToken, SubscribeQuotes, SubscribeEvents, SubscribeDocuments, SubscribeChain, UnsubscribeQuotes, UnsubscribeEvents, UnsubscribeDocuments,
    UnsubscribeChain, ResumeStream,
)  # fmt: skip


# --- what the service sends -------------------------------------------------------------------------------------------------


class _Message(msgspec.Struct, kw_only=True):
    seq: int
    """Counts all messages of a stream from 1, without a gap."""


class Started(_Message, kw_only=True):
    """First message of a new stream."""

    type: Literal["started"]
    stream: str
    keep_seconds: float
    """For how long the stream is kept after a lost connection."""
    not_resumed: str | Unset = UNSET
    """Why the old stream was not continued."""


class ChainFields(msgspec.Struct, kw_only=True):
    """The fields by which a client knows its chain."""

    exchange: str
    underlying_symbol: str
    expiry_date: str
    """YYYY-MM-DD."""
    segment: str | None
    """null: the subscription named no segment."""
    strikes: int
    """The most strikes of the chain."""


class Subscriptions(msgspec.Struct, kw_only=True):
    quotes: dict[str, Mode]
    """Instrument id -> mode."""
    orders: bool
    parents: bool
    documents: list[Resource]
    ages: Literal[True] | Unset = UNSET
    """Left out: the ages of the documents are not sent."""
    chain: list[ChainFields]


class Resumed(_Message, kw_only=True):
    """First message of a continued stream. Answers that were lost are not repeated."""

    type: Literal["resumed"]
    stream: str
    subscriptions: Subscriptions


class StreamedLtp(Ltp, kw_only=True):
    """A quote in the mode `ltp`."""

    stale: Literal[False]
    stale_since: None


class StreamedStale(Instrument, kw_only=True):
    """An instrument whose quote may not be served any more, or that has none."""

    stale: Literal[True]
    stale_since: float | None
    """Epoch seconds; null: there is no quote."""


class StreamedQuotes(_Message, kw_only=True):
    """The newest quote of each instrument that changed."""

    type: Literal["quotes"]
    snapshot: Literal[True] | Unset = UNSET
    """In the first message after a subscription."""
    quotes: list[Annotated[msgspec.Raw, schema_of("StreamedLtp", "BareQuote", "Quote", "StreamedStale")]]


class OrdersSnapshot(_Message, kw_only=True):
    """The whole order book. Discard the orders that you held."""

    type: Literal["orders"]
    snapshot: Literal[True]
    orders: list[OrderView]
    summary: OrderSummary
    as_of: str


class StreamedOrder(msgspec.Struct, kw_only=True):
    """One order came, changed, or is no longer in the book."""

    event: Literal["new", "changed", "gone"]
    previous_status: str | None
    """Null for a new order."""
    order: OrderView
    """As it is now; for an order that is gone, as it was last."""


class OrderEvents(_Message, kw_only=True):
    type: Literal["orders"]
    events: list[StreamedOrder]


class ParentsSnapshot(_Message, kw_only=True):
    """The unfinished parents. Discard the parents that you held."""

    type: Literal["parents"]
    snapshot: Literal[True]
    parents: list[Parent]
    unreadable_parents: list[str] | Unset = UNSET


class StreamedParent(msgspec.Struct, kw_only=True):
    """One parent came, changed, or finished."""

    event: Literal["new", "changed", "finished"]
    previous_state: str | None
    """Null for a parent that was not shown before."""
    parent: Parent


class ParentEvents(_Message, kw_only=True):
    type: Literal["parents"]
    events: list[StreamedParent]


class StreamedDocument(_Message, kw_only=True):
    """A document, as its route answers it."""

    type: Literal["document"]
    document: Resource
    data: Annotated[
        msgspec.Raw, schema_of("FundsDocument", "HoldingsDocument", "PositionsDocument", "OrderBook", "TradeBook")
    ]


class DocumentAge(msgspec.Struct, kw_only=True):
    """How old a document is. Its route has the same `as_of` and `brokers` at this moment."""

    as_of: str
    as_of_epoch: float
    """`as_of` in epoch seconds."""
    brokers: list[Annotated[msgspec.Raw, schema_of("FundsRead", "BrokerRead")]]


class DocumentAges(_Message, kw_only=True):
    """The ages of the subscribed documents, once a second. A document is left out while the client does not have its newest version, or while its
    route would not serve it."""

    type: Literal["ages"]
    now: float
    """The service's time in epoch seconds."""
    documents: dict[Resource, DocumentAge]


class StreamedChain(Chain, frozen=True, kw_only=True):
    """An option chain, as its route answers it. Without `snapshot`, `rows` has the strikes that changed."""

    seq: int
    type: Literal["chain"]
    snapshot: Literal[True] | Unset = UNSET
    """Discard the rows that you held."""
    strikes: int
    """As in the subscription."""
    shown: list[float]
    """All strikes of the chain. Keep only these."""


class Unavailable(_Message, kw_only=True):
    """Content that its route would not serve now: `status` and `error` are those of the route. When it can be served again, it is sent again."""

    type: Literal["document", "orders", "parents"]
    document: Resource | Unset = UNSET
    snapshot: Literal[True] | Unset = UNSET
    status: int
    error: str
    as_of: str | Unset = UNSET
    brokers: list[BrokerRead] | Unset = UNSET


class ChainUnavailable(ChainFields, kw_only=True):
    """A chain that its route would not serve now: `status` and `error` are those of the route. When it can be served again, it is sent again."""

    seq: int
    type: Literal["chain"]
    snapshot: Literal[True]
    status: int
    error: str


class Lagged(_Message, kw_only=True):
    """Events that were not sent, because the client was too slow. A snapshot follows."""

    type: Literal["lagged"]
    channel: EventsName
    missed: int


class StreamEntry(msgspec.Struct, kw_only=True):
    """One instrument of a subscription."""

    request_index: int
    status: int
    instrument_id: UuidText | Unset = UNSET
    error: str | Unset = UNSET


class Subscribed(_Message, kw_only=True):
    type: Literal["subscribed"]
    id: OwnId | Unset = UNSET
    channel: ChannelName
    mode: Mode | Unset = UNSET
    results: list[StreamEntry] | Unset = UNSET
    """Of quotes: an entry for each item."""
    documents: list[Resource] | Unset = UNSET
    ages: Literal[True] | Unset = UNSET


class SubscribedChain(ChainFields, kw_only=True):
    """The answer to the subscription of a chain."""

    seq: int
    type: Literal["subscribed"]
    id: OwnId | Unset = UNSET
    channel: Literal["chain"]


class Unsubscribed(_Message, kw_only=True):
    type: Literal["unsubscribed"]
    id: OwnId | Unset = UNSET
    channel: ChannelName | Literal["chain"]
    results: list[StreamEntry] | Unset = UNSET
    instruments: list[UuidText] | Unset = UNSET
    """Without `instruments` in the request: those that ended."""
    documents: list[Resource] | Unset = UNSET
    chains: list[ChainFields] | Unset = UNSET
    """The chains that ended."""


class StreamError(_Message, kw_only=True):
    """A message of the client that could not be carried out. The connection stays."""

    type: Literal["error"]
    id: OwnId | Unset = UNSET
    status: int
    error: str


MESSAGES = (
    Started, Resumed, StreamedQuotes, OrdersSnapshot, OrderEvents, ParentsSnapshot, ParentEvents, StreamedDocument, DocumentAges, StreamedChain,
    Unavailable, ChainUnavailable, Lagged, Subscribed, SubscribedChain, Unsubscribed, StreamError,
)  # fmt: skip
QUOTES: tuple[Any, ...] = (StreamedLtp, BareQuote, StreamedStale)
