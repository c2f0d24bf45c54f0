"""Groww's one socket: NATS inside websocket frames, market data and notices about orders as protobuf.

The handshake: we request the socket's token with the public half of a fresh key. We answer the server's INFO with CONNECT
(its nonce signed) and PING; its PONG admits us, and then we subscribe to subjects. Source: docs/brokers/groww.md, section
6 (growwapi 1.5.0, nats-py 2.16).

An instrument has three subjects: `price` (the last price, known to be served to everybody), `price_detailed` (the day,
volume, open interest; unchecked whether API tokens get it) and `book` (five levels). Each carries a part, so the decoder
keeps an instrument's parts together, and every tick has all that is known. MCX has no subjects.

An order update names shares by ISIN, and nothing says whether its prices are rupees or paise. So it only means that the
books have changed, and they are read at once.
"""

import math
import secrets
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec
from google.protobuf.message import DecodeError

from onebroker.brokers.broker import Access, StreamFlow
from onebroker.brokers.codec.fields import epoch_seconds, required
from onebroker.brokers.events import (
    BooksMoved,
    BrokerEvent,
    CorruptFrame,
    Heartbeat,
    Ready,
    Reply,
    SessionDead,
    StreamRefused,
    Ticks,
)
from onebroker.brokers.groww import nats, proto, wire
from onebroker.brokers.groww.values import CASH, DERIVATIVES, INDEX, Name, exchange_token
from onebroker.brokers.records import DepthLevel, Listing, Tick
from onebroker.brokers.requests import BadAnswer, CallKind, StreamAddress

PRICE, DETAILED, BOOK = "price", "price_detailed", "book"
KINDS: Mapping[str, tuple[str, ...]] = {
    CASH: (PRICE, DETAILED, BOOK),
    DERIVATIVES: (PRICE, DETAILED, BOOK),
    INDEX: (PRICE,),
}
"""Segment -> the kinds of subjects that exist."""
FOLDERS = {CASH: "eq", DERIVATIVES: "fo", INDEX: "indices"}
"""Segment -> the word in its subjects."""
STREAM_EXCHANGES = frozenset({"NSE", "BSE"})

ORDER_SUBJECTS = (
    "stocks/order/updates.apex",
    "stocks_fo/order/updates.apex",
    "stocks_fo/position/updates.apex",
)
"""Orders of shares and of derivatives, and positions of derivatives; the subscription id follows, after a dot."""

sockets = 1
"""Market data and orders share one connection."""
per_socket = (wire.SUBSCRIPTIONS - len(ORDER_SUBJECTS)) // max(map(len, KINDS.values()))
silence_seconds: float | None = 185.0
"""Three of our pings without an answer, and longer than the handshake may take."""
ping_seconds: float | None = 60.0
"""The SDK's interval."""
ready_seconds: float | None = 150.0
"""The gateway often stalls the handshake: ten seconds typically, 145 at worst (docs/brokers/groww.md, section 6.1)."""

LINES_PER_MESSAGE: Final = 150
"""Our choice: keeps a message well below any limit of a gateway; the documents give none."""

DEAD_LOGIN = ("authorization violation", "authentication expired", "authentication revoked")
"""Errors that end the socket because its token is not valid: a check then shows whether the login is still live."""

_DEPTH: Final = 5
_LONGEST_SID: Final = 400
"""Digits; a trading symbol has some twenty characters."""
_LARGEST: Final = 2.0**53
"""A double above this is not a count."""
_SECONDS_BELOW: Final = 1e11
"""A stamp below this is in seconds (as in the documents' book sample), above it in milliseconds."""


def address(access: Access, now: datetime) -> StreamFlow:
    """Request a socket token for a new key pair. A dead login is refused here."""
    seed = secrets.token_bytes(32)
    body = msgspec.json.encode({"socketKey": nats.user_key(seed)})
    answer = wire.payload((yield wire.request(access, CallKind.READ, "POST", wire.SOCKET_TOKEN, body=body)), bare=True)
    return StreamAddress(
        url=access.endpoints.stream_url,
        handed={
            "jwt": required(answer, "token"),
            "subscription_id": required(answer, "subscriptionId"),
            "seed": nats.seed_text(seed),
        },
    )


def opening_messages(access: Access) -> list[bytes | str]:
    """Return no messages: the server speaks first."""
    return []


def subscribe_messages(access: Access, listings: Sequence[Listing]) -> list[bytes | str]:
    """Return messages for all subjects of these instruments; an instrument that the stream does not carry has none."""
    return _messages([nats.subscribe(subject, sid) for listing in listings for subject, sid in _subjects(listing)])


