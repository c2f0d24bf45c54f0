"""Fyers' order socket: JSON text with its own field names, one frame for every change of an order, a trade or a position.

A frame holds only the fields that apply to it; the others are not known. So the newest fields of each order are kept, and
where they do not make a whole order the books are read instead. Sources: fyers-apiv3 3.2.0 (names); documentation "FYERS
API v3", order socket, and its sample frame, not re-read by us.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec

from onebroker.brokers.broker import Access, StreamFlow
from onebroker.brokers.codec.fields import message_of, number, required, row_of, text
from onebroker.brokers.events import (
    BooksMoved,
    BrokerEvent,
    CorruptFrame,
    Heartbeat,
    OrderUpdate,
    SessionDead,
    StreamRefused,
    TradeUpdate,
)
from onebroker.brokers.fyers import values, wire
from onebroker.brokers.fyers.books import order_row, trade_row
from onebroker.brokers.records import Listing
from onebroker.brokers.requests import BadAnswer, RefusalKind, StreamAddress
from onebroker.config.vocabulary import OrderStatus, OrderType, is_finished

sockets = 1
per_socket = 0
"""This socket takes no instruments."""
silence_seconds: float | None = wire.ORDER_SILENCE_SECONDS
ping_seconds: float | None = wire.PING_SECONDS
ready_seconds: float | None = None

PING, PONG = "ping", "pong"
KINDS = ("orders", "trades", "positions")

ORDER_NAMES = {
    "id": "id",
    "id_parent": "parentId",
    "id_exchange": "exchOrdId",
    "qty": "qty",
    "qty_remaining": "remainingQuantity",
    "qty_filled": "filledQty",
    "price_limit": "limitPrice",
    "price_stop": "stopPrice",
    "price_traded": "tradedPrice",
    "ord_type": "type",
    "fy_token": "fyToken",
    "exchange": "exchange",
    "segment": "segment",
    "symbol": "symbol",
    "oms_msg": "message",
    "offline_flag": "offlineOrder",
    "time_oms": "orderDateTime",
    "validity": "orderValidity",
    "product_type": "productType",
    "tran_side": "side",
    "org_ord_status": "status",
    "ordertag": "orderTag",
}
"""The socket's name of a field -> the order book's. `ord_status` has its own numbers, which nothing explains."""

TRADE_NAMES = {
    "id_fill": "tradeNumber",
    "id": "orderNumber",
    "qty_traded": "tradedQty",
    "price_traded": "tradePrice",
    "product_type": "productType",
    "id_exchange": "exchangeOrderNo",
    "tran_side": "side",
    "symbol": "symbol",
    "fill_time": "orderDateTime",
    "fy_token": "fyToken",
    "exchange": "exchange",
    "segment": "segment",
}

_NEEDED = ("status", "qty", "type", "side", "productType", "orderValidity", "symbol", "fyToken")
"""Without these fields an order cannot be reported."""
_FILLS = ("filledQty", "remainingQuantity", "tradedPrice")
"""These fields belong together: when a frame gives a new quantity, the other values from older frames are no longer valid."""
_NOT_GIVEN = ("NA", "")


def address(access: Access, now: datetime) -> StreamFlow:
    """Return the socket's address; no call is needed first. The handshake refuses a dead token with 403."""
    yield from ()
    return StreamAddress(url=access.endpoints.order_stream_url, headers={"authorization": wire.authorization(access)})


def opening_messages(access: Access) -> list[bytes | str]:
    return [msgspec.json.encode({"T": "SUB_ORD", "SLIST": list(KINDS), "SUB_T": 1}).decode()]


def subscribe_messages(access: Access, listings: Sequence[Listing]) -> list[bytes | str]:
    return []


def unsubscribe_messages(access: Access, listings: Sequence[Listing]) -> list[bytes | str]:
    return []


def ping_message() -> bytes | str | None:
    return PING


