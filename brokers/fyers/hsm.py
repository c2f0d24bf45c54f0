"""The bytes of Fyers' data socket (HSM): builds our messages and parses its frames. `feed.py` knows their meaning.

A frame is a length, a type, then the content of that type. Numbers are big-endian, except a topic's id: an opaque key
that the official client reads in the machine's order (here little-endian, like every machine it runs on). A feed frame
holds records: a snapshot names a topic and gives all its values; an update gives them again without the unchanged ones.
Source: fyers-apiv3 3.2.0 (`FyersWebsocket/data_ws.py`, `map.json`).
"""

from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from struct import Struct, unpack
from struct import error as StructError
from typing import Final

import attrs


class Kind(IntEnum):
    """The third byte of a frame, in both directions."""

    AUTH = 1
    ACK = 3
    SUBSCRIBE = 4
    UNSUBSCRIBE = 5
    FEED = 6
    PAUSE = 7
    RESUME = 8
    PING = 11
    MODE = 12
    CUSTOM = 51


class Damaged(ValueError):
    """A frame that contradicts itself or ends too early."""


ABSENT: Final = -2_147_483_648
"""A value that means: absent (snapshot), or unchanged (update)."""
CHANNEL: Final = 11
"""The channel for our topics; the official client's default."""
FULL_MODE: Final = 70
SUCCESS: Final = "K"
PRODUCTION: Final = b"P"

PING_MESSAGE: Final = bytes((0, 1, Kind.PING))

TRADES, DEPTH, INDEX = "sf", "dp", "if"
"""Kinds of topic, the word before the first bar of its name."""

FIELDS: Mapping[str, tuple[str, ...]] = {
    TRADES: (
        "ltp", "volume", "last_trade_time", "exchange_time", "bid_size", "ask_size", "bid_price", "ask_price",
        "last_quantity", "buy_quantity", "sell_quantity", "average_price", "oi", "low", "high", "year_high", "year_low",
        "lower_circuit", "upper_circuit", "open", "previous_close",
    ),
    INDEX: ("ltp", "previous_close", "exchange_time", "high", "low", "open"),
    DEPTH: tuple(f"{name}{level}" for name in (
        "bid_price", "ask_price", "bid_size", "ask_size", "bid_orders", "ask_orders") for level in range(1, 6)),
}  # fmt: skip
"""Kind of topic -> its values, in order (our names)."""

_HEAD = Struct(">HB")
_FEED_HEAD = Struct(">HBIH")
_TOPIC_ID = Struct("<H")
_SHORT = Struct(">H")
_LONG = Struct(">i")
_SCALE = Struct(">HB")


@attrs.frozen
class Snapshot:
    topic_id: int
    topic: str
    """Such as `sf|nse_cm|3045`."""
    values: tuple[int, ...]
    divisor: int
    """Divide a value by this to get a price; never zero."""


@attrs.frozen
class Update:
    topic_id: int
    values: tuple[int, ...]


@attrs.frozen
class Lite:
    """An update of only the last price."""

    topic_id: int
    value: int


Record = Snapshot | Update | Lite


# --- what we send ------------------------------------------------------------------------------------------------------


def auth_message(key: str, source: str) -> bytes:
    """Return the message that opens the socket; `key` is the access token's hsm_key, `source` names the client."""
    fields = (_field(1, key.encode()), _field(2, PRODUCTION), _field(3, b"\x01"), _field(4, source.encode()))
    return _message(Kind.AUTH, fields)


def mode_message() -> bytes:
    """Return the message that turns on the full mode; its length stays zero, as in the official client."""
    fields = _field(1, (1 << CHANNEL).to_bytes(8, "big")) + _field(2, bytes((FULL_MODE,)))
    return _SHORT.pack(0) + bytes((Kind.MODE, 2)) + fields


def topics_message(kind: Kind, topics: Sequence[str]) -> bytes:
    """Return the message that subscribes or unsubscribes topics."""
    names = b"".join(bytes((len(name),)) + name for name in (topic.encode("ascii", "replace") for topic in topics))
    return _message(kind, (_field(1, _SHORT.pack(len(topics)) + names), _field(2, bytes((CHANNEL,)))))


def ack_message(number: int) -> bytes:
    """Return the acknowledgement of feed frame `number` and of the frames before it."""
    return _message(Kind.ACK, (_field(1, number.to_bytes(4, "big")),))


def _message(kind: Kind, fields: Sequence[bytes]) -> bytes:
    body = bytes((kind, len(fields))) + b"".join(fields)
    return _SHORT.pack(len(body)) + body


def _field(number: int, value: bytes) -> bytes:
    return bytes((number,)) + _SHORT.pack(len(value)) + value


