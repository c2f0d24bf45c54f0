"""What codecs decode socket frames into."""

import attrs

from onebroker.brokers.records import OrderRow, Tick, TradeRow


@attrs.frozen
class Ticks:
    """Market data, in the order of the frame."""

    ticks: tuple[Tick, ...]


@attrs.frozen
class OrderUpdate:
    """An order in its current state; figures are cumulative."""

    order: OrderRow


@attrs.frozen
class TradeUpdate:
    """A trade, from brokers whose streams carry trades."""

    trade: TradeRow


@attrs.frozen
class BooksMoved:
    """Orders, trades or positions changed and the frame does not give all of the change: the books are read at once."""


@attrs.frozen
class Reply:
    """A message that the protocol wants sent back on this socket now: a pong, an acknowledgement, the next handshake step."""

    message: bytes | str = attrs.field(repr=False)


@attrs.frozen
class Ready:
    """The broker takes subscriptions from now on (only from codecs with `ready_seconds`)."""


@attrs.frozen
class Heartbeat:
    """The broker's own sign of life, without content."""


@attrs.frozen
class StreamRefused:
    """The broker answered a request on the socket with an error; the socket stays open."""

    message: str


@attrs.frozen
class SessionDead:
    """The stream says that the login is no longer valid."""

    message: str


@attrs.frozen
class CorruptFrame:
    """A frame that could not be decoded; it is counted and skipped."""

    reason: str


BrokerEvent = (
    Ticks
    | OrderUpdate
    | TradeUpdate
    | BooksMoved
    | Reply
    | Ready
    | Heartbeat
    | StreamRefused
    | SessionDead
    | CorruptFrame
)


def corrupt(events: list[BrokerEvent]) -> int:
    """Return how many of a frame's events report a frame that could not be decoded."""
    return sum(isinstance(event, CorruptFrame) for event in events)
