"""Kotak Neo's market stream (SFeed, `native_batch`): JSON text for control, little-endian packets in batches for data."""

import struct
from collections.abc import Callable, Iterable
from decimal import Decimal

import msgspec

from onebroker.brokers.simulator.dialects.dialect import AccountView, Socket
from onebroker.brokers.simulator.dialects.facts import day_change
from onebroker.brokers.simulator.dialects.kotakneo.naming import EXCHANGE_IDS, Name, NeoNames
from onebroker.brokers.simulator.world.model import Level, Market, SimFill, SimOrder

AUTH_REPLY, SUBSCRIBE_ACK = 1119, 1109
PICTURE, INDEX, STATUS = 7208, 7207, 105
LEVELS = {"ScripsLite": 1, "Scrips": 4, "Depth": 8, "FullDepth": 16, "Indices": 0}
"""The ending of an event -> the level of its packets. Indices have their own packets."""
MOST_INSTRUMENTS = 3000
PACKETS_PER_FRAME = 200
DIVIDERS = {"cde_fo": 10_000_000}
"""Segment -> number of price units in a rupee; 100 for all other segments."""

_OPEN = 1
_HEADER = struct.Struct("<HHbBBBB")
_MINI = struct.Struct("<IqIqIiiIBI")
_INDEX_BODY = struct.Struct("<IiiiiiQiiidBi21s")
_PICTURE_BODY = struct.Struct("<IqqqqqIIIIIqIIIIhiIdiIIIIIBI")
_ROW = struct.Struct("<qii")


class MarketSession:
    """One open market socket. It sends nothing until its first message names a live session."""

    def __init__(
        self, account: AccountView, names: NeoNames, socket: Socket, may_listen: Callable[[str, str], bool]
    ) -> None:
        """`may_listen(user, sid)` tells whether both belong to a live session."""
        self._account, self._names, self._may_listen = account, names, may_listen
        self.socket = socket
        self._levels: dict[tuple[str, int], None] = {}
        """(requested key, level), in the order of the requests."""
        self._ready = False
        self._sequence = 0

    def received(self, message: bytes | str) -> None:
        try:
            request = msgspec.json.decode(message, type=dict[str, object])
        except (msgspec.DecodeError, msgspec.ValidationError, RecursionError, UnicodeError):
            if not self._ready:
                self.socket.close(1008, "authentication expected")
            return
        if not self._ready:
            self._authenticate(request)
            return
        event = str(request.get("event", ""))
        for verb, act in (("subscribe", self._subscribe), ("unsubscribe", self._leave), ("snapshot", self._snapshot)):
            what = event.removeprefix(verb)
            if what != event:
                act(what, request)
                return

    def markets_moved(self, instrument_ids: frozenset[str]) -> None:
        by_key = self._names.by_key
        pairs = [(by_key[key], level) for key, level in self._levels if key in by_key]
        self._send(pair for pair in pairs if pair[0].contract.instrument_id in instrument_ids)

    def order_changed(self, order: SimOrder, fill: SimFill | None) -> None:
        """Does nothing: orders are on the other socket."""

    def beat(self) -> None:
        """Does nothing: there is no heartbeat, and the host sends the websocket pings."""

    def _authenticate(self, request: dict[str, object]) -> None:
        if not self._may_listen(str(request.get("user")), str(request.get("auth"))):
            self.socket.close(1008, "invalid session")
            return
        if request.get("format") != "native_batch":
            self.socket.send(_text({"message_code": AUTH_REPLY, "version": 1, "format": "native_fallback"}))
            return
        self._ready = True
        exchanges = {
            segment: {"value": number, "divider": DIVIDERS.get(segment, 100)}
            for segment, number in EXCHANGE_IDS.items()
        }
        reply = {"message_code": AUTH_REPLY, "id": "SFD_SIM_1", "version": 1, "exchanges": exchanges}
        self.socket.send(_text(reply))

    def _subscribe(self, what: str, request: dict[str, object]) -> None:
        if what == "Exchange":
            self.socket.send(b"".join(_status(number) for number in EXCHANGE_IDS.values()))
            return
        wanted = self._asked(what, request)
        room = MOST_INSTRUMENTS - len(self._levels)
        wanted = [pair for pair in wanted if (pair[0].asked_as, pair[1]) not in self._levels][: max(room, 0)]
        self._levels.update(dict.fromkeys((name.asked_as, level) for name, level in wanted))
        self._acknowledge(wanted, request)
        self._send(wanted)

    def _snapshot(self, what: str, request: dict[str, object]) -> None:
        wanted = self._asked(what, request)
        self._acknowledge(wanted, request)
        self._send(wanted)

    def _leave(self, what: str, request: dict[str, object]) -> None:
        for name, level in self._asked(what, request):
            self._levels.pop((name.asked_as, level), None)

    def _asked(self, what: str, request: dict[str, object]) -> list[tuple[Name, int]]:
        level = LEVELS.get(what)
        if level is None:
            return []
        by_key = self._names.by_key
        names = [by_key[key] for key in str(request.get("inputtoken", "")).split(",") if key in by_key]
        return [(name, level) for name in names if name.contract.is_index == (what == "Indices")]

    def _acknowledge(self, wanted: Iterable[tuple[Name, int]], request: dict[str, object]) -> None:
        if request.get("ack_symbol") is True:
            symbols = {name.asked_as: name.tradingsymbol for name, _ in wanted}
            self.socket.send(_text({"message_code": SUBSCRIBE_ACK, "trading_symbols": symbols}))

    def _send(self, pairs: Iterable[tuple[Name, int]]) -> None:
        packets = []
        for name, level in pairs:
            self._sequence = (self._sequence + 1) % 256
            packets.append(packet(name, self._account.market(name.contract.instrument_id), level, self._sequence))
        for at in range(0, len(packets), PACKETS_PER_FRAME):
            self.socket.send(b"".join(packets[at : at + PACKETS_PER_FRAME]))


