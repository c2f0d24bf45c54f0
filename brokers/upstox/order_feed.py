"""Upstox' portfolio stream: a separate socket, JSON text, one frame for every change of an order.

Source: documentation page "Portfolio Stream Feed", not re-read by us. We request only order updates.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from onebroker.brokers.broker import Access, StreamFlow
from onebroker.brokers.codec.fields import message_of, required, row_of, text
from onebroker.brokers.events import BrokerEvent, CorruptFrame, Heartbeat, OrderUpdate
from onebroker.brokers.records import Listing
from onebroker.brokers.requests import BadAnswer, CallKind, StreamAddress
from onebroker.brokers.upstox import wire
from onebroker.brokers.upstox.books import order_row
from onebroker.brokers.upstox.feed import error_event

sockets = 1
per_socket = 0
"""This socket takes no instruments."""
silence_seconds: float | None = None
"""Between orders only websocket pings come (lesson 3)."""
ping_seconds: float | None = None
ready_seconds: float | None = None

UPDATE_TYPES = "order"
OTHER_UPDATES = frozenset({"position", "holding", "gtt_order"})


def address(access: Access, now: datetime) -> StreamFlow:
    """Request the socket's one-time address. A dead token is refused here."""
    query = [("update_types", UPDATE_TYPES)]
    response = yield wire.request(access, CallKind.READ, "GET", wire.ORDER_FEED_AUTHORIZE, query=query)
    answer = row_of(wire.data(response))
    return StreamAddress(url=required(answer, "authorized_redirect_uri", "authorizedRedirectUri"))


def opening_messages(access: Access) -> list[bytes | str]:
    return []


def subscribe_messages(access: Access, listings: Sequence[Listing]) -> list[bytes | str]:
    return []


def unsubscribe_messages(access: Access, listings: Sequence[Listing]) -> list[bytes | str]:
    return []


def ping_message() -> bytes | str:
    """Never called: the socket takes no pings from us."""
    return ""


def decoder(access: Access, address: StreamAddress, listings: Mapping[str, Listing]) -> "OrderFrames":
    return OrderFrames(listings)


class OrderFrames:
    """Decodes whole messages; nothing is kept between them."""

    def __init__(self, listings: Mapping[str, Listing]) -> None:
        self._listings = listings

    def receive(self, frame: bytes | str) -> list[BrokerEvent]:
        """Decode one message; a frame that names no order is dropped."""
        try:
            message = message_of(frame)
            kind = text(message.get("update_type"))
            if kind == "order":
                return [OrderUpdate(order_row(message, self._listings))]
        except BadAnswer as error:
            return [CorruptFrame(f"an update that cannot be read: {error}")]
        return [Heartbeat()] if kind in OTHER_UPDATES else [error_event(frame)]