def unsubscribe_messages(access: Access, listings: Sequence[Listing]) -> list[bytes | str]:
    return _messages([nats.unsubscribe(sid) for listing in listings for _, sid in _subjects(listing)])


def _messages(lines: Sequence[bytes]) -> list[bytes | str]:
    return [b"".join(lines[at : at + LINES_PER_MESSAGE]) for at in range(0, len(lines), LINES_PER_MESSAGE)]


def ping_message() -> bytes | str | None:
    return nats.PING


def decoder(access: Access, address: StreamAddress, listings: Mapping[str, Listing]) -> "StreamDecoder":
    return StreamDecoder(address.handed)


# --- subjects and sids -------------------------------------------------------------------------------------------------


def _subjects(listing: Listing) -> list[tuple[str, str]]:
    """Return (subject, sid) of an instrument."""
    try:
        name = Name.of_token(listing.broker_token)
    except BadAnswer:
        return []
    number = exchange_token(listing)
    if number is None or name.exchange not in STREAM_EXCHANGES:
        return []
    kinds = KINDS.get(name.segment, ())
    return [(f"{_folder(name)}{kind}.{number}", _sid(name, place)) for place, kind in enumerate(kinds)]


def _sid(name: Name, place: int) -> str:
    """Return the number of a subscription, made of the instrument's token and the kind's place. The number in a subject
    does not lead back to our instrument. A sid may be any number that the client chooses, and the server returns it as
    text."""
    return str(int.from_bytes(bytes([place + 1]) + name.token.encode()))


