"""Kite's one socket: binary market data, text order updates and errors, one-byte heartbeats.

A binary frame is a count of packets, then each packet after its length; all numbers are big-endian and unsigned. The
length of a packet gives its kind. The low byte of the instrument token gives the segment, and so the divisor of prices
and whether quantities are lots. Sources: kiteconnect 5.2.2; Kite Connect 3 documentation, websocket, not re-read by us.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from struct import Struct
from typing import Any
from urllib.parse import urlencode, urlsplit, urlunsplit

import msgspec

from onebroker.brokers.broker import Access, StreamFlow
from onebroker.brokers.codec.fields import epoch_seconds, message_of, row_of
from onebroker.brokers.events import (
    BrokerEvent,
    CorruptFrame,
    Heartbeat,
    OrderUpdate,
    SessionDead,
    StreamRefused,
    Ticks,
)
from onebroker.brokers.records import DepthLevel, Listing, Tick
from onebroker.brokers.requests import BadAnswer, StreamAddress
from onebroker.brokers.zerodha import wire
from onebroker.brokers.zerodha.books import order_row

sockets = wire.SOCKETS
per_socket = wire.INSTRUMENTS_PER_SOCKET
silence_seconds: float | None = wire.HEARTBEAT_SILENCE_SECONDS
ping_seconds: float | None = None
ready_seconds: float | None = None

DIVISORS = {3: 10_000_000.0, 6: 10_000.0, 12: 10_000.0}
"""Segment -> units of price per rupee; 100 for all others. 3 NSE currency, 6 BSE currency, 12 NSE commodity."""
LOT_SEGMENTS = frozenset({3, 6, 7, 12})
"""Segments in which quantities are lots: the currencies, 7 MCX, 12 NSE commodity."""

_DEAD_LOGIN = re.compile(r"access.?token|api.?key|session", re.IGNORECASE)
"""Words in an error text when the login is no longer valid (an instrument token is no login)."""

_COUNT = Struct(">H")
_LTP = Struct(">II")
_INDEX_QUOTE = Struct(">7I")
_INDEX_FULL = Struct(">8I")
_QUOTE = Struct(">11I")
_FULL = Struct(">16I" + "IIHxx" * 10)
_DEPTH = 16
"""Where depth starts among the fields of a full packet: five buy levels, five sell levels, three fields each."""


def address(access: Access, now: datetime) -> StreamFlow:
    """Return the socket's address; no call is needed first. The handshake refuses a dead token with 403."""
    yield from ()
    query = urlencode({"api_key": access.credentials["api_key"], "access_token": access.token("access_token")})
    scheme, host, path, _, _ = urlsplit(access.endpoints.stream_url)
    return StreamAddress(
        url=urlunsplit((scheme, host, path or "/", query, "")), headers={"X-Kite-Version": wire.VERSION}
    )


def opening_messages(access: Access) -> list[bytes | str]:
    return []


def subscribe_messages(access: Access, listings: Sequence[Listing]) -> list[bytes | str]:
    """Return the messages that start full packets for these instruments."""
    tokens = [int(listing.broker_token) for listing in listings]
    return [_message({"a": "subscribe", "v": tokens}), _message({"a": "mode", "v": ["full", tokens]})] if tokens else []


def unsubscribe_messages(access: Access, listings: Sequence[Listing]) -> list[bytes | str]:
    tokens = [int(listing.broker_token) for listing in listings]
    return [_message({"a": "unsubscribe", "v": tokens})] if tokens else []


def ping_message() -> bytes | str:
    """Never called: the socket takes no pings from us."""
    return ""


def decoder(access: Access, address: StreamAddress, listings: Mapping[str, Listing]) -> "KiteDecoder":
    return KiteDecoder(listings)


class KiteDecoder:
    """Decodes whole messages; nothing is kept between them."""

    def __init__(self, listings: Mapping[str, Listing]) -> None:
        self._listings = listings

    def receive(self, frame: bytes | str) -> list[BrokerEvent]:
        """Decode one message; a frame that contradicts itself is dropped whole, because none of it can be trusted."""
        if isinstance(frame, str):
            return self._text(frame)
        if len(frame) < 2:
            return [Heartbeat()]
        packets = _split(frame)
        if packets is None:
            return [CorruptFrame(f"{len(frame)} bytes that do not divide into the packets announced")]
        known = [packet for packet in packets if len(packet) in _READERS]
        ticks = tuple(
            [tick for tick in map(self._tick, known) if tick.last_price]
        )  # zero: never traded, no price to serve
        events: list[BrokerEvent] = [Ticks(ticks)] if ticks else []
        if len(known) < len(packets):
            events.append(CorruptFrame(f"{len(packets) - len(known)} packets of an unknown length"))
        return events

    def _tick(self, packet: bytes) -> Tick:
        segment = packet[3]
        units: int | None = 1
        if segment in LOT_SEGMENTS:
            listing = self._listings.get(str(int.from_bytes(packet[:4], "big")))
            units = None if listing is None else listing.contract_units
        return _READERS[len(packet)](packet, DIVISORS.get(segment, 100.0), units)

    def _text(self, frame: str) -> list[BrokerEvent]:
        try:
            message = message_of(frame)
            kind, content = message.get("type"), message.get("data")
            if kind == "order":
                return [OrderUpdate(order_row(row_of(content), self._listings))]
        except BadAnswer as error:
            return [CorruptFrame(f"a text message that cannot be read: {error}")]
        if kind == "error":
            return [_error(str(content))]
        return []  # broadcasts to the user, and kinds that came later


