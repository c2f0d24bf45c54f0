"""Kotak Neo's order stream: JSON text frames about orders and positions, after one greeting that is not JSON.

Source: docs/brokers/kotakneo.md, section 6c (official SDK). A documented order frame has no price, validity or tag, so it
only triggers a read of the books. A frame that has all of them is an order update. Frames come more than once: an order's
newest `updRecvTm` counts.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from onebroker.brokers.broker import Access, StreamFlow
from onebroker.brokers.codec.fields import message_of, row_of, text
from onebroker.brokers.events import BooksMoved, BrokerEvent, CorruptFrame, Heartbeat, OrderUpdate, Ready, StreamRefused
from onebroker.brokers.kotakneo import addresses, wire
from onebroker.brokers.kotakneo.books import order_row
from onebroker.brokers.records import Listing
from onebroker.brokers.requests import BadAnswer, StreamAddress

sockets = 1
per_socket = 0
"""This socket takes no instruments."""
silence_seconds: float | None = None
"""Nothing comes between orders (lesson 3)."""
ping_seconds: float | None = wire.PING_SECONDS
ready_seconds: float | None = wire.READY_SECONDS
"""If the greeting is not understood, the socket stays silent: so we wait for the broker's `ok`."""

_WHOLE = (
    "exSeg", "tok", "ordSt", "trnsTp", "prcTp", "prod", "qty", "fldQty", "avgPrc", "prc", "trgPrc", "vldt", "GuiOrdId",
    "ordGenTp",
)  # fmt: skip
"""Fields that an order frame needs to describe its whole order: a missing figure is unknown, not zero."""


def address(access: Access, now: datetime) -> StreamFlow:
    """Ask for the address of this account's stream; without an answer it is on the host of the session."""
    asked = yield from addresses.ask(access, addresses.ORDERS)
    named = asked or addresses.told(access, "rtUrl")
    if named is not None:
        return StreamAddress(url=addresses.as_socket(named))
    if access.login is not None and access.login.tokens.get("baseUrl"):
        return StreamAddress(url=addresses.beside(wire.base(access), wire.ORDER_SOCKET))
    return StreamAddress(url=access.endpoints.order_stream_url)


def opening_messages(access: Access) -> list[bytes | str]:
    """Return the greeting, which looks like JSON without quotes: the official client's own form."""
    return [f"{{type:cn,Authorization:{access.token('token')},Sid:{access.token('sid')},src:WEB}}"]


def subscribe_messages(access: Access, listings: Sequence[Listing]) -> list[bytes | str]:
    return []


def unsubscribe_messages(access: Access, listings: Sequence[Listing]) -> list[bytes | str]:
    return []


def ping_message() -> bytes | str | None:
    """Return None: websocket pings."""
    return None


def decoder(access: Access, address: StreamAddress, listings: Mapping[str, Listing]) -> "OrderFrames":
    return OrderFrames(listings)


class OrderFrames:
    """Decodes whole messages; keeps the newest time of each order, in nanoseconds."""

    def __init__(self, listings: Mapping[str, Listing]) -> None:
        self._listings = listings
        self._newest: dict[str, int] = {}
        self._greeted = False

    def receive(self, frame: bytes | str) -> list[BrokerEvent]:
        """Decode one message; a frame that cannot be read is dropped."""
        try:
            message = message_of(frame)
            kind = message.get("type")
            if kind == "order":
                return [*self._alive(), self._order(row_of(message.get("data")))]
        except BadAnswer as error:
            return [CorruptFrame(f"an update that cannot be read: {error}")]
        if kind == "position":
            return [*self._alive(), BooksMoved()]
        if kind == "cn" or message.get("ak") is not None:
            return [self._answered(message)]
        return [Heartbeat()]

    def _alive(self) -> list[BrokerEvent]:
        """Note that the greeting was accepted: any pushed frame shows it, even where its answer never came."""
        if self._greeted:
            return []
        self._greeted = True
        return [Ready()]

    def _answered(self, message: Mapping[str, object]) -> BrokerEvent:
        if str(message.get("ak")).casefold() != "ok":
            return StreamRefused(str(message.get("msg") or "the order stream refused the greeting"))
        self._greeted = True
        return Ready()

    def _order(self, row: dict[str, object]) -> BrokerEvent:
        if self._seen(text(row.get("nOrdNo")), row.get("updRecvTm")):
            return Heartbeat()
        if any(row.get(name) is None for name in _WHOLE):
            return BooksMoved()
        return OrderUpdate(order_row(row, self._listings))

    def _seen(self, order_id: str | None, stamp: object) -> bool:
        """Tell whether we already had a frame, or it is older than one we had; False for a frame without a time."""
        if order_id is None or not isinstance(stamp, int) or isinstance(stamp, bool):
            return False
        if stamp <= self._newest.get(order_id, -1):
            return True
        self._newest[order_id] = stamp
        return False
