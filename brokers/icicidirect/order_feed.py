"""ICICI Direct's order stream: Socket.IO events `order`, one array of about 47 texts for every change of an order.

Source: docs/brokers/icicidirect.md, section 6 (SDK parser, public samples). Connecting is enough; no room is joined. Cash
and derivative messages have different field layouts. The strategy feeds share the host; their length tells them apart. In
samples the strike of a derivative message is a hundred times the strike. Whether this can also happen to rates is not
known, so for a rate written without decimals the book is read.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

import attrs

from onebroker.brokers.broker import Access, StreamFlow
from onebroker.brokers.codec import fields
from onebroker.brokers.events import BooksMoved, BrokerEvent, CorruptFrame, Heartbeat, OrderUpdate
from onebroker.brokers.icicidirect import naming, socketio, values, wire
from onebroker.brokers.icicidirect.values import ORDER_TYPES, PRODUCTS, SIDES, STATUSES, VALIDITIES
from onebroker.brokers.records import Listing, OrderRow
from onebroker.brokers.requests import BadAnswer, StreamAddress

sockets = 1
per_socket = 0
"""This socket takes no instruments."""
silence_seconds: float | None = wire.SILENCE_SECONDS
ping_seconds: float | None = None
ready_seconds: float | None = wire.READY_SECONDS

STRATEGY_LENGTHS = frozenset({19, 28})
"""Recommendations, not orders."""
MESSAGE_TYPE, EXCHANGE, STOCK = 11, 13, 14
SCALE = 100.0
"""Scale of the strike in derivative messages."""


@attrs.frozen(kw_only=True)
class Places:
    """The places of the fields in one kind of message."""

    side: int
    order_type: int
    validity: int
    rate: int
    product: int
    status: int
    order_id: int
    quantity: int
    executed: int
    cancelled: int
    expired: int
    trigger: int
    average: int
    disclosed: int | None = None
    right: int | None = None
    strike: int | None = None
    expiry: int | None = None


CASH = Places(
    side=15, order_type=16, validity=17, rate=18, product=19, status=20, order_id=23, quantity=24, executed=26, cancelled=27,
    expired=28, disclosed=29, trigger=30, average=42,
)  # fmt: skip
DERIVATIVE = Places(
    product=15, right=16, strike=18, expiry=19, side=21, order_type=22, validity=23, rate=24, status=25, order_id=26, quantity=27,
    executed=28, cancelled=29, expired=30, trigger=31, average=39,
)  # fmt: skip
LAYOUTS = {"4": CASH, "5": CASH, "6": DERIVATIVE, "7": DERIVATIVE}
"""Message type -> layout."""


def address(access: Access, now: datetime) -> StreamFlow:
    """Return the stream's address; no call is needed first."""
    yield from ()
    return socketio.stream_address(access.endpoints.order_stream_url, now)


def opening_messages(access: Access) -> list[bytes | str]:
    return []


def subscribe_messages(access: Access, listings: Sequence[Listing]) -> list[bytes | str]:
    return []


def unsubscribe_messages(access: Access, listings: Sequence[Listing]) -> list[bytes | str]:
    return []


def ping_message() -> bytes | str | None:
    """Never called: the server pings."""
    return None


def decoder(access: Access, address: StreamAddress, listings: Mapping[str, Listing]) -> "OrderFrames":
    return OrderFrames(access, listings)


class OrderFrames:
    """Decodes whole frames; nothing is kept between them."""

    def __init__(self, access: Access, listings: Mapping[str, Listing]) -> None:
        self._access, self._listings = access, listings

    def receive(self, frame: bytes | str) -> list[BrokerEvent]:
        event = socketio.read(frame, self._access)
        if isinstance(event, list):
            return event
        if event.name != "order":
            return [Heartbeat()]
        message = event.arguments[0] if event.arguments else None
        if not isinstance(message, list) or len(message) <= MESSAGE_TYPE:
            return [CorruptFrame("an order event without its array")]
        if len(message) in STRATEGY_LENGTHS:
            return [Heartbeat()]
        layout = LAYOUTS.get(str(message[MESSAGE_TYPE]))
        try:
            return [BooksMoved()] if layout is None else [self._update(message, layout)]
        except (BadAnswer, IndexError) as error:
            # Something happened to an order nevertheless.
            return [CorruptFrame(f"an order that cannot be read: {error}"), BooksMoved()]

    def _update(self, message: Sequence[object], at: Places) -> BrokerEvent:
        if at is DERIVATIVE and all(values.whole_text(message[place]) for place in (at.rate, at.average)):
            return BooksMoved()
        return OrderUpdate(self._order(message, at))

    def _order(self, message: Sequence[object], at: Places) -> OrderRow:
        name = self._name(message, at)
        letter = str(message[at.status]).strip().upper()
        status = STATUSES.read(values.STREAM_STATUSES.get(letter, letter))
        quantity, filled = fields.counted(message[at.quantity]), fields.counted(message[at.executed])
        pending, cancelled = fields.unfilled(status, quantity, filled)
        order_id = fields.text(message[at.order_id])
        if order_id is None or not quantity:
            raise BadAnswer("it names no order")
        return OrderRow(
            order_id=order_id,
            status=status,
            transaction_type=SIDES.read(message[at.side]),
            product=PRODUCTS.read(message[at.product]),
            order_type=ORDER_TYPES.read(message[at.order_type]),
            validity=VALIDITIES.read(message[at.validity]),
            instrument_token=name.token,
            tradingsymbol=name.symbol,
            exchange=name.exchange,
            quantity=quantity,
            filled_quantity=filled,
            pending_quantity=pending,
            cancelled_quantity=cancelled,
            disclosed_quantity=0 if at.disclosed is None else fields.whole(message[at.disclosed]),
            price=fields.number(message[at.rate]) or 0.0,
            trigger_price=fields.number(message[at.trigger]) or 0.0,
            average_price=fields.number(message[at.average]) or 0.0,
        )

    def _name(self, message: Sequence[object], at: Places) -> naming.Name:
        """Return the instrument. Of the two readings of a strike, take the one that is listed; the scaled one when neither is."""
        exchange = str(message[EXCHANGE]).strip().upper()
        row = {"stock_code": message[STOCK]}
        if at.strike is None or at.expiry is None or at.right is None:
            return naming.made(exchange, row, None, None, None)
        written = values.strike(message[at.strike])
        strikes = [None] if written is None else [written / SCALE, written]
        names = [naming.made(exchange, row, message[at.expiry], strike, message[at.right]) for strike in strikes]
        return next((name for name in names if name.token in self._listings), names[0])
