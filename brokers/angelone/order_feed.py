"""SmartAPI's order socket: a separate socket, JSON in text or binary frames, one for every change of an order.

Source: SmartAPI documentation, websocket order status, not re-read by us. It takes no messages but heartbeats. We send
websocket pings, like the SDK, because the documents promise no text in answer.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from onebroker.brokers.angelone import wire
from onebroker.brokers.angelone.books import STATUS_CODE, order_row
from onebroker.brokers.angelone.feed import PONG, socket_headers, text_event
from onebroker.brokers.angelone.values import find_names
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
)
from onebroker.brokers.records import Listing
from onebroker.brokers.requests import BadAnswer, StreamAddress

sockets = 1
per_socket = 0
"""This socket takes no instruments."""
silence_seconds: float | None = None
"""Between orders only pongs come, and the library takes those (lesson 3)."""
ping_seconds: float | None = wire.PING_SECONDS
ready_seconds: float | None = None

GREETING = "AB00"
_REFUSED = {"401": SessionDead, "403": SessionDead}
"""status-code of a frame -> its meaning; 403 is an expired token. All others except 200 are refusals, after which the socket lives on."""
_FINE = (None, "200")


def address(access: Access, now: datetime) -> StreamFlow:
    """Return the socket's address; no call is needed first. The handshake refuses a dead token with 401, an expired one with 403."""
    yield from ()
    return StreamAddress(url=access.endpoints.order_stream_url, headers=socket_headers(access))


def opening_messages(access: Access) -> list[bytes | str]:
    return []


def subscribe_messages(access: Access, listings: Sequence[Listing]) -> list[bytes | str]:
    return []


def unsubscribe_messages(access: Access, listings: Sequence[Listing]) -> list[bytes | str]:
    return []


def ping_message() -> bytes | str | None:
    return None


def decoder(access: Access, address: StreamAddress, listings: Mapping[str, Listing]) -> "OrderFrames":
    return OrderFrames(listings)


class OrderFrames:
    """Decodes whole messages; nothing is kept between them."""

    def __init__(self, listings: Mapping[str, Listing]) -> None:
        self._listings = listings

    def receive(self, frame: bytes | str) -> list[BrokerEvent]:
        """Decode one message; a frame that names no order is dropped."""
        if frame in (PONG, PONG.encode()):
            return [Heartbeat()]
        try:
            message = message_of(frame)
            if "orderData" not in message and STATUS_CODE not in message:
                return [text_event(frame)]
            return [self._event(message)]
        except BadAnswer as error:
            return [CorruptFrame(f"an update that cannot be read: {error}")]

    def _event(self, message: Mapping[str, object]) -> BrokerEvent:
        code, said = text(message.get("status-code")), text(message.get("error-message"))
        if code not in _FINE:
            return _REFUSED.get(code or "", StreamRefused)(said or f"status {code}")
        status = message.get(STATUS_CODE)
        if status == GREETING:
            return Heartbeat()
        row = row_of(message.get("orderData"))
        required(row, "orderid")
        if number(row.get("filledshares")) is None:
            return BooksMoved()  # a missing filled quantity is unknown, not zero
        return OrderUpdate(order_row({**row, STATUS_CODE: status}, self._listings, find_names([row], self._listings)))
