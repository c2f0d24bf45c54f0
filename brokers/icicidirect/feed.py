"""ICICI Direct's quote and depth stream: Socket.IO events `stock`, one array each.

Source: docs/brokers/icicidirect.md, section 6 (SDK parser, samples). Every instrument has two rooms: quotes (level 1:
last trade, day, totals, oi) and depth (level 2: five levels and their time). An index has only the first; MCX sends both
in one array. A tick is made of the newest array of both rooms, so that it carries depth; nothing is kept beyond a
connection. Rooms have numbers, our instruments have names: the decoder learns the mapping from the subscriptions.
Quantities are units (unchecked for NDX and MCX).
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

import attrs
import msgspec

from onebroker.brokers.broker import Access, StreamFlow
from onebroker.brokers.codec.fields import epoch_seconds, number, price
from onebroker.brokers.events import BrokerEvent, CorruptFrame, Heartbeat, Ticks
from onebroker.brokers.icicidirect import naming, socketio, wire
from onebroker.brokers.records import DepthLevel, Listing, Tick
from onebroker.brokers.requests import StreamAddress

sockets = wire.SOCKETS
per_socket = wire.INSTRUMENTS_PER_SOCKET
silence_seconds: float | None = wire.SILENCE_SECONDS
ping_seconds: float | None = None
"""The server pings and we answer."""
ready_seconds: float | None = wire.READY_SECONDS

QUOTE, DEPTH = "1", "2"
COMMODITY = naming.STREAM_EXCHANGES["MCX"]

CASH_FIELDS, DERIVATIVE_FIELDS, COMMODITY_HEAD = 21, 23, 22
"""Elements of a quote array; for MCX, elements before its levels."""

LEVELS = {"1": (0, 1, None, 2, 3, None), "8": (0, 1, 2, 3, 4, 5)}
"""Room's exchange -> places of rate, quantity and orders of the buy side, then of the sell side, within one level."""
OTHER_LEVELS = (0, 1, 2, 4, 5, 6)
COMMODITY_LEVELS = (1, 0, 2, 5, 4, 6)

_LARGEST = 2.0**53
"""A double above this is not a count."""

Side = tuple[DepthLevel, ...]
Depth = tuple[Side, Side]


def address(access: Access, now: datetime) -> StreamFlow:
    """Return the stream's address; no call is needed first."""
    yield from ()
    return socketio.stream_address(access.endpoints.stream_url, now)


def opening_messages(access: Access) -> list[bytes | str]:
    """Return no messages: the server speaks first."""
    return []


def subscribe_messages(access: Access, listings: Sequence[Listing]) -> list[bytes | str]:
    """Return the messages that join the rooms of these instruments."""
    rooms = [room for listing in listings for room in _rooms(listing)]
    step = wire.JOINED_PER_MESSAGE
    return [socketio.emit("join", rooms[at : at + step]) for at in range(0, len(rooms), step)]


def unsubscribe_messages(access: Access, listings: Sequence[Listing]) -> list[bytes | str]:
    """Return the messages that leave the rooms of these instruments, one each as the SDK does."""
    return [socketio.emit("leave", room) for listing in listings for room in _rooms(listing)]


def ping_message() -> bytes | str | None:
    """Never called: the server pings."""
    return None


def decoder(access: Access, address: StreamAddress, listings: Mapping[str, Listing]) -> "MarketFrames":
    return MarketFrames(access)


def _rooms(listing: Listing) -> list[str]:
    exchange, token = naming.stream_of(listing)
    if not token:
        return []
    # An index (its token is not a number) has no depth; for MCX the quote array holds it.
    levels = (QUOTE, DEPTH) if token.isdecimal() and exchange != COMMODITY else (QUOTE,)
    return [f"{exchange}.{level}!{token}" for level in levels]


@attrs.define
class _Seen:
    """The newest arrays of one instrument on this connection."""

    tick: Tick | None = None
    depth: Depth | None = None
    at: float | None = None
    """The later exchange time of the two, epoch seconds."""