# --- what comes --------------------------------------------------------------------------------------------------------


def frame_kind(frame: bytes) -> int:
    """Return the type of a frame; raise `Damaged` when it has none."""
    if len(frame) < _HEAD.size:
        raise Damaged(f"a frame of {len(frame)} bytes")
    return frame[2]


def auth_answer(frame: bytes) -> tuple[str, int]:
    """Return the word of the answer to an auth message, and after how many feed frames it wants an acknowledgement (0 =
    never).

    Raises `Damaged`.
    """
    reader = _Reader(frame, 4)
    word = reader.field().decode("utf-8", "replace")
    count = reader.field() if reader.left else b"\x00\x00\x00\x00"
    return word, int.from_bytes(count[:4], "big")


def mode_answer(frame: bytes) -> str:
    """Return the word of the answer to a mode, pause or resume message; raise `Damaged`."""
    return _Reader(frame, 4).field().decode("utf-8", "replace")


def topics_answer(frame: bytes) -> str:
    """Return the word of the answer to a subscribe or unsubscribe message; its length cannot be trusted."""
    if len(frame) < 8:
        raise Damaged("an answer without its word")
    return chr(frame[7])


def custom_answer(frame: bytes) -> tuple[int, str]:
    """Return code and text of one of the broker's own messages; raise `Damaged`."""
    reader = _Reader(frame, 3)
    code, message = 0, ""
    for _ in range(reader.byte()):
        number, value = reader.numbered_field()
        if number == 1 and len(value) == _LONG.size:
            (code,) = _LONG.unpack(value)
        elif number == 2:
            message = value.decode("utf-8", "replace")
    return code, message


def feed_number(frame: bytes) -> int:
    """Return the message number of a feed frame, which an acknowledgement names; raise `Damaged`."""
    return _feed_head(frame)[0]


def records(frame: bytes) -> list[Record]:
    """Return the records of a feed frame; raise `Damaged` unless all can be read, because each record begins where the
    one before ends."""
    _, count = _feed_head(frame)
    reader = _Reader(frame, _FEED_HEAD.size)
    return [_RECORDS[reader.record_kind()](reader) for _ in range(count)]


def _feed_head(frame: bytes) -> tuple[int, int]:
    try:
        _, _, number, count = _FEED_HEAD.unpack_from(frame)
    except StructError as error:
        raise Damaged("a feed frame without its head") from error
    return number, count


class _Reader:
    """A place in a frame; every read raises `Damaged` when the frame ends before it."""

    def __init__(self, frame: bytes, at: int) -> None:
        self._frame, self._at = frame, at

    @property
    def left(self) -> int:
        return len(self._frame) - self._at

    def take(self, count: int) -> bytes:
        if count > self.left:
            raise Damaged(f"a frame of {len(self._frame)} bytes that ends too early")
        self._at += count
        return self._frame[self._at - count : self._at]

    def byte(self) -> int:
        return self.take(1)[0]

    def text(self) -> str:
        return self.take(self.byte()).decode("utf-8", "replace")

    def field(self) -> bytes:
        return self.numbered_field()[1]

    def numbered_field(self) -> tuple[int, bytes]:
        number = self.byte()
        (length,) = _SHORT.unpack(self.take(_SHORT.size))
        return number, self.take(length)

    def topic_id(self) -> int:
        (topic_id,) = _TOPIC_ID.unpack(self.take(_TOPIC_ID.size))
        return int(topic_id)

    def values(self) -> tuple[int, ...]:
        count = self.byte()
        return unpack(f">{count}i", self.take(count * _LONG.size))

    def record_kind(self) -> int:
        kind = self.byte()
        if kind not in _RECORDS:
            raise Damaged(f"a record of kind {kind}")
        return kind


def _snapshot(reader: _Reader) -> Snapshot:
    topic_id, topic, values = reader.topic_id(), reader.text(), reader.values()
    reader.take(2)
    multiplier, precision = _SCALE.unpack(reader.take(_SCALE.size))
    for _ in range(3):  # exchange, its token and symbol: the topic contains the same
        reader.text()
    if not multiplier:
        raise Damaged("prices over a multiplier of zero")
    return Snapshot(topic_id, topic, values, 10**precision * multiplier)


def _update(reader: _Reader) -> Update:
    return Update(reader.topic_id(), reader.values())


def _lite(reader: _Reader) -> Lite:
    topic_id = reader.topic_id()
    (value,) = _LONG.unpack(reader.take(_LONG.size))
    return Lite(topic_id, int(value))


_RECORDS: Mapping[int, Callable[[_Reader], Record]] = {83: _snapshot, 85: _update, 76: _lite}
