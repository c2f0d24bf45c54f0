"""What codecs decode socket frames into."""

import attrs

from onebroker.brokers.records import OrderRow, Tick, TradeRow


@attrs.frozen
class Ticks:
    """Market data, in the order of the frame."""

    ticks: tuple[Tick, ...]


@attrs.frozen
class OrderUpdate:
    """An order as it stands now; cumulative figures."""

    order: OrderRow


@attrs.frozen
class TradeUpdate:
    """A trade, from brokers whose streams carry them."""

    trade: TradeRow


@attrs.frozen
class Heartbeat:
    """The broker's own sign of life without content."""


@attrs.frozen
class StreamRefused:
    """The broker answered a request on the socket with an error; the socket lives on."""

    message: str


@attrs.frozen
class SessionDead:
    """The stream says that the login no longer counts."""

    message: str


@attrs.frozen
class CorruptFrame:
    """A frame that could not be decoded: counted and skipped."""

    reason: str


BrokerEvent = Ticks | OrderUpdate | TradeUpdate | Heartbeat | StreamRefused | SessionDead | CorruptFrame