def decoder(access: Access, address: StreamAddress, listings: Mapping[str, Listing]) -> "OrderFrames":
    return OrderFrames(listings)


class OrderFrames:
    """One connection: the newest fields of each order it reported, under the order book's names."""

    def __init__(self, listings: Mapping[str, Listing]) -> None:
        self._listings = listings
        self._orders: dict[str, dict[str, object]] = {}

    def receive(self, frame: bytes | str) -> list[BrokerEvent]:
        """Decode one message; a frame that names no order is dropped."""
        if frame in (PONG, PONG.encode()):
            return [Heartbeat()]
        try:
            message = message_of(frame)
            if "orders" in message:
                return [self._order(row_of(message["orders"]))]
            if "trades" in message:
                return [self._trade(row_of(message["trades"]))]
        except BadAnswer as error:
            return [CorruptFrame(f"an update that cannot be read: {error}")]
        if "positions" in message:
            return [BooksMoved()]
        return [_other(message)]

    def _order(self, raw: Mapping[str, object]) -> BrokerEvent:
        order_id = required(raw, "id")
        news = _renamed(raw, ORDER_NAMES)
        told = self._orders.setdefault(order_id, {})
        if any(name in news for name in _FILLS[:2]):
            for name in _FILLS:
                told.pop(name, None)
        told.update(news)
        whole = _whole(told)
        return BooksMoved() if whole is None else OrderUpdate(order_row(whole, self._listings))

    def _trade(self, raw: Mapping[str, object]) -> BrokerEvent:
        row = _renamed(raw, TRADE_NAMES)
        required(row, "orderNumber")
        try:
            return TradeUpdate(trade_row(row, self._listings))
        except BadAnswer:
            return BooksMoved()  # there was a trade, but the frame does not give all of it


def _renamed(raw: Mapping[str, object], names: Mapping[str, str]) -> dict[str, object]:
    """Return the fields that a frame gives, under the books' names; a null or `NA` counts as not given."""
    return {
        names[name]: value
        for name, value in raw.items()
        if name in names and value is not None and str(value).strip().upper() not in _NOT_GIVEN
    }


def _whole(told: Mapping[str, object]) -> Mapping[str, object] | None:
    """Return the row of an order when all its figures are known; None while one is missing."""
    if any(name not in told for name in _NEEDED):
        return None
    order_type = values.ORDER_TYPES.read(told["type"])
    lacks_price = order_type in (OrderType.LIMIT, OrderType.SL) and "limitPrice" not in told
    lacks_trigger = order_type in (OrderType.SL, OrderType.SL_M) and "stopPrice" not in told
    filled = _filled(told)
    if lacks_price or lacks_trigger or filled is None or (filled and not number(told.get("tradedPrice"))):
        return None
    return {**told, "filledQty": filled}


def _filled(told: Mapping[str, object]) -> float | None:
    """Return the filled quantity as Fyers counts it; None when the frames so far do not give it.

    The remaining quantity gives it only for an order that is still alive: a cancelled order has nothing remaining and
    nothing filled.
    """
    status = values.STATUSES.reads.get(str(told["status"]).strip())
    quantity, filled, remaining = (number(told.get(name)) for name in ("qty", "filledQty", "remainingQuantity"))
    if status is OrderStatus.COMPLETE:
        return quantity
    if filled is not None:
        return filled
    if status is OrderStatus.REJECTED:
        return 0.0
    if status is None or is_finished(status) or quantity is None or remaining is None:
        return None
    return quantity - remaining if remaining <= quantity else None


def _other(message: Mapping[str, object]) -> BrokerEvent:
    """Read the answer to a subscription, or a message of another kind (price alerts, logins)."""
    if message.get("s") != wire.ERROR:
        return Heartbeat() if text(message.get("s")) else CorruptFrame("a message that is neither update nor answer")
    refusal = wire.refusal_in(message, 200)
    if refusal.kind is RefusalKind.SESSION_DEAD:
        return SessionDead(refusal.message)
    return StreamRefused(refusal.message)
