"""SmartAPI's market-data socket ("WebSocket 2.0"): JSON requests out, one little-endian packet in every binary frame.

The first byte of a packet gives its mode, and the mode gives its length. Prices are integers of a hundredth of a rupee,
on the currency exchange of a ten-millionth. Text `ping` is answered with text `pong`; refused requests come as JSON text.
Sources: smartapi-python 1.5.5 (layout); SmartAPI documentation, websocket 2, not re-read by us.
"""

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from struct import Struct
from typing import Any

import msgspec

from onebroker.brokers.angelone import values, wire
from onebroker.brokers.broker import Access, StreamFlow
from onebroker.brokers.codec.fields import epoch_seconds, message_of, text
from onebroker.brokers.events import BrokerEvent, CorruptFrame, Heartbeat, SessionDead, StreamRefused, Ticks
from onebroker.brokers.records import DepthLevel, Listing, Tick
from onebroker.brokers.requests import BadAnswer, RefusalKind, StreamAddress

sockets = wire.SOCKETS
per_socket = wire.SUBSCRIPTIONS_PER_SOCKET
silence_seconds: float | None = wire.SILENCE_SECONDS
ping_seconds: float | None = wire.PING_SECONDS
ready_seconds: float | None = None

SUBSCRIBE, UNSUBSCRIBE = 1, 0
LTP, QUOTE, SNAP_QUOTE, DEPTH_20 = 1, 2, 3, 4
CURRENCY_TYPE = values.STREAM_TYPES["CDS"]

PING, PONG = "ping", "pong"
_CORRELATION = "onebroker1"
"""Ten characters; comes back with an error."""

_HEAD = Struct("<BB25s3q")
"""Mode, exchange type, token, sequence number, exchange time (ms), last price."""
_DAY = Struct("<3q2d4q")
"""Last quantity, average price, volume, buy and sell quantity, open, high, low, previous close."""
_MORE = Struct("<2q8x")
"""Last trade time, open interest; the open interest's change after them is known to be garbage."""
_LEVEL = Struct("<HqqH")
"""Flag, quantity, price, orders."""
_DAY_AT = _HEAD.size
_MORE_AT = _DAY_AT + _DAY.size
_LEVELS_AT = _MORE_AT + _MORE.size
_LEVELS_END = _LEVELS_AT + 10 * _LEVEL.size
SIZES = {LTP: _DAY_AT, QUOTE: _MORE_AT, SNAP_QUOTE: _LEVELS_END + 32, DEPTH_20: 443}
"""Mode -> bytes of its packet. After the levels of SNAP_QUOTE come the circuit limits and the year's range."""

_BUY = 1
_LARGEST = 2.0**53
"""A double above this is not a count."""
_FIRST_MILLISECONDS = 100_000_000_000
"""A time this large is in milliseconds: in seconds it would be the year 5138. The documents do not say which unit the
last trade's time has."""


def address(access: Access, now: datetime) -> StreamFlow:
    """Return the socket's address; no call is needed first. The handshake refuses a dead token with 401."""
    yield from ()
    return StreamAddress(url=access.endpoints.stream_url, headers=socket_headers(access))


def socket_headers(access: Access) -> dict[str, str]:
    """Return the handshake headers of either socket."""
    return {
        "Authorization": f"Bearer {access.token('jwtToken')}",
        "x-api-key": access.credentials["api_key"],
        "x-client-code": access.credentials["client_code"],
        "x-feed-token": access.token("feedToken"),
    }


def opening_messages(access: Access) -> list[bytes | str]:
    return []


def subscribe_messages(access: Access, listings: Sequence[Listing]) -> list[bytes | str]:
    """Return the messages that start SNAP_QUOTE packets; instruments that the socket does not carry (NCO) are left out."""
    return _messages(SUBSCRIBE, listings)


def unsubscribe_messages(access: Access, listings: Sequence[Listing]) -> list[bytes | str]:
    return _messages(UNSUBSCRIBE, listings)


def ping_message() -> bytes | str | None:
    return PING


def decoder(access: Access, address: StreamAddress, listings: Mapping[str, Listing]) -> "SmartFrames":
    return SmartFrames(listings)


class SmartFrames:
    """Decodes whole messages; nothing is kept between them."""

    def __init__(self, listings: Mapping[str, Listing]) -> None:
        self._listings = listings

    def receive(self, frame: bytes | str) -> list[BrokerEvent]:
        """Decode one message; a frame that contradicts itself is dropped whole, because none of it can be trusted."""
        if isinstance(frame, str):
            return [text_event(frame)]
        if SIZES.get(frame[0] if frame else 0) != len(frame):
            return [text_event(frame) if frame[:1] in (b"{", b"p") else CorruptFrame(f"{len(frame)} bytes of no mode")]
        if frame[0] == DEPTH_20:
            return [Heartbeat()]  # we never request these; twenty levels without a price make no tick
        exchange = values.STREAM_EXCHANGES.get(frame[1])
        token = frame[2:27].partition(b"\0")[0]
        if exchange is None or not token.isalnum():
            return [CorruptFrame(f"exchange type {frame[1]} with a token of {len(token)} bytes")]
        name = values.broker_token(exchange, token.decode("ascii"))
        tick = _tick(frame, name, exchange, self._units(name))
        # Zero means never traded: there is no price to serve.
        return [Heartbeat()] if tick is None else [Ticks((tick,))]

    def _units(self, name: str) -> int | None:
        """Return the units in one quantity; None for an index: it has no quantities, though its packets carry zeros."""
        return None if values.is_index(name) else values.contract_units(name, self._listings)


