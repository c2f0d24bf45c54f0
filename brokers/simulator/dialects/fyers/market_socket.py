"""Fyers' data socket (HSM), binary in both directions. A client identifies itself by a key, chooses a mode, then subscribes to topics.

Numbers are big-endian and a topic's id is little-endian, as the official client reads both. The length that a client writes in front of a
subscription is not the message's length, so it is not read.
"""

import struct
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal

import attrs

from onebroker.brokers.simulator.dialects.dialect import AccountView, Socket
from onebroker.brokers.simulator.dialects.fyers.naming import FyersNames, Name
from onebroker.brokers.simulator.world.model import Level, Market, SimFill, SimOrder

AUTH, ACK, SUBSCRIBE, UNSUBSCRIBE, FEED, PAUSE, RESUME, PING, MODE, CUSTOM = 1, 3, 4, 5, 6, 7, 8, 11, 12, 51
FULL, LITE = 70, 76
SNAPSHOT_RECORD, UPDATE_RECORD, LITE_RECORD = 83, 85, 76
ACK_EVERY = 5
"""The client acknowledges after this many feed frames."""
MOST_TOPICS = 5000
SYMBOL_LIMIT_CODE = 51_001
RECORDS_PER_FRAME = 100

_UNCHANGED = -(1 << 31)
_WRAP = 1 << 32
_MULTIPLIER = 1
_LEVELS = 5


@attrs.define
class _Topic:
    number: int
    name: str
    values: tuple[int, ...]


class _Unreadable(Exception):
    """A message that ends too early."""


class MarketSession:
    """One open data socket."""

    def __init__(
        self, account: AccountView, names: FyersNames, socket: Socket, is_live_key: Callable[[str], bool]
    ) -> None:
        self._account, self._names, self._is_live_key = account, names, is_live_key
        self.socket = socket
        self._known = False
        self._full = True
        self._paused = False
        self._topics: dict[str, _Topic] = {}
        self._numbers = 0
        self._frames = 0
        self.acknowledged = 0
        """Number of the last feed frame that the client acknowledged."""

    def received(self, message: bytes | str) -> None:
        """Take one message. Text and unreadable messages are ignored, as unknown messages are."""
        if isinstance(message, str) or len(message) < 3:
            return
        kind = message[2]
        if kind == PING:
            return
        try:
            fields = _fields(message)
        except _Unreadable:
            return
        if kind == AUTH:
            self._authenticate(fields)
        elif not self._known:
            self.socket.close(1008, "not authenticated")
        elif kind == MODE:
            self._choose_mode(fields)
        elif kind in (SUBSCRIBE, UNSUBSCRIBE):
            self._change_topics(kind, fields)
        elif kind in (PAUSE, RESUME):
            self._paused = kind == PAUSE
            self.socket.send(_answer(kind, b"K"))
        elif kind == ACK and len(fields.get(1, b"")) == 4:
            self.acknowledged = int.from_bytes(fields[1], "big")

    def markets_moved(self, instrument_ids: frozenset[str]) -> None:
        if self._paused:
            return
        by_topic = self._names.by_topic
        moved = [
            topic
            for topic in self._topics.values()
            if (name := by_topic.get(topic.name)) is not None and name.contract.instrument_id in instrument_ids
        ]
        self._send(filter(None, (self._changed(topic, by_topic[topic.name]) for topic in moved)))

    def order_changed(self, order: SimOrder, fill: SimFill | None) -> None:
        """Does nothing: orders are on the other socket."""

    def beat(self) -> None:
        """Does nothing: the client pings, and the server sends nothing on its own."""

    def _authenticate(self, fields: dict[int, bytes]) -> None:
        self._known = self._is_live_key(fields.get(1, b"").decode("utf-8", "replace"))
        word = b"K" if self._known else b"NOT_OK"
        counted = _field(2, struct.pack(">I", ACK_EVERY))
        self.socket.send(_frame(AUTH, bytes((2,)) + _field(1, word) + counted))
        if not self._known:
            self.socket.close(1008, "authentication failed")

    def _choose_mode(self, fields: dict[int, bytes]) -> None:
        mode = fields.get(2, b"")
        known = mode in (bytes((FULL,)), bytes((LITE,)))
        if known:
            self._full = mode[0] == FULL
        self.socket.send(_answer(MODE, b"K" if known else b"NOT_OK"))

    def _change_topics(self, kind: int, fields: dict[int, bytes]) -> None:
        try:
            wanted = _topic_names(fields.get(1, b""))
        except _Unreadable:
            self.socket.send(_answer(kind, b"NOT_OK"))
            return
        if kind == UNSUBSCRIBE:
            for topic in wanted:
                self._topics.pop(topic, None)
            self.socket.send(_answer(kind, b"K"))
            return
        if len(self._topics.keys() | set(wanted)) > MOST_TOPICS:
            self.socket.send(_custom(SYMBOL_LIMIT_CODE, "Symbol limit of the plan exceeded", kind))
            return
        self.socket.send(_answer(kind, b"K"))
        by_topic = self._names.by_topic
        self._send([self._opened(topic, by_topic[topic]) for topic in dict.fromkeys(wanted) if topic in by_topic])

    def _opened(self, topic: str, name: Name) -> bytes:
        values = topic_values(topic, name, self._account.market(name.contract.instrument_id))
        self._numbers = self._numbers % 0xFFFF + 1
        held = self._topics[topic] = _Topic(self._numbers, topic, values)
        return snapshot(held.number, topic, values, name)

    def _changed(self, topic: _Topic, name: Name) -> bytes | None:
        """Return the record of a topic's changes, or None if nothing changed."""
        values = topic_values(topic.name, name, self._account.market(name.contract.instrument_id))
        before, topic.values = topic.values, values
        if not self._full:
            lite = not topic.name.startswith("dp|") and values[0] != before[0]
            return struct.pack("<BH", LITE_RECORD, topic.number) + struct.pack(">i", values[0]) if lite else None
        if values == before:
            return None
        news = [new if new != old else _UNCHANGED for old, new in zip(before, values, strict=True)]
        return struct.pack("<BHB", UPDATE_RECORD, topic.number, len(news)) + struct.pack(f">{len(news)}i", *news)

    def _send(self, records: Iterable[bytes]) -> None:
        waiting = list(records)
        for at in range(0, len(waiting), RECORDS_PER_FRAME):
            self._frames += 1
            self.socket.send(feed_frame(self._frames, waiting[at : at + RECORDS_PER_FRAME]))


