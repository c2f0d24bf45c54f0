"""Dhan's order updates: a separate socket that receives the token in its first message; JSON text out, one alert per
change.

Source: dhanhq 2.3.0 (the login message); DhanHQ v2 documentation, "Live Order Update", not re-read by us. The
documentation writes the keys with a capital, while in live captures they begin with a small letter: case does not matter
here. How the socket answers a refused token is not known. Any of Dhan's error bodies is understood, and a socket that is
closed at once is tried again.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec

from onebroker.brokers.broker import Access, StreamFlow
from onebroker.brokers.codec.fields import Row, message_of, number, part, required, text, whole
from onebroker.brokers.codec.order_rows import Instrument, OrderFields, at
from onebroker.brokers.dhan import books, values, wire
from onebroker.brokers.dhan.values import ORDER_TYPES, PRODUCTS, SIDES, STATUSES, VALIDITIES
from onebroker.brokers.events import (
    BooksMoved,
    BrokerEvent,
    CorruptFrame,
    Heartbeat,
    OrderUpdate,
    SessionDead,
    StreamRefused,
)
from onebroker.brokers.records import Listing
from onebroker.brokers.requests import BadAnswer, RefusalKind, StreamAddress
from onebroker.config.vocabulary import OrderStatus

sockets = 1
per_socket = 0
"""This socket takes no instruments."""
silence_seconds: float | None = None
"""Nothing comes between orders (lesson 3); we ping."""
ping_seconds: float | None = wire.PING_SECONDS
ready_seconds: float | None = None

LOGIN_CODE = 42
ALERT = "order_alert"
_AFTER_MARKET = "1"

_TOLD = frozenset({OrderStatus.REJECTED, OrderStatus.CANCELLED, OrderStatus.EXPIRED})
"""Statuses whose reason is worth a message; in other statuses the reason repeats the status ("TRADE CONFIRMED")."""


def address(access: Access, now: datetime) -> StreamFlow:
    """Return the socket's address; no call is needed first."""
    yield from ()
    return StreamAddress(url=access.endpoints.order_stream_url)


def opening_messages(access: Access) -> list[bytes | str]:
    """Return the login of an account's own socket."""
    login = {"MsgCode": LOGIN_CODE, "ClientId": access.credentials["client_id"], "Token": access.token("access_token")}
    return [msgspec.json.encode({"LoginReq": login, "UserType": "SELF"}).decode()]


def subscribe_messages(access: Access, listings: Sequence[Listing]) -> list[bytes | str]:
    return []


def unsubscribe_messages(access: Access, listings: Sequence[Listing]) -> list[bytes | str]:
    return []


def ping_message() -> bytes | str | None:
    """A websocket ping."""
    return None


def decoder(access: Access, address: StreamAddress, listings: Mapping[str, Listing]) -> "OrderAlerts":
    return OrderAlerts(listings)


class OrderAlerts:
    """Decodes whole messages; nothing is kept between them."""

    def __init__(self, listings: Mapping[str, Listing]) -> None:
        self._listings = listings

    def receive(self, frame: bytes | str) -> list[BrokerEvent]:
        """Decode one message. An alert that names no order is dropped; for an alert that does not say what was traded,
        the books are read."""
        try:
            message = message_of(frame)
            alert = _lowered(message)
            if alert.get("type") == ALERT:
                row = _lowered(part(alert, "data"))
                order = ORDERS.row(row, _instrument(row, self._listings))
                return [BooksMoved() if number(row.get("tradedqty")) is None else OrderUpdate(order)]
        except BadAnswer as error:
            return [CorruptFrame(f"an update that cannot be read: {error}")]
        refusal = wire.refusal_in(message, 200)
        if refusal is None:
            return [Heartbeat()]
        dead = refusal.kind is RefusalKind.SESSION_DEAD
        return [SessionDead(refusal.message) if dead else StreamRefused(refusal.message)]


def _lowered(row: Row) -> dict[str, object]:
    return {str(name).lower(): value for name, value in row.items()}


def _standing(row: Row, status: str, order_type: str, quantity: int, filled: int) -> str:
    """Return the status that counts. A partial trade is alerted as Traded too; an order that waits for its trigger or for
    the market is PENDING."""
    if status == OrderStatus.COMPLETE and filled < quantity:
        status = OrderStatus.OPEN
    elif values.waits_for_trigger(status, order_type, filled):
        return OrderStatus.PENDING
    after_market = text(row.get("offmktflag")) == _AFTER_MARKET
    return OrderStatus.PENDING if values.waits_for_market(status, after_market, row.get("exchorderno")) else status


def _status_message(row: Row) -> str | None:
    return text(row.get("reasondescription")) if STATUSES.read(row.get("status")) in _TOLD else None


ORDERS = OrderFields(
    order_id="orderno",
    status=STATUSES.required_at("status"),
    standing=_standing,
    transaction_type=SIDES.at("txntype"),
    product=PRODUCTS.at("product"),
    order_type=ORDER_TYPES.at("ordertype"),
    validity=VALIDITIES.at("validity"),
    quantity="quantity",
    filled=lambda row, status: whole(row.get("tradedqty")),
    disclosed="discquantity",
    price="price",
    trigger_price="triggerprice",
    average_price="avgtradedprice",
    exchange_order_id=at(values.exchange_order_id, "exchorderno"),
    status_message=_status_message,
    order_timestamp=at(values.order_time, "orderdatetime"),
    exchange_timestamp=at(values.order_time, "exchordertime"),
    tag=at(values.tag, "correlationid"),
)
"""Fields of an alert, in small letters."""


def _instrument(row: Row, listings: Mapping[str, Listing]) -> Instrument:
    parts = (required(row, "exchange").upper(), required(row, "segment").upper())
    segment = values.SEGMENT_PARTS.get(parts)
    if segment is None:
        raise BadAnswer(f"an order in the unknown segment {'/'.join(parts)}")
    token = values.token(segment, required(row, "securityid"))
    units = values.contract_units(token, listings)
    return Instrument(token, books.symbol(row, "symbol", token, listings), segment, units)