def _error(message: str) -> BrokerEvent:
    return SessionDead(message) if _DEAD_LOGIN.search(message) else StreamRefused(message)


def _split(frame: bytes) -> list[bytes] | None:
    """Return the packets, or None when count, lengths and size do not agree."""
    size = len(frame)
    (count,) = _COUNT.unpack_from(frame)
    packets = []
    at = 2
    for _ in range(count):
        if at + 2 > size:
            return None
        end = at + 2 + int.from_bytes(frame[at : at + 2], "big")
        if end > size:
            return None
        packets.append(frame[at + 2 : end])
        at = end
    return packets if at == size else None


# Each reader takes a packet, the divisor of its prices and the units in one of its quantities (None = not known; its
# quantities are then left out), and makes a tick. Kite writes zero for no price and no time.


def _ltp(packet: bytes, divisor: float, units: int | None) -> Tick:
    token, last = _LTP.unpack(packet)
    return Tick(broker_token=str(token), last_price=last / divisor)


def _index_quote(packet: bytes, divisor: float, units: int | None) -> Tick:
    # high, low, open, close: not the order of a quote packet. The last field is the change, which is computed.
    token, last, high, low, open_, close, _ = _INDEX_QUOTE.unpack(packet)
    return Tick(
        broker_token=str(token),
        last_price=last / divisor,
        open=open_ / divisor or None,
        high=high / divisor or None,
        low=low / divisor or None,
        previous_close=close / divisor or None,
    )


def _index_full(packet: bytes, divisor: float, units: int | None) -> Tick:
    token, last, high, low, open_, close, _, exchange_time = _INDEX_FULL.unpack(packet)
    return Tick(
        broker_token=str(token),
        last_price=last / divisor,
        open=open_ / divisor or None,
        high=high / divisor or None,
        low=low / divisor or None,
        previous_close=close / divisor or None,
        exchange_time=epoch_seconds(exchange_time),
    )


def _quote(packet: bytes, divisor: float, units: int | None) -> Tick:
    token, last, last_quantity, average, volume, buy, sell, open_, high, low, close = _QUOTE.unpack(packet)
    return Tick(
        broker_token=str(token),
        last_price=last / divisor,
        average_price=average / divisor or None,
        open=open_ / divisor or None,
        high=high / divisor or None,
        low=low / divisor or None,
        previous_close=close / divisor or None,
        last_quantity=None if units is None else last_quantity * units,
        volume=None if units is None else volume * units,
        buy_quantity=None if units is None else buy * units,
        sell_quantity=None if units is None else sell * units,
    )


def _full(packet: bytes, divisor: float, units: int | None) -> Tick:
    fields = _FULL.unpack(packet)
    token, last, last_quantity, average, volume, buy, sell, open_, high, low, close = fields[:11]
    last_trade, oi, oi_high, oi_low, exchange_time = fields[11:_DEPTH]
    return Tick(
        broker_token=str(token),
        last_price=last / divisor,
        average_price=average / divisor or None,
        open=open_ / divisor or None,
        high=high / divisor or None,
        low=low / divisor or None,
        previous_close=close / divisor or None,
        last_quantity=None if units is None else last_quantity * units,
        volume=None if units is None else volume * units,
        buy_quantity=None if units is None else buy * units,
        sell_quantity=None if units is None else sell * units,
        oi=None if units is None else oi * units,
        oi_day_high=None if units is None else oi_high * units,
        oi_day_low=None if units is None else oi_low * units,
        buy=None if units is None else _levels(fields, _DEPTH, divisor, units),
        sell=None if units is None else _levels(fields, _DEPTH + 15, divisor, units),
        last_trade_time=epoch_seconds(last_trade),
        exchange_time=epoch_seconds(exchange_time),
    )


def _levels(fields: tuple[Any, ...], at: int, divisor: float, units: int) -> tuple[DepthLevel, ...]:
    return tuple(
        [
            DepthLevel(fields[place + 1] / divisor, fields[place] * units, fields[place + 2])
            for place in range(at, at + 15, 3)
            if fields[place] and fields[place + 1]
        ]
    )


_READERS: dict[int, Callable[[bytes, float, int | None], Tick]] = {
    _LTP.size: _ltp,
    _INDEX_QUOTE.size: _index_quote,
    _INDEX_FULL.size: _index_full,
    _QUOTE.size: _quote,
    _FULL.size: _full,
}


def _message(value: object) -> str:
    return msgspec.json.encode(value).decode()
