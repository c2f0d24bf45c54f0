"""Dhan's market-data socket: JSON requests out, little-endian binary packets in, several of them in one message.

A packet begins with its kind, its length, the number of the segment and the security id. Prices are 32-bit floats in
rupees; quantities are units, or lots in the segments whose orders count lots. We subscribe to full packets: trade, day,
open interest and five levels. Sources: dhanhq 2.3.0 (layouts); DhanHQ v2 documentation, "Live Market Feed", not re-read
by us; the length in the header, several packets in a message and the shift of trade times: public live clients.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from struct import Struct
from typing import Any, Final
from urllib.parse import urlencode, urlsplit, urlunsplit

import msgspec

from onebroker.brokers.broker import Access, StreamFlow
from onebroker.brokers.dhan import values, wire
from onebroker.brokers.dhan.trade_times import TradeTimes
from onebroker.brokers.events import BrokerEvent, CorruptFrame, Heartbeat, SessionDead, StreamRefused, Ticks
from onebroker.brokers.records import DepthLevel, Listing, Tick
from onebroker.brokers.requests import RefusalKind, StreamAddress

sockets = wire.SOCKETS
per_socket = wire.INSTRUMENTS_PER_SOCKET
silence_seconds: float | None = None
"""When nothing trades, only websocket pings come, and the library answers them invisibly (lesson 3); we also ping."""
ping_seconds: float | None = wire.PING_SECONDS
ready_seconds: float | None = None

SUBSCRIBE_FULL, UNSUBSCRIBE_FULL = 21, 22
OPENED = "opened"
"""Key in `StreamAddress.handed`: epoch seconds at which the connection began, to check trade times."""

DISCONNECT = 50
REASONS = {
    805: "too many connections",
    806: "the data plan is not subscribed to",
    807: "the access token has expired",
    808: "the authentication failed",
    809: "the access token is invalid",
}
"""Codes of the disconnect packet; the table of refusals has further codes."""

_HEADER: Final = Struct("<BHBI")
_TICKER: Final = Struct("<fI")
_QUOTE: Final = Struct("<fHIfIIIffff")
_OI: Final = Struct("<I")
_PREVIOUS_CLOSE: Final = Struct("<fI")
_FULL: Final = Struct("<fHIfIIIIIIffff" + "IIHHff" * 5)
_DEPTH: Final = Struct("<f" + "IIHHff" * 5)
_REASON: Final = Struct("<H")
_FULL_LEVELS, _DEPTH_LEVELS = 14, 1
"""Where depth starts among the fields of a packet."""
_MARKET_STATUS = 7

_COARSE: Final = 2.0**17
"""From this value up a 32-bit float is coarser than a paisa."""


def address(access: Access, now: datetime) -> StreamFlow:
    """Return the socket's address; no call is needed first. A dead token is reported in a disconnect packet."""
    yield from ()
    query = urlencode(
        {
            "version": "2",
            "token": access.token("access_token"),
            "clientId": access.credentials["client_id"],
            "authType": "2",
        }
    )
    scheme, host, path, _, _ = urlsplit(access.endpoints.stream_url)
    url = urlunsplit((scheme, host, path or "/", query, ""))
    return StreamAddress(url=url, handed={OPENED: str(now.timestamp())})


def opening_messages(access: Access) -> list[bytes | str]:
    return []


def subscribe_messages(access: Access, listings: Sequence[Listing]) -> list[bytes | str]:
    """Return the messages that start full packets for these instruments."""
    return _messages(SUBSCRIBE_FULL, listings)


def unsubscribe_messages(access: Access, listings: Sequence[Listing]) -> list[bytes | str]:
    return _messages(UNSUBSCRIBE_FULL, listings)


def ping_message() -> bytes | str | None:
    """Return None: a websocket ping. The broker answers it, and nothing else shows that the connection is alive."""
    return None


def decoder(access: Access, address: StreamAddress, listings: Mapping[str, Listing]) -> "FeedPackets":
    return FeedPackets(listings, TradeTimes(float(address.handed.get(OPENED, 0.0))))


