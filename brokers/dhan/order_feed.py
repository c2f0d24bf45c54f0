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
from onebroker.brokers.codec import fields
from onebroker.brokers.dhan import books, values, wire
from onebroker.brokers.events import (
    BooksMoved,
    BrokerEvent,
    CorruptFrame,
    Heartbeat,
    OrderUpdate,
    SessionDead,
    StreamRefused,
)
from onebroker.brokers.records import Listing, OrderRow
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
            message = fields.message_of(frame)
            alert = _lowered(message)
            if alert.get("type") == ALERT:
                row = _lowered(fields.part(alert, "data"))
                order = _order_row(row, self._listings)
                return [BooksMoved() if fields.number(row.get("tradedqty")) is None else OrderUpdate(order)]
        except BadAnswer as error:
            return [CorruptFrame(f"an update that cannot be read: {error}")]
        refusal = wire.refusal_in(message, 200)
        if refusal is None:
            return [Heartbeat()]
        dead = refusal.kind is RefusalKind.SESSION_DEAD
        return [SessionDead(refusal.message) if dead else StreamRefused(refusal.message)]


def _lowered(row: Mapping[str, object]) -> dict[str, object]:
    return {str(name).lower(): value for name, value in row.items()}


def _order_row(row: Mapping[str, object], listings: Mapping[str, Listing]) -> OrderRow:
    """Return the order in the state that the alert gives; its keys are in small letters."""
    parts = (fields.required(row, "exchange").upper(), fields.required(row, "segment").upper())
    segment = values.SEGMENT_PARTS.get(parts)
    if segment is None:
        raise BadAnswer(f"an order in the unknown segment {'/'.join(parts)}")
    token = values.token(segment, fields.required(row, "securityid"))
    units = values.contract_units(token, listings)
    scale = units or 1
    quantity = fields.quantity(row, "quantity") * scale
    filled = fields.whole(row.get("tradedqty")) * scale
    order_type = values.order_type(row.get("ordertype"))
    status = values.order_status(fields.required(row, "status"), order_type, filled)
    if status == OrderStatus.COMPLETE and filled < quantity:
        status = OrderStatus.OPEN  # a partial trade is also alerted as Traded
    if values.waits_for_market(status, fields.text(row.get("offmktflag")) == _AFTER_MARKET, row.get("exchorderno")):
        status = OrderStatus.PENDING
    pending, cancelled = fields.unfilled(status, quantity, filled)
    return OrderRow(
        order_id=fields.required(row, "orderno"),
        status=status,
        transaction_type=values.side(row.get("txntype")),
        product=values.product(row.get("product")),
        order_type=order_type,
        validity=values.validity(row.get("validity")),
        instrument_token=token,
        tradingsymbol=books.symbol(row, "symbol", token, listings),
        exchange=segment,
        quantity=quantity,
        filled_quantity=filled,
        pending_quantity=pending,
        cancelled_quantity=cancelled,
        disclosed_quantity=fields.whole(row.get("discquantity")) * scale,
        price=fields.number(row.get("price")) or 0.0,
        trigger_price=fields.number(row.get("triggerprice")) or 0.0,
        average_price=fields.number(row.get("avgtradedprice")) or 0.0,
        exchange_order_id=values.exchange_order_id(row.get("exchorderno")),
        status_message=fields.text(row.get("reasondescription")) if status in _TOLD else None,
        order_timestamp=values.order_time(row.get("orderdatetime")),
        exchange_timestamp=values.order_time(row.get("exchordertime")),
        tag=values.tag(row.get("correlationid")),
        contract_units=units,
    )
