"""5paisa's one socket: market data and order updates, JSON text both ways.

There is one connection per access token: a second one closes the first with code 1000. Quotes, depth and open interest
are subscribed separately and come separately, as partial updates. So each connection keeps an image per instrument, and
every tick is the whole image. Order updates come only from the host that the access token names. Source:
docs/brokers/fivepaisa.md, section 6.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from urllib.parse import quote, urlsplit, urlunsplit

import msgspec

from onebroker.brokers.broker import Access, StreamFlow
from onebroker.brokers.codec.fields import OddRow, Row, row_of, rows_of, text
from onebroker.brokers.events import (
    BooksMoved,
    BrokerEvent,
    CorruptFrame,
    Heartbeat,
    Reply,
    SessionDead,
    StreamRefused,
    Ticks,
)
from onebroker.brokers.fivepaisa import values, wire
from onebroker.brokers.fivepaisa.images import InstrumentImage
from onebroker.brokers.fivepaisa.login import claims
from onebroker.brokers.fivepaisa.order_updates import OrderImages
from onebroker.brokers.records import Listing
from onebroker.brokers.requests import BadAnswer, RefusalKind, StreamAddress

sockets = 1
per_socket = wire.INSTRUMENTS_PER_SOCKET
silence_seconds: float | None = None
"""No heartbeat is documented; our pings detect a dead connection."""
ping_seconds: float | None = wire.PING_SECONDS
ready_seconds: float | None = None

QUOTE, DEPTH, OPEN_INTEREST = "MarketFeedV3", "MarketDepthService", "GetScripInfoForFuture"
ORDER_UPDATES = "OrderTradeConfirmations"
SUBSCRIBE, UNSUBSCRIBE = "Subscribe", "Unsubscribe"


def address(access: Access, now: datetime) -> StreamFlow:
    """Return the socket's address; no call is needed first. For the real host it is the address of the token's own server."""
    yield from ()
    token = access.token(wire.TOKEN)
    client = access.login.user_id if access.login is not None else ""
    scheme, host, path, _, _ = urlsplit(access.endpoints.stream_url)
    if host == wire.REAL_FEED_HOST:
        host = wire.FEED_HOSTS.get(str(claims(token).get("RedirectServer")), host)
    return StreamAddress(url=urlunsplit((scheme, host, path, f"Value1={quote(f'{token}|{client}', safe='')}", "")))


def opening_messages(access: Access) -> list[bytes | str]:
    """Request order updates. The pages say both that this is needed and that it is not."""
    return [_encoded({"Method": ORDER_UPDATES, "Operation": SUBSCRIBE, "ClientCode": _client(access)})]


def subscribe_messages(access: Access, listings: Sequence[Listing]) -> list[bytes | str]:
    """Return the messages that start all data of these instruments: quotes, five levels for instruments with a book, open
    interest for derivatives."""
    return _messages(SUBSCRIBE, access, listings)


def unsubscribe_messages(access: Access, listings: Sequence[Listing]) -> list[bytes | str]:
    return _messages(UNSUBSCRIBE, access, listings)


def ping_message() -> bytes | str | None:
    """Return None: a websocket ping."""
    return None


def decoder(access: Access, address: StreamAddress, listings: Mapping[str, Listing]) -> "FivepaisaFrames":
    return FivepaisaFrames(listings)


class FivepaisaFrames:
    """Decodes whole messages of one connection, and keeps the values received for each instrument and order."""

    def __init__(self, listings: Mapping[str, Listing]) -> None:
        self._listings = listings
        self._instruments: dict[str, InstrumentImage] = {}
        self._orders = OrderImages(listings)

    def subscribing(self, listings: Sequence[Listing]) -> None:
        """Forget these instruments: values from an earlier subscription are old, and new depth must not make them look fresh."""
        for listing in listings:
            self._instruments.pop(listing.broker_token, None)

    def receive(self, frame: bytes | str) -> list[BrokerEvent]:
        """Decode one message, each of its rows separately: a row that contradicts itself is dropped, because none of it
        can be trusted."""
        spoken = frame.strip() if len(frame) < 8 else None
        if spoken in ("PONG", b"PONG", "", b""):
            return [Heartbeat()]
        if spoken in ("PING", b"PING"):
            return [Reply("PONG"), Heartbeat()]
        try:
            message = msgspec.json.decode(frame)
            rows = rows_of(message) if isinstance(message, list) else [row_of(message)]
        except (msgspec.DecodeError, BadAnswer, UnicodeError, RecursionError) as error:
            return [_corrupt(error)]
        events: list[BrokerEvent] = []
        changed: dict[str, InstrumentImage] = {}
        for row in rows:
            try:
                events += self._row(row, changed)
            except (BadAnswer, OverflowError) as error:
                events.append(_corrupt(error))
                if not isinstance(row, OddRow) and "ReqType" in row:
                    events.append(BooksMoved())  # something happened to an order nevertheless
        ticks = [image.tick(values.contract_units(token, self._listings)) for token, image in changed.items()]
        told = tuple(tick for tick in ticks if tick is not None)
        return [*([Ticks(told)] if told else []), *events] or [Heartbeat()]

    def _row(self, row: Row, changed: dict[str, InstrumentImage]) -> list[BrokerEvent]:
        """Take in one row, and note in `changed` the image that it changes; return the other events in it."""
        if "ReqType" in row:
            return self._orders.update(row)
        token = _named(row)
        if token is None:
            return [_said(row)]
        image = self._instruments.get(token) or InstrumentImage(token)
        image.update(row)
        self._instruments[token] = changed[token] = image
        return []


def _corrupt(error: Exception) -> CorruptFrame:
    return CorruptFrame(f"a message that cannot be read: {error}")


def _named(row: Mapping[str, object]) -> str | None:
    """Return the instrument that market data are about; None for a row that names none."""
    exchange, kind, code = (text(row.get(name)) for name in ("Exch", "ExchType", "Token"))
    return None if exchange is None or kind is None or code is None else values.broker_token(exchange, kind, code)


def _said(row: Mapping[str, object]) -> BrokerEvent:
    """Read a message of an unknown kind: an error, as far as its words show it (none is documented)."""
    message = text(row.get("Message")) or text(row.get("message"))
    if message is None:
        return Heartbeat()
    dead = row.get("Status") == wire.SESSION or wire.kind_of(message) is RefusalKind.SESSION_DEAD
    return SessionDead(message) if dead else StreamRefused(message)


def _client(access: Access) -> str:
    return access.login.user_id if access.login is not None else ""


def _messages(operation: str, access: Access, listings: Sequence[Listing]) -> list[bytes | str]:
    wanted: tuple[tuple[str, Callable[[str], bool]], ...] = (
        (QUOTE, lambda token: True),
        (DEPTH, _has_book),
        (OPEN_INTEREST, _is_derivative),
    )
    messages: list[bytes | str] = []
    for method, concerns in wanted:
        names = [_scrip(listing.broker_token) for listing in listings if concerns(listing.broker_token)]
        for at in range(0, len(names), wire.SCRIPS_PER_MESSAGE):
            portion = names[at : at + wire.SCRIPS_PER_MESSAGE]
            messages.append(
                _encoded(
                    {"Method": method, "Operation": operation, "ClientCode": _client(access), "MarketFeedData": portion}
                )
            )
    return messages


def _scrip(token: str) -> dict[str, object]:
    exchange, kind, code = values.parts(token)
    return {"Exch": exchange, "ExchType": kind, "ScripCode": int(code) if code.isdecimal() else code}


def _is_derivative(token: str) -> bool:
    return values.segment_of(token) not in values.CASH_SEGMENTS


def _has_book(token: str) -> bool:
    return not values.is_index(token)


def _encoded(message: Mapping[str, object]) -> str:
    return msgspec.json.encode(message).decode()