class FeedPackets:
    """Decodes whole messages. Keeps the previous close of every instrument, which is sent only once, and the last tick,
    to which a separate open-interest packet is added. Also keeps how trade times are counted."""

    def __init__(self, listings: Mapping[str, Listing], times: TradeTimes) -> None:
        self._listings = listings
        self._times = times
        self._previous_closes: dict[str, float] = {}
        self._last: dict[str, Tick] = {}

    def receive(self, frame: bytes | str) -> list[BrokerEvent]:
        """Decode one message; a message that contradicts itself is dropped whole, because none of it can be trusted."""
        if isinstance(frame, str):
            return [CorruptFrame("a text message")]
        packets = _split(frame)
        if packets is None:
            return [CorruptFrame(f"{len(frame)} bytes that do not divide into packets")]
        ticks: list[Tick] = []
        events: list[BrokerEvent] = []
        for kind, code, security_id, at in packets:
            if kind == DISCONNECT:
                events.append(disconnected(_REASON.unpack_from(frame, at)[0]))
                continue
            reader = _READERS.get(kind)
            if reader is None:
                if kind != _MARKET_STATUS:
                    events.append(CorruptFrame(f"a packet of the unknown kind {kind}"))
                continue
            where = values.SEGMENT_CODES.get(code)
            if where is None:
                events.append(CorruptFrame(f"a packet of the unknown segment {code}"))
                continue
            tick = reader[1](self, frame, at, values.token(where, security_id))
            if tick is not None:
                self._last[tick.broker_token] = tick
                ticks.append(tick)
        if ticks:
            events.insert(0, Ticks(tuple(ticks)))
        # A market state, a previous close or an instrument that never traded is a sign of life.
        return events or [Heartbeat()]

    # Each reader takes a frame, the place where the packet's fields begin, and the instrument, and makes a tick; None =
    # there is no price to serve.

    def _ticker(self, frame: bytes, at: int, token: str) -> Tick | None:
        last, traded_at = _TICKER.unpack_from(frame, at)
        price = self._pricing(token)
        return self._tick(token, price(last), traded_at)

    def _quote(self, frame: bytes, at: int, token: str) -> Tick | None:
        last, quantity, traded_at, average, volume, sell, buy, open_, _, high, low = _QUOTE.unpack_from(frame, at)
        price, units = self._pricing(token), self._units(token)
        before = self._last.get(token)
        return self._tick(
            token, price(last), traded_at,
            average_price=price(average), open=price(open_), high=price(high), low=price(low),
            last_quantity=_count(quantity, units), volume=_count(volume, units),
            sell_quantity=_count(sell, units), buy_quantity=_count(buy, units),
            oi=None if before is None else before.oi,  # comes in its own packet when it changes
        )  # fmt: skip

    def _full(self, frame: bytes, at: int, token: str) -> Tick | None:
        fields = _FULL.unpack_from(frame, at)
        last, quantity, traded_at, average, volume, sell, buy, oi, oi_high, oi_low, open_, _, high, low = fields[:14]
        price, units = self._pricing(token), self._units(token)
        open_units = None if values.segment(token) in values.CASH_SEGMENTS else units
        bids, asks = _levels(fields, _FULL_LEVELS, price, units)
        return self._tick(
            token, price(last), traded_at,
            average_price=price(average), open=price(open_), high=price(high), low=price(low),
            last_quantity=_count(quantity, units), volume=_count(volume, units),
            sell_quantity=_count(sell, units), buy_quantity=_count(buy, units),
            oi=_count(oi, open_units), oi_day_high=_count(oi_high, open_units), oi_day_low=_count(oi_low, open_units),
            buy=bids, sell=asks,
        )  # fmt: skip

    def _depth(self, frame: bytes, at: int, token: str) -> Tick | None:
        fields = _DEPTH.unpack_from(frame, at)
        price = self._pricing(token)
        bids, asks = _levels(fields, _DEPTH_LEVELS, price, self._units(token))
        return self._tick(token, price(fields[0]), 0, buy=bids, sell=asks)

    def _open_interest(self, frame: bytes, at: int, token: str) -> Tick | None:
        """Return the last tick of the instrument with its new open interest."""
        before, units = self._last.get(token), self._units(token)
        if before is None or units is None:
            return None
        return msgspec.structs.replace(before, oi=_OI.unpack_from(frame, at)[0] * units)

    def _previous_close(self, frame: bytes, at: int, token: str) -> Tick | None:
        """Keep the previous close for the ticks that follow."""
        close = self._pricing(token)(_PREVIOUS_CLOSE.unpack_from(frame, at)[0])
        if close is not None:
            self._previous_closes[token] = close
        return None

    def _tick(self, token: str, last: float | None, traded_at: int, **more: Any) -> Tick | None:
        if last is None:
            return None
        return Tick(
            broker_token=token,
            last_price=last,
            # During the day a packet's own close is the previous one; after hours it is today's.
            previous_close=self._previous_closes.get(token),
            last_trade_time=self._times.epoch(token, traded_at),
            **more,
        )

    def _units(self, token: str) -> int | None:
        """Return the units in one quantity; None for an index, which has no quantities, and for lots of unknown size."""
        if values.segment(token) == values.INDEX_SEGMENT:
            return None
        return values.contract_units(token, self._listings)

    def _pricing(self, token: str) -> Callable[[float], float | None]:
        """Return a function that turns a packet's price into the rupees that the exchange wrote. It rounds to the
        exchange's decimals, and to the tick where a 32-bit float is coarser than those. Zero, and what a damaged packet
        may hold, give None."""
        places = 4 if values.segment(token) in values.CURRENCY_SEGMENTS else 2
        listing = self._listings.get(token)
        tick_size = None if listing is None else listing.tick_size

        def price(value: float) -> float | None:
            if not 0 < value < math.inf:
                return None
            if value >= _COARSE and tick_size:
                value = round(value / tick_size) * tick_size
            return round(value, places) or None

        return price