def packet(name: Name, market: Market, level: int, sequence: int) -> bytes:
    """Return one instrument's packet at a level."""
    divider = DIVIDERS.get(name.segment, 100)

    def price(value: Decimal) -> int:
        return int((value * divider).to_integral_value())

    change = day_change(market)
    percent = int(change * 10_000 / market.previous_close) if market.previous_close else 0
    if name.contract.is_index:
        title = name.contract.name.encode()[:21]
        body = _INDEX_BODY.pack(
            int(name.token), price(market.open), price(market.previous_close), price(market.high), price(market.low),
            price(market.last_price), int(market.last_trade_time), price(market.high * 2), price(market.low / 2),
            percent, 0.0, 2, divider, title,
        )  # fmt: skip
        return _framed(name, INDEX, 0, sequence, body)
    units = name.units
    if level == 1:
        body = _MINI.pack(
            int(name.token), int(market.last_trade_time), price(market.last_price), market.last_quantity // units,
            price(market.previous_close), percent, price(change), name.lot, 2, 1,
        )  # fmt: skip
        return _framed(name, PICTURE, level, sequence, body)
    # Level 4 is the touch: always one row a side, even without a quote.
    deep = 1 if level == 4 else 5
    nothing = Level(Decimal(0), 0, 0)
    buy, sell = ((side + (nothing,) * deep)[:deep] if level == 4 else side[:deep] for side in (market.buy, market.sell))
    body = _PICTURE_BODY.pack(
        int(name.token), market.buy_quantity // units, market.sell_quantity // units, market.volume // units,
        int(market.last_trade_time), int(market.exchange_time), price(market.open), price(market.previous_close),
        price(market.high), price(market.low), price(market.last_price), market.last_quantity // units,
        price(market.average_price), 0, len(buy), len(sell), 2, percent, min(market.oi // units, 0xFFFF_FFFF),
        float(market.volume * market.average_price * divider), price(change), price(market.upper_circuit),
        price(market.lower_circuit), price(market.upper_circuit), price(market.lower_circuit), name.lot, 2, 1,
    )  # fmt: skip
    rows = b"".join(_ROW.pack(entry.quantity // units, price(entry.price), entry.orders) for entry in (*buy, *sell))
    return _framed(name, PICTURE, level, sequence, body + rows)


def _framed(name: Name, code: int, level: int, sequence: int, body: bytes) -> bytes:
    length = _HEADER.size + len(body)
    return _HEADER.pack(length, code, EXCHANGE_IDS[name.segment], level, 0, sequence, 0) + body


def _status(exchange: int) -> bytes:
    return _HEADER.pack(16, STATUS, exchange, 0, 0, 0, 0) + struct.pack("<H5s", _OPEN, b"OPEN")


def _text(message: dict[str, object]) -> str:
    return msgspec.json.encode(message).decode()
