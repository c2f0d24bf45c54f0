"""Kotak Neo's market-data socket (SFeed, format `native_batch`): JSON text for control, binary frames for data.

Binary is little-endian and packed: several packets in a frame, each after its own length. The level in its header, not
the code, tells the kind of a market packet. Prices are integers over a divisor per exchange; the answer to the first
message gives the divisors. The only heartbeat is websocket pings. Source: docs/brokers/kotakneo.md, section 6a (official
SDK 3.0.9, its tests).
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from struct import Struct

import msgspec

from onebroker.brokers.broker import Access, StreamFlow
from onebroker.brokers.codec.fields import epoch_seconds, message_of, number, whole
from onebroker.brokers.events import BrokerEvent, CorruptFrame, Heartbeat, Ready, StreamRefused, Ticks
from onebroker.brokers.kotakneo import addresses, wire
from onebroker.brokers.kotakneo.values import CASH_SEGMENTS, contract_units, token_of, wire_name
from onebroker.brokers.records import DepthLevel, Listing, Tick
from onebroker.brokers.requests import BadAnswer, StreamAddress

sockets = wire.SOCKETS
per_socket = wire.INSTRUMENTS_PER_SOCKET
silence_seconds: float | None = None
ping_seconds: float | None = wire.PING_SECONDS
ready_seconds: float | None = wire.READY_SECONDS

EXCHANGES = {
    1: "nse_cm", 2: "nse_fo", 3: "cde_fo", 4: "nse_com", 5: "bse_cm", 6: "bse_fo", 7: "bcs_fo", 8: "bse_co",
    9: "mcx_fo", 10: "ncd_co",
}  # fmt: skip
"""Exchange id -> segment; the feed itself calls number 7 bse_cd."""
DIVIDERS = {3: 10_000_000.0, 7: 10_000_000.0}
"""Exchange id -> price units in a rupee where the answer does not give them; 100 for all others."""

AUTHENTICATED = frozenset({1117, 1119})
"""message_code of the answer to the first message: the documented one, and the one sent today."""
FORMAT = "native_batch"

MARKET_OPEN, MARKET_CLOSE, MARKET_STATUS, AUCTION_CHANGE, INDEX = 6511, 6521, 105, 104, 7207
_STATUS_CODES = frozenset({MARKET_OPEN, MARKET_CLOSE, MARKET_STATUS, AUCTION_CHANGE})
"""Packets that hold no price we use."""
MINI = 1
PICTURES = frozenset({2, 4, 8, 16})
TOUCH = 4
"""A packet of this level has one row a side, whatever the counts say."""

_HEADER = Struct("<HHbBBBB")
_MINI = Struct("<IqIqI")
_INDEX = Struct("<I5iQ")
_PICTURE = Struct("<I5q5Iq4IhiI")
_ROW = Struct("<qii")
_NAME_AT = 66
"""Position of the name in an index packet; the name is padded with NULs."""
_ROWS_AT = 144
_SIZES = {"index": 87, "mini": 54, "picture": _ROWS_AT}
_DEPTH = 5


def address(access: Access, now: datetime) -> StreamFlow:
    """Ask where this account's feed is."""
    asked = yield from addresses.ask(access, addresses.MARKET)
    return StreamAddress(
        url=addresses.as_socket(asked or addresses.told(access, "feedUrl") or access.endpoints.stream_url)
    )


def opening_messages(access: Access) -> list[bytes | str]:
    """Return the message that names the session; its answer brings the dividers.

    The connection time in it is the login's time: this builder has no clock, and the broker does not say what the time is
    for.
    """
    login = access.login
    message = {
        "user": "" if login is None else login.user_id,
        "auth": access.token("sid"),
        "format": FORMAT,
        "source": wire.SOURCE,
        "platform": "Web",
        "version": "1.2.3",
        "sdk_version": 2,
        "sdk_date": "2026-08-07T09:41:17.667Z",
        "conn_req_time": 0 if login is None else int(login.logged_in_at * 1000),
        "sessionValidation": False,
    }
    return [_text(message)]


def subscribe_messages(access: Access, listings: Sequence[Listing]) -> list[bytes | str]:
    """Return the messages that start full packets with five levels; indices have their own event."""
    return _messages("subscribe", listings)