def text_event(frame: bytes | str) -> BrokerEvent:
    """Read a text message of either socket that is not an update: a pong, an error, or a message that we do not know."""
    if frame in (PONG, PONG.encode()):
        return Heartbeat()
    try:
        message = message_of(frame)
    except BadAnswer as error:
        return CorruptFrame(f"a text message that cannot be read: {error}")
    code = text(message.get("errorCode")) or text(message.get("errorcode"))
    words = text(message.get("errorMessage")) or text(message.get("message"))
    if code is None and words is None:
        return CorruptFrame("a text message that is neither an update nor an error")
    reason = words or str(code)
    dead = wire.KINDS.kind(200, code, reason) is RefusalKind.SESSION_DEAD
    return SessionDead(reason) if dead else StreamRefused(reason)


def _tick(frame: bytes, name: str, exchange: str, units: int | None) -> Tick | None:
    mode, kind, _, _, sent, last = _HEAD.unpack_from(frame)
    if last <= 0:
        return None
    divisor = 10_000_000.0 if kind == CURRENCY_TYPE else 100.0
    more: dict[str, Any] = {}
    if mode != LTP:
        more = _day(frame, divisor, units)
    if mode == SNAP_QUOTE:
        traded, interest = _MORE.unpack_from(frame, _MORE_AT)
        buy, sell = _levels(frame, divisor, units)
        more |= {
            "last_trade_time": _time(traded),
            "oi": None if exchange in values.CASH_EXCHANGES else _count(interest, units),
            "buy": buy,
            "sell": sell,
        }
    return Tick(broker_token=name, last_price=last / divisor, exchange_time=_time(sent), **more)


def _day(frame: bytes, divisor: float, units: int | None) -> dict[str, Any]:
    quantity, average, volume, buy, sell, open_, high, low, close = _DAY.unpack_from(frame, _DAY_AT)
    return {
        "last_quantity": _count(quantity, units),
        "average_price": _price(average, divisor),
        "volume": _count(volume, units),
        "buy_quantity": _count(buy, units),
        "sell_quantity": _count(sell, units),
        "open": _price(open_, divisor),
        "high": _price(high, divisor),
        "low": _price(low, divisor),
        "previous_close": _price(close, divisor),
    }


def _levels(
    frame: bytes, divisor: float, units: int | None
) -> tuple[tuple[DepthLevel, ...] | None, tuple[DepthLevel, ...] | None]:
    """Return both sides without empty levels; each level's flag gives its side. None for both when not in units."""
    if units is None:
        return None, None
    buy: list[DepthLevel] = []
    sell: list[DepthLevel] = []
    for flag, quantity, price, orders in _LEVEL.iter_unpack(frame[_LEVELS_AT:_LEVELS_END]):
        if quantity > 0 and price > 0:
            (buy if flag == _BUY else sell).append(DepthLevel(price / divisor, quantity * units, orders))
    return tuple(buy), tuple(sell)


def _price(value: int, divisor: float) -> float | None:
    """Return a price in rupees; zero means no price, and a value below zero cannot be a price."""
    return value / divisor if value > 0 else None


def _count(value: float, units: int | None) -> int | None:
    """Return a quantity in units; None when the lot size is not known or the number is not a count (a damaged frame)."""
    if units is None or not math.isfinite(value) or not 0 <= value <= _LARGEST:
        return None
    return int(value) * units


def _time(stamp: int) -> float | None:
    """Return the epoch seconds of a time in seconds or milliseconds; None for zero and for a time outside 1970 to 2100."""
    return epoch_seconds(stamp / 1000 if stamp >= _FIRST_MILLISECONDS else stamp)


def _messages(action: int, listings: Sequence[Listing]) -> list[bytes | str]:
    carried = [listing for listing in listings if listing.exchange in values.STREAM_TYPES]
    size = wire.TOKENS_PER_MESSAGE
    return [_message(action, carried[at : at + size]) for at in range(0, len(carried), size)]


def _message(action: int, listings: Sequence[Listing]) -> str:
    tokens: dict[int, list[str]] = {}
    for listing in listings:
        kind = values.STREAM_TYPES[listing.exchange]
        tokens.setdefault(kind, []).append(values.symbol_token(listing.broker_token))
    listed = [{"exchangeType": kind, "tokens": numbers} for kind, numbers in tokens.items()]
    request = {"correlationID": _CORRELATION, "action": action, "params": {"mode": SNAP_QUOTE, "tokenList": listed}}
    return msgspec.json.encode(request).decode()