def _of_sid(sid: str) -> tuple[Name, int]:
    """Read a number that `_sid` made; raise ValueError or `BadAnswer` for any other number."""
    if not sid.isdecimal() or len(sid) > _LONGEST_SID:
        raise ValueError("no sid")
    number = int(sid)
    data = number.to_bytes((number.bit_length() + 7) // 8)
    return Name.of_token(data[1:].decode()), data[0] - 1


def _folder(name: Name) -> str:
    return f"/ld/{FOLDERS[name.segment]}/{name.exchange.lower()}/"


def _named(message: nats.Message) -> tuple[Name, str]:
    """Return the instrument and the kind of a message; raise `BadAnswer` when its subject does not match its sid."""
    try:
        name, place = _of_sid(message.sid)
        kind = KINDS[name.segment][place]
    except (ValueError, LookupError) as error:
        raise BadAnswer(f"a message under a subscription that was never made: {message.sid[:40]}") from error
    if not message.subject.startswith(f"{_folder(name)}{kind}."):
        raise BadAnswer(f"the subscription of {name.token} brought {message.subject[:80]}")
    return name, kind


# --- decoding ----------------------------------------------------------------------------------------------------------


class StreamDecoder:
    """One connection: its handshake, the part of a message received so far, and what is known of each instrument."""

    def __init__(self, handed: Mapping[str, str]) -> None:
        self._handed = handed
        self._reader = nats.Reader()
        self._let_in = False
        self._known: dict[str, dict[str, Any]] = {}
        """broker_token -> the fields of its next tick."""

    def subscribing(self, listings: Sequence[Listing]) -> None:
        """Forget these instruments: values from an earlier subscription are old, and a new book must not make them look fresh."""
        for listing in listings:
            self._known.pop(listing.broker_token, None)

    def receive(self, frame: bytes | str) -> list[BrokerEvent]:
        """Decode one websocket message: any number of protocol messages and parts of them."""
        if isinstance(frame, str):
            return [CorruptFrame("a text frame: the stream is binary")]
        events: list[BrokerEvent] = []
        ticks: list[Tick] = []
        for event in self._reader.receive(frame):
            if isinstance(event, nats.Message) and not self._is_of_orders(event):
                self._read_market(event, ticks, events)
            else:
                events += self._answered(event)
        return [Ticks(tuple(ticks)), *events] if ticks else events

    def _answered(self, event: nats.NatsEvent) -> list[BrokerEvent]:
        match event:
            case nats.Info():
                return self._connect(event.fields)
            case nats.Pinged():
                return [Reply(nats.PONG), Heartbeat()]
            case nats.Ponged() if not self._let_in:
                self._let_in = True
                return [Reply(self._order_subscriptions()), Ready()]
            case nats.Message():
                return _moved(event)
            case nats.Failed():
                return [_failure(event.text)]
            case nats.Unreadable():
                return [CorruptFrame(event.reason)]
            case _:
                return [Heartbeat()]

    def _connect(self, info: Mapping[str, object]) -> list[BrokerEvent]:
        """Answer the first INFO; later ones are about the server's cluster and do not matter to us."""
        if self._let_in:
            return [Heartbeat()]
        nonce = info.get("nonce")
        if not isinstance(nonce, str):
            return [CorruptFrame("an INFO without a nonce")]
        signature = nats.sign(nats.seed_of(self._handed["seed"]), nonce)
        return [Reply(nats.connect(jwt=self._handed["jwt"], signature=signature) + nats.PING)]

    def _order_subscriptions(self) -> bytes:
        subjects = [f"{subject}.{self._handed['subscription_id']}" for subject in ORDER_SUBJECTS]
        return b"".join(nats.subscribe(subject, str(sid)) for sid, subject in enumerate(subjects, 1))

    def _is_of_orders(self, message: nats.Message) -> bool:
        return message.subject.startswith(ORDER_SUBJECTS)

    def _read_market(self, message: nats.Message, ticks: list[Tick], events: list[BrokerEvent]) -> None:
        try:
            name, _ = _named(message)
            market = proto.Market.FromString(message.payload)
        except (BadAnswer, DecodeError, UnicodeDecodeError) as error:
            events.append(CorruptFrame(f"market data that cannot be read: {error}"))
            return
        known = self._known.setdefault(name.token, {"broker_token": name.token})
        part = market.WhichOneof("data")
        if part is not None:
            _PARTS[part](known, name, getattr(market, part))
        if "last_price" in known:
            ticks.append(Tick(**known))
        else:  # an instrument that never traded has no price to serve
            events.append(Heartbeat())


def _take_price(known: dict[str, Any], name: Name, live: Any) -> None:
    """Take in one price message: zero means that a subject, or a day without a trade, has no such figure."""
    figures = {
        "last_price": _price(live.ltp),
        "average_price": _price(live.avgPrice),
        "open": _price(live.open),
        "high": _price(live.high),
        "low": _price(live.low),
        "previous_close": _price(live.close),  # as in the REST quote, whose close is the previous day's
        "volume": _count(live.volume),
        "oi": None if name.segment == CASH else _count(live.openInterest),
    }
    known.update({field: figure for field, figure in figures.items() if figure is not None})
    _take_time(known, live.tsInMillis)


def _take_book(known: dict[str, Any], name: Name, depth: Any) -> None:
    known["buy"], known["sell"] = _levels(depth.buyBook), _levels(depth.sellBook)
    _take_time(known, depth.tsInMillis)


def _take_index(known: dict[str, Any], name: Name, index: Any) -> None:
    value = _price(index.value)
    if value is not None:
        known["last_price"] = value
    _take_time(known, index.tsInMillis)


_PARTS: Mapping[str, Callable[[dict[str, Any], Name, Any], None]] = {
    "stockLivePrice": _take_price,
    "stocksMarketDepth": _take_book,
    "stocksLiveIndices": _take_index,
}


def _take_time(known: dict[str, Any], stamp: float) -> None:
    """Keep the newest time of the parts: an older part next to a newer one must not make the tick look old."""
    seconds = epoch_seconds(stamp if stamp < _SECONDS_BELOW else stamp / 1000)
    if seconds is not None:
        known["exchange_time"] = max(known.get("exchange_time", 0.0), seconds)


def _levels(book: Mapping[int, Any]) -> tuple[DepthLevel, ...]:
    """Return the non-empty levels of a side, best first: keys are levels from 1, in any order on the wire."""
    levels = []
    for place in sorted(book)[:_DEPTH]:
        price, quantity = _price(book[place].price), _count(book[place].qty)
        if price is not None and quantity:
            levels.append(DepthLevel(price, quantity))
    return tuple(levels)


def _price(value: float) -> float | None:
    """Return a price; zero means absent, and a number that cannot be a price (a damaged frame) gives None."""
    return value if 0 < value < math.inf else None


def _count(value: float) -> int | None:
    return int(value) if 0 < value <= _LARGEST else None


def _moved(message: nats.Message) -> list[BrokerEvent]:
    """Return that the books changed; they did so even where the update cannot be read."""
    if "/order/" in message.subject:
        try:
            order = proto.Order.FromString(message.payload)
        except (DecodeError, UnicodeDecodeError) as error:
            return [CorruptFrame(f"an order update that cannot be read: {error}"), BooksMoved()]
        if not order.orderDetailUpdateDto.growwOrderId:
            return [CorruptFrame("an order update that names no order"), BooksMoved()]
    return [BooksMoved()]


def _failure(text: str) -> BrokerEvent:
    lowered = text.lower()
    return SessionDead(text) if any(words in lowered for words in DEAD_LOGIN) else StreamRefused(text)