def unsubscribe_messages(access: Access, listings: Sequence[Listing]) -> list[bytes | str]:
    return _messages("unsubscribe", listings)


def ping_message() -> bytes | str | None:
    """Return None: websocket pings."""
    return None


def decoder(access: Access, address: StreamAddress, listings: Mapping[str, Listing]) -> "SFeedDecoder":
    return SFeedDecoder(listings)


class SFeedDecoder:
    """Decodes whole messages; keeps the dividers of its connection and the names of the indices subscribed on it."""

    def __init__(self, listings: Mapping[str, Listing]) -> None:
        self._listings = listings
        self._dividers: dict[int, float] = {}
        self._indices: dict[str, str] = {}
        """Segment and display name of an index in capitals -> its broker_token."""

    def subscribing(self, listings: Sequence[Listing]) -> None:
        """Learn the indices' names: they are subscribed by name, and whether their packets carry the file's number is not known."""
        self._indices |= {
            wire_name(listing).upper(): listing.broker_token for listing in listings if listing.other_names is not None
        }

    def receive(self, frame: bytes | str) -> list[BrokerEvent]:
        """Decode one message. An impossible length ends the frame; the packets before it count."""
        if isinstance(frame, str):
            return [self._control(frame)]
        ticks, at, size, bad = [], 0, len(frame), ""
        while at < size:
            length = int.from_bytes(frame[at : at + 2], "little")
            if length < _HEADER.size or at + length > size:
                bad = f"a packet of {length} bytes in the {size - at} that are left"
                break
            read = self._packet(frame[at : at + length])
            if isinstance(read, str):
                bad = read
            elif read is not None:
                ticks.append(read)
            at += length
        events: list[BrokerEvent] = [Ticks(tuple(ticks))] if ticks else []
        return events + ([CorruptFrame(bad)] if bad else [])

    def _packet(self, packet: bytes) -> Tick | str | None:
        """Return the tick of a packet, None for a packet without a price we use, or a text that says what is wrong with it."""
        _, code, exchange, level, _, _, _ = _HEADER.unpack_from(packet)
        if code in _STATUS_CODES:
            return None
        kind = "index" if code == INDEX else "mini" if level == MINI else "picture" if level in PICTURES else None
        segment = EXCHANGES.get(exchange)
        if kind is None or segment is None:
            return f"a packet of code {code}, level {level}, exchange {exchange}"
        if len(packet) < _SIZES[kind]:
            return f"a packet of level {level} in {len(packet)} bytes"
        divider = self._dividers.get(exchange) or DIVIDERS.get(exchange, 100.0)
        if kind == "index":
            return _index(packet, self._index_token(packet, segment), divider)
        token = token_of(segment, int.from_bytes(packet[9:13], "little"))
        units = contract_units(token, self._listings)
        if kind == "mini":
            return _mini(packet, token, divider, units)
        return _picture(packet, token, divider, units)

    def _index_token(self, packet: bytes, segment: str) -> str:
        """Return the broker_token of an index: by its number where that is listed, else by its name."""
        numbered = token_of(segment, int.from_bytes(packet[9:13], "little"))
        if numbered in self._listings:
            return numbered
        name = packet[_NAME_AT:].partition(b"\0")[0].decode("ascii", "replace").strip()
        return self._indices.get(token_of(segment, name).upper(), numbered)

    def _control(self, frame: str) -> BrokerEvent:
        try:
            message = message_of(frame)
            message_code = whole(message.get("message_code"))
        except BadAnswer as error:
            return CorruptFrame(f"a text message that cannot be read: {error}")
        if message_code not in AUTHENTICATED:
            refused = message.get("error") or message.get("errMsg") or message.get("emsg")
            return StreamRefused(str(refused)) if refused else Heartbeat()
        if message.get("format") == "native_fallback":
            return StreamRefused("the feed answers in another format than the one asked for")
        self._read_dividers(message.get("exchanges"))
        return Ready()

    def _read_dividers(self, exchanges: object) -> None:
        if not isinstance(exchanges, dict):
            return
        ids = {name: number_ for number_, name in EXCHANGES.items()} | {"bse_cd": 7}
        for name, told in exchanges.items():
            if not isinstance(told, dict):
                continue
            exchange, divider = number(told.get("value", ids.get(name))), number(told.get("divider"))
            if exchange is not None and divider is not None and divider > 0:
                self._dividers[int(exchange)] = divider