def feed_frame(number: int, records: Sequence[bytes]) -> bytes:
    """Return one feed frame. Its number counts from 1 on every connection."""
    return _frame(FEED, struct.pack(">IH", number, len(records)) + b"".join(records))


def snapshot(number: int, topic: str, values: Sequence[int], name: Name) -> bytes:
    """Return the record that begins a topic."""
    _, segment, tail = topic.split("|", 2)
    texts = b"".join(_text(part) for part in (segment, tail, name.ticker.partition(":")[2]))
    return (
        struct.pack("<BH", SNAPSHOT_RECORD, number)
        + _text(topic)
        + struct.pack(f">B{len(values)}i", len(values), *values)
        + struct.pack(">HHB", 0, _MULTIPLIER, name.precision)
        + texts
    )


def topic_values(topic: str, name: Name, market: Market) -> tuple[int, ...]:
    """Return a topic's values in their order. Quantities are in Fyers' own count."""
    scale = 10**name.precision * _MULTIPLIER

    def price(value: Decimal) -> int:
        return _signed(int((value * scale).to_integral_value()))

    def count(value: int) -> int:
        return _signed(value // name.units)

    if topic.startswith("if|"):
        return (
            price(market.last_price), price(market.previous_close), int(market.exchange_time), price(market.high),
            price(market.low), price(market.open),
        )  # fmt: skip
    if topic.startswith("dp|"):
        bids, asks = _five(market.buy), _five(market.sell)
        sides = (bids, asks)
        return (
            *(price(level.price) for side in sides for level in side),
            *(count(level.quantity) for side in sides for level in side),
            *(level.orders for side in sides for level in side),
        )
    bid, ask = _five(market.buy)[0], _five(market.sell)[0]
    return (
        price(market.last_price), count(market.volume), int(market.last_trade_time), int(market.exchange_time),
        count(bid.quantity), count(ask.quantity), price(bid.price), price(ask.price), count(market.last_quantity),
        count(market.buy_quantity), count(market.sell_quantity), price(market.average_price), count(market.oi),
        price(market.low), price(market.high), price(market.high), price(market.low), price(market.lower_circuit),
        price(market.upper_circuit), price(market.open), price(market.previous_close),
    )  # fmt: skip


def _five(levels: tuple[Level, ...]) -> tuple[Level, ...]:
    return (levels + (Level(Decimal(0), 0, 0),) * _LEVELS)[:_LEVELS]


def _signed(value: int) -> int:
    """Return a number as a signed four-byte integer shows it. The value that means "unchanged" is avoided."""
    wrapped = value % _WRAP
    return max(wrapped - _WRAP if wrapped >= _WRAP // 2 else wrapped, _UNCHANGED + 1)


def _fields(message: bytes) -> dict[int, bytes]:
    """Return the fields of a client's message, by number."""
    fields: dict[int, bytes] = {}
    at = 4
    for _ in range(message[3] if len(message) > 3 else 0):
        if at + 3 > len(message):
            raise _Unreadable
        end = at + 3 + int.from_bytes(message[at + 1 : at + 3], "big")
        if end > len(message):
            raise _Unreadable
        fields[message[at]] = message[at + 3 : end]
        at = end
    return fields


def _topic_names(field: bytes) -> list[str]:
    """Return the topics of a subscription: their count, then each topic after its length."""
    if len(field) < 2:
        raise _Unreadable
    names, at = [], 2
    for _ in range(int.from_bytes(field[:2], "big")):
        if at >= len(field) or at + 1 + field[at] > len(field):
            raise _Unreadable
        names.append(field[at + 1 : at + 1 + field[at]].decode("utf-8", "replace"))
        at += 1 + field[at]
    return names


def _frame(kind: int, content: bytes) -> bytes:
    return struct.pack(">HB", (len(content) + 1) % 0x10000, kind) + content


def _answer(kind: int, word: bytes) -> bytes:
    """Return the answer to one request: a single field with a word."""
    if kind in (SUBSCRIBE, UNSUBSCRIBE):
        # The official client reads this one length in the machine's order and does not use it.
        return _frame(kind, bytes((1, 1)) + struct.pack("<H", len(word)) + word)
    return _frame(kind, bytes((1,)) + _field(1, word))


def _custom(code: int, text: str, refused: int) -> bytes:
    fields = _field(1, struct.pack(">i", code)) + _field(2, text.encode()) + _field(3, bytes((refused,)))
    return _frame(CUSTOM, bytes((3,)) + fields)


def _field(number: int, value: bytes) -> bytes:
    return struct.pack(">BH", number, len(value)) + value


def _text(value: str) -> bytes:
    content = value.encode()[:255]
    return bytes((len(content),)) + content