class MarketFrames:
    """One connection's decoder. Rooms of instruments that nobody subscribed are ignored."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._tokens: dict[str, str] = {}
        self._seen: dict[str, _Seen] = {}

    def subscribing(self, listings: Sequence[Listing]) -> None:
        """Learn which instrument each room stands for. Values from an earlier subscription are old and dropped: new depth
        must not make them look fresh."""
        for listing in listings:
            self._seen.pop(listing.broker_token, None)
            exchange, token = naming.stream_of(listing)
            self._tokens[f"{exchange}!{token}"] = listing.broker_token

    def receive(self, frame: bytes | str) -> list[BrokerEvent]:
        event = socketio.read(frame, self._access)
        if isinstance(event, list):
            return event
        if event.name != "stock":
            return [Heartbeat()]
        try:
            tick = self._tick(event.arguments[0])
        except (IndexError, TypeError, ValueError) as error:
            return [CorruptFrame(f"a stock event that cannot be read: {error}")]
        return [Heartbeat()] if tick is None else [Ticks((tick,))]

    def _tick(self, array: object) -> Tick | None:
        if not isinstance(array, list) or not isinstance(array[0], str):
            raise TypeError("its argument is no array of a room")
        room, _, token = array[0].partition("!")
        exchange, _, level = room.partition(".")
        ours = self._tokens.get(f"{exchange}!{token}")
        if ours is None:
            return None
        seen = self._seen.setdefault(ours, _Seen())
        if level == DEPTH:
            seen.depth, seen.at = _depth(array[2], LEVELS.get(exchange, OTHER_LEVELS)), _latest(seen.at, array[1])
        elif level == QUOTE and exchange == COMMODITY:
            seen.tick, seen.at = _commodity(ours, array), _latest(seen.at, array[7])
            seen.depth = _depth(array[COMMODITY_HEAD:], COMMODITY_LEVELS)
        elif level == QUOTE:
            seen.tick = _quote(ours, array)
            seen.at = _latest(seen.at, None if seen.tick is None else seen.tick.last_trade_time)
        else:
            raise ValueError(f"room {room}")
        return _together(seen)


def _together(seen: _Seen) -> Tick | None:
    if seen.tick is None:
        return None  # never traded, or its quote is still to come
    buy, sell = seen.depth or (None, None)
    return msgspec.structs.replace(seen.tick, buy=buy, sell=sell, exchange_time=seen.at)


def _quote(token: str, array: list[object]) -> Tick | None:
    if len(array) == CASH_FIELDS:
        traded, totals, interest, time, close = 12, (13, 14), None, 19, 20
    elif len(array) == DERIVATIVE_FIELDS:
        traded, totals, interest, time, close = 14, (15, 16), 12, 21, 22
    else:
        raise ValueError(f"a quote of {len(array)} elements")
    last = _price(array[2])
    if last is None:
        return None
    return Tick(
        broker_token=token,
        last_price=last,
        average_price=_price(array[11]),
        open=_price(array[1]),
        high=_price(array[3]),
        low=_price(array[4]),
        previous_close=_price(array[close]),
        last_quantity=_count(array[10]),
        volume=_count(array[traded]),
        buy_quantity=_count(array[totals[0]]),
        sell_quantity=_count(array[totals[1]]),
        oi=None if interest is None else _count(array[interest]),
        last_trade_time=epoch_seconds(array[time]),
    )


def _commodity(token: str, array: list[object]) -> Tick | None:
    last = _price(array[5])
    if last is None:
        return None
    return Tick(
        broker_token=token,
        last_price=last,
        average_price=_price(array[8]),
        open=_price(array[13]),
        high=_price(array[14]),
        low=_price(array[15]),
        previous_close=_price(array[12]),
        last_quantity=_count(array[6]),
        volume=_count(array[4]),
        buy_quantity=_count(array[9]),
        sell_quantity=_count(array[10]),
        oi=_count(array[17]),
        last_trade_time=epoch_seconds(array[7]),
    )


def _depth(levels: object, places: Sequence[int | None]) -> Depth:
    """Return both sides, best first, without their empty levels."""
    if not isinstance(levels, list):
        raise TypeError("levels that are no array")
    sides: tuple[list[DepthLevel], list[DepthLevel]] = ([], [])
    for level in levels:
        if not isinstance(level, list):
            raise TypeError("a level that is no array")
        for side, (rate, quantity, orders) in zip(sides, (places[:3], places[3:]), strict=True):
            at, units = _price(level[rate or 0]), _count(level[quantity or 0])
            if at is not None and units:
                side.append(DepthLevel(at, units, None if orders is None else _count(level[orders])))
    return tuple(sides[0]), tuple(sides[1])


def _price(value: object) -> float | None:
    read = price(value)
    return None if read is None or read < 0 else read


def _count(value: object) -> int | None:
    """Return a quantity; null (an index, or a missing figure) gives None."""
    read = number(value)
    return int(read) if read is not None and 0 <= read <= _LARGEST else None


def _latest(held: float | None, value: object) -> float | None:
    read = epoch_seconds(value)
    return read if held is None else held if read is None else max(held, read)