# Readers: the feed writes zero for no price and no time; without a last price there is no tick.


def _index(packet: bytes, token: str, divider: float) -> Tick | None:
    _, open_, close, high, low, last, traded = _INDEX.unpack_from(packet, _HEADER.size)
    if last <= 0:
        return None
    return Tick(
        broker_token=token,
        last_price=last / divider,
        open=_price(open_, divider),
        high=_price(high, divider),
        low=_price(low, divider),
        previous_close=_price(close, divider),
        last_trade_time=epoch_seconds(traded),
    )


def _mini(packet: bytes, token: str, divider: float, units: int | None) -> Tick | None:
    _, traded, last, last_quantity, close = _MINI.unpack_from(packet, _HEADER.size)
    if not last:
        return None
    return Tick(
        broker_token=token,
        last_price=last / divider,
        previous_close=_price(close, divider),
        last_quantity=_count(last_quantity, units),
        last_trade_time=epoch_seconds(traded),
    )


def _picture(packet: bytes, token: str, divider: float, units: int | None) -> Tick | None:
    (
        _, buying, selling, volume, traded, updated, open_, close, high, low, last, last_quantity, average, _,
        buy_rows, sell_rows, _, _, interest,
    ) = _PICTURE.unpack_from(packet, _HEADER.size)  # fmt: skip
    if not last:
        return None
    buy, sell = _depth(packet, buy_rows, sell_rows, divider, units)
    return Tick(
        broker_token=token,
        last_price=last / divider,
        average_price=_price(average, divider),
        open=_price(open_, divider),
        high=_price(high, divider),
        low=_price(low, divider),
        previous_close=_price(close, divider),
        last_quantity=_count(last_quantity, units),
        volume=_count(volume, units),
        buy_quantity=_count(buying, units),
        sell_quantity=_count(selling, units),
        oi=None if token.partition("|")[0] in CASH_SEGMENTS else _count(interest, units),
        buy=buy,
        sell=sell,
        last_trade_time=epoch_seconds(traded),
        exchange_time=epoch_seconds(updated),
    )


def _depth(
    packet: bytes, buy_rows: int, sell_rows: int, divider: float, units: int | None
) -> tuple[tuple[DepthLevel, ...] | None, tuple[DepthLevel, ...] | None]:
    """Return the best five levels of both sides without empty ones; None where quantities cannot be read in units.

    A packet may hold fewer rows than its counts say: buys come first.
    """
    if units is None:
        return None, None
    if packet[5] == TOUCH:
        buy_rows = sell_rows = 1
    held = (len(packet) - _ROWS_AT) // _ROW.size
    bought, total = min(buy_rows, held), min(buy_rows + sell_rows, held)
    buys = _levels(packet, 0, min(bought, _DEPTH), divider, units)
    return buys, _levels(packet, bought, min(total, bought + _DEPTH), divider, units)


def _levels(packet: bytes, first: int, end: int, divider: float, units: int) -> tuple[DepthLevel, ...]:
    rows = (_ROW.unpack_from(packet, _ROWS_AT + place * _ROW.size) for place in range(first, end))
    return tuple(
        [
            DepthLevel(price / divider, quantity * units, orders)
            for quantity, price, orders in rows
            if quantity > 0 and price > 0
        ]
    )


def _price(value: int, divider: float) -> float | None:
    return value / divider if value > 0 else None


def _count(value: int, units: int | None) -> int | None:
    return value * units if units is not None and value >= 0 else None


def _messages(verb: str, listings: Sequence[Listing]) -> list[bytes | str]:
    indices = [wire_name(listing) for listing in listings if listing.other_names is not None]
    others = [listing.broker_token for listing in listings if listing.other_names is None]
    return [
        _text({"event": f"{verb}{what}", "inputtoken": ",".join(names[at : at + wire.KEYS_PER_MESSAGE])})
        for what, names in (("Depth", others), ("Indices", indices))
        for at in range(0, len(names), wire.KEYS_PER_MESSAGE)
    ]


def _text(message: Mapping[str, object]) -> str:
    return msgspec.json.encode(message).decode()