def disconnected(code: int) -> BrokerEvent:
    """Read the reason in a disconnect packet: only a refused token means a dead session, a missing data plan does not."""
    message = REASONS.get(code, f"disconnected with code {code}")
    if wire.REFUSALS.get(str(code)) is RefusalKind.SESSION_DEAD:
        return SessionDead(message)
    return StreamRefused(message)


def _split(frame: bytes) -> list[tuple[int, int, int, int]] | None:
    """Return each packet's kind, segment number, security id and the place after its header. Return None when the lengths
    do not add up to the message, or a packet is too short for its kind. Of a longer packet only the known part is read."""
    packets = []
    at, size = 0, len(frame)
    while at < size:
        if at + _HEADER.size > size:
            return None
        kind, length, code, security_id = _HEADER.unpack_from(frame, at)
        if length < _HEADER.size + _SIZES.get(kind, 0) or at + length > size:
            return None
        packets.append((kind, code, security_id, at + _HEADER.size))
        at += length
    return packets


def _count(value: int, units: int | None) -> int | None:
    return None if units is None else value * units


def _levels(
    fields: tuple[Any, ...], start: int, price: Callable[[float], float | None], units: int | None
) -> tuple[tuple[DepthLevel, ...] | None, tuple[DepthLevel, ...] | None]:
    """Return both sides without empty levels; None for both when the quantities cannot be read."""
    if units is None:
        return None, None
    buy, sell = [], []
    for place in range(start, start + 30, 6):
        bid_quantity, ask_quantity, bid_orders, ask_orders, bid, ask = fields[place : place + 6]
        if bid_quantity and (bid_price := price(bid)) is not None:
            buy.append(DepthLevel(bid_price, bid_quantity * units, bid_orders))
        if ask_quantity and (ask_price := price(ask)) is not None:
            sell.append(DepthLevel(ask_price, ask_quantity * units, ask_orders))
    return tuple(buy), tuple(sell)


def _messages(code: int, listings: Sequence[Listing]) -> list[bytes | str]:
    most = wire.INSTRUMENTS_PER_MESSAGE
    return [_message(code, listings[at : at + most]) for at in range(0, len(listings), most)]


def _message(code: int, listings: Sequence[Listing]) -> str:
    instruments = [
        {
            "ExchangeSegment": values.segment(listing.broker_token),
            "SecurityId": values.security_id(listing.broker_token),
        }
        for listing in listings
    ]
    request = {"RequestCode": code, "InstrumentCount": len(instruments), "InstrumentList": instruments}
    return msgspec.json.encode(request).decode()


_Reader = Callable[[FeedPackets, bytes, int, str], Tick | None]

_READERS: Mapping[int, tuple[Struct, _Reader]] = {
    2: (_TICKER, FeedPackets._ticker),
    3: (_DEPTH, FeedPackets._depth),
    4: (_QUOTE, FeedPackets._quote),
    5: (_OI, FeedPackets._open_interest),
    6: (_PREVIOUS_CLOSE, FeedPackets._previous_close),
    8: (_FULL, FeedPackets._full),
}
"""Kind of packet -> its layout after the header, and its reader. The documents name kind 1 (index) without a layout:
indices come as tickers, quotes and full packets of segment 0."""

_SIZES: Mapping[int, int] = {DISCONNECT: _REASON.size, **{kind: layout.size for kind, (layout, _) in _READERS.items()}}
