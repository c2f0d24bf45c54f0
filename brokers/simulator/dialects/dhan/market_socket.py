"""Dhan's market feed: JSON requests in, little-endian packets out, several in one message."""

import struct
from collections.abc import Callable, Iterable

import msgspec

from onebroker.brokers.simulator.dialects.dhan.naming import DhanNames, Name
from onebroker.brokers.simulator.dialects.dialect import AccountView, Socket
from onebroker.brokers.simulator.world.model import Level, Market, SimFill, SimOrder

TICKER, QUOTE, FULL = 15, 17, 21
DISCONNECT_REQUEST = 12
MOST_PER_MESSAGE, MOST_INSTRUMENTS = 100, 5000
TOO_MANY_INSTRUMENTS = 804
IST_AHEAD = 19_800
"""Trade times are the Indian wall clock, counted as if it were UTC."""
_ONE_BY_ONE, _PACKETS_PER_FRAME = 10, 40
"""Up to the first number, each packet gets its own message; more packets share messages. The official client reads only the first packet of a
message."""
_WRAP, _MOST_SHORT = 1 << 32, 0xFFFF


class MarketSession:
    """One open market socket."""

    def __init__(self, account: AccountView, names: DhanNames, socket: Socket) -> None:
        self._account, self._names = account, names
        self.socket = socket
        self._modes: dict[str, int] = {}
        """instrument_id -> request code."""
        self._greeted = False

    def received(self, message: bytes | str) -> None:
        """Take subscriptions and unsubscriptions. Other messages get no answer."""
        if isinstance(message, bytes):
            return  # the official client sends an old header with its disconnect request
        try:
            request = msgspec.json.decode(message, type=dict[str, object])
            code = request["RequestCode"]
            if code == DISCONNECT_REQUEST:
                self.socket.close(1000, "")
                return
            listed = msgspec.convert(request["InstrumentList"], list[dict[str, object]])
        except (msgspec.DecodeError, msgspec.ValidationError, KeyError, RecursionError, UnicodeError):
            return
        names = [name for name in map(self._name, listed) if name is not None]
        if code in (TICKER, QUOTE, FULL):
            self._follow(names, int(str(code)), len(listed))
        elif code in (TICKER + 1, QUOTE + 1, FULL + 1):
            for name in names:
                self._modes.pop(name.contract.instrument_id, None)

    def markets_moved(self, instrument_ids: frozenset[str]) -> None:
        names = self._names.by_id
        moved = [each for each in self._modes if each in instrument_ids and each in names]
        self._send(packet for each in moved for packet in self._packets(names[each]))

    def order_changed(self, order: SimOrder, fill: SimFill | None) -> None:
        """Does nothing: orders are on the other socket."""

    def beat(self) -> None:
        """Does nothing: between packets there are only websocket pings, which the host sends."""

    def end(self, code: int) -> None:
        """Send the reason and close."""
        self.socket.send(disconnect_packet(code))
        self.socket.close(1000, "")

    def _name(self, asked: dict[str, object]) -> Name | None:
        return self._names.by_key.get((str(asked.get("ExchangeSegment")), str(asked.get("SecurityId"))))

    def _follow(self, names: list[Name], code: int, asked: int) -> None:
        wanted = {name.contract.instrument_id for name in names}
        if asked > MOST_PER_MESSAGE or len(self._modes.keys() | wanted) > MOST_INSTRUMENTS:
            self.end(TOO_MANY_INSTRUMENTS)
            return
        self._modes.update(dict.fromkeys(wanted, code))
        first: list[bytes] = []
        if not self._greeted:
            self._greeted = True
            first.append(packet(7, 1, 0, b""))
        for name in names:
            first.append(previous_close_packet(name, self._market(name)))
            first += self._packets(name)
        self._send(first)

    def _packets(self, name: Name) -> list[bytes]:
        market = self._market(name)
        code = self._modes[name.contract.instrument_id]
        if code == TICKER:
            return [ticker_packet(name, market)]
        if code == FULL and not name.contract.is_index:
            return [full_packet(name, market)]
        if name.contract.is_index or name.part == "E":
            return [quote_packet(name, market)]
        return [quote_packet(name, market), oi_packet(name, market)]

    def _market(self, name: Name) -> Market:
        return self._account.market(name.contract.instrument_id)

    def _send(self, packets: Iterable[bytes]) -> None:
        ready = list(packets)
        together = 1 if len(ready) <= _ONE_BY_ONE else _PACKETS_PER_FRAME
        for at in range(0, len(ready), together):
            self.socket.send(b"".join(ready[at : at + together]))


def packet(kind: int, segment: int, security_id: int, content: bytes) -> bytes:
    """Return one packet with its header in front."""
    return struct.pack("<BHBI", kind, 8 + len(content), segment, security_id % _WRAP) + content


def disconnect_packet(code: int) -> bytes:
    return packet(50, 0, 0, struct.pack("<H", code))


def ticker_packet(name: Name, market: Market) -> bytes:
    return _of(name, 2, struct.pack("<fI", market.last_price, _traded_at(market)))


def previous_close_packet(name: Name, market: Market) -> bytes:
    return _of(name, 6, struct.pack("<fI", market.previous_close, _counter(name)(market.oi)))


def oi_packet(name: Name, market: Market) -> bytes:
    return _of(name, 5, struct.pack("<I", _counter(name)(market.oi)))


def quote_packet(name: Name, market: Market) -> bytes:
    return _of(name, 4, _trade_part(name, market) + _day_part(market))


def full_packet(name: Name, market: Market) -> bytes:
    count = _counter(name)
    interest = struct.pack("<III", count(market.oi), count(market.oi_day_high), count(market.oi_day_low))
    return _of(name, 8, _trade_part(name, market) + interest + _day_part(market) + _depth_part(name, market))


def _of(name: Name, kind: int, content: bytes) -> bytes:
    return packet(kind, name.segment_number, name.security_id, content)


def _traded_at(market: Market) -> int:
    return int(market.last_trade_time) + IST_AHEAD


def _counter(name: Name) -> Callable[[int], int]:
    """Return the function that converts a quantity. An index has no quantity."""
    units = name.units
    return (lambda _: 0) if name.contract.is_index else lambda value: value // units % _WRAP


def _trade_part(name: Name, market: Market) -> bytes:
    count = _counter(name)
    return struct.pack(
        "<fHIfIII", market.last_price, min(count(market.last_quantity), _MOST_SHORT), _traded_at(market),
        market.average_price, count(market.volume), count(market.sell_quantity), count(market.buy_quantity),
    )  # fmt: skip


def _day_part(market: Market) -> bytes:
    return struct.pack("<ffff", market.open, market.previous_close, market.high, market.low)


def _depth_part(name: Name, market: Market) -> bytes:
    count = _counter(name)

    def level(levels: tuple[Level, ...], place: int) -> tuple[int, int, float]:
        if place >= len(levels):
            return 0, 0, 0.0
        one = levels[place]
        return count(one.quantity), min(one.orders, _MOST_SHORT), float(one.price)

    parts = []
    for place in range(5):
        bid, ask = level(market.buy, place), level(market.sell, place)
        parts.append(struct.pack("<IIHHff", bid[0], ask[0], bid[1], ask[1], bid[2], ask[2]))
    return b"".join(parts)
