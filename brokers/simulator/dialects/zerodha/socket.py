"""Kite's ticker socket: big-endian packets of three modes, heartbeats, order postbacks."""

import hashlib
import struct
from collections.abc import Iterable
from decimal import Decimal

import msgspec

from onebroker.brokers.simulator.dialects.dialect import AccountView, Socket
from onebroker.brokers.simulator.dialects.zerodha.naming import KiteNames, Name
from onebroker.brokers.simulator.dialects.zerodha.rows import order_row
from onebroker.brokers.simulator.world.model import Level, Market, SimFill, SimOrder, SimStatus

HEARTBEAT = b"\x00"
MODES = ("ltp", "quote", "full")
MOST_INSTRUMENTS = 3000

_SCALES = {3: 10_000_000, 6: 10_000, 12: 10_000}
"""Segment id -> number of price units in a rupee; 100 for all other segments."""
_WRAP = 1 << 32


class TickerSession:
    """One open socket."""

    def __init__(self, account: AccountView, names: KiteNames, socket: Socket, api_secret: str) -> None:
        self._account = account
        self._names = names
        self.socket = socket
        self._secret = api_secret
        self._modes: dict[int, str] = {}

    def received(self, message: bytes | str) -> None:
        """Take subscribe, unsubscribe and mode. Tokens must be numbers."""
        try:
            request = msgspec.json.decode(message, type=dict[str, object])
            action = request["a"]
            if action == "mode":
                mode, tokens = msgspec.convert(request["v"], tuple[str, list[int]])
            else:
                mode, tokens = "quote", msgspec.convert(request["v"], list[int])
        except (msgspec.DecodeError, msgspec.ValidationError, KeyError, UnicodeError, RecursionError):
            self._error("Invalid message: expected an action and a list of instrument tokens")
            return
        if action not in ("subscribe", "unsubscribe", "mode") or mode not in MODES:
            self._error(f"Unknown action or mode: {action}")
        elif action == "unsubscribe":
            for token in tokens:
                self._modes.pop(token, None)
        else:
            self._follow(tokens, mode, only_held=action == "mode")

    def _follow(self, tokens: list[int], mode: str, *, only_held: bool) -> None:
        known = [token for token in tokens if token in self._names.by_token]
        wanted = [token for token in known if not only_held or token in self._modes]
        if len(self._modes.keys() | set(wanted)) > MOST_INSTRUMENTS:
            self._error(f"Subscription limit of {MOST_INSTRUMENTS} instruments exceeded")
            return
        self._modes.update(dict.fromkeys(wanted, mode))
        self._send(self._names.by_token[token] for token in wanted)

    def markets_moved(self, instrument_ids: frozenset[str]) -> None:
        followed = (self._names.by_token.get(token) for token in self._modes)
        self._send(name for name in followed if name is not None and name.contract.instrument_id in instrument_ids)

    def order_changed(self, order: SimOrder, fill: SimFill | None) -> None:
        name = self._names.by_id[order.new.instrument_id]
        row = order_row(order, name, self._account.client_id)
        if order.status is SimStatus.OPEN and (fill is not None or order.modifications):
            row["status"] = "UPDATE"
        signed = f"{order.order_id}{row['order_timestamp']}{self._secret}"
        row.update(
            user_id=self._account.client_id,
            unfilled_quantity=row["pending_quantity"],
            app_id=1,
            checksum=hashlib.sha256(signed.encode()).hexdigest(),
        )
        self.socket.send(_text({"type": "order", "data": row}))

    def beat(self) -> None:
        self.socket.send(HEARTBEAT)

    def _send(self, names: Iterable[Name]) -> None:
        packets = [
            packet(name, self._account.market(name.contract.instrument_id), self._modes[name.token]) for name in names
        ]
        if packets:
            self.socket.send(frame(packets))

    def _error(self, text: str) -> None:
        self.socket.send(_text({"type": "error", "data": text}))


def frame(packets: list[bytes]) -> bytes:
    """Return one message: the packet count, then each packet after its length."""
    parts = [struct.pack(">H", len(packets))]
    for one in packets:
        parts += [struct.pack(">H", len(one)), one]
    return b"".join(parts)


def packet(name: Name, market: Market, mode: str) -> bytes:
    """Return one instrument's packet in a mode."""
    scale = _SCALES.get(name.segment_id, 100)

    def price(value: Decimal) -> int:
        return int((value * scale).to_integral_value()) % _WRAP

    head = (name.token, price(market.last_price))
    if mode == "ltp":
        return struct.pack(">2I", *head)
    if name.contract.is_index:
        day = (price(market.high), price(market.low), price(market.open), price(market.previous_close))
        change = price(market.last_price - market.previous_close)
        if mode == "quote":
            return struct.pack(">7I", *head, *day, change)
        return struct.pack(">8I", *head, *day, change, int(market.exchange_time))
    units = name.units

    def quantity(value: int) -> int:
        return value // units % _WRAP

    quote = (
        *head, quantity(market.last_quantity), price(market.average_price), quantity(market.volume),
        quantity(market.buy_quantity), quantity(market.sell_quantity), price(market.open), price(market.high),
        price(market.low), price(market.previous_close),
    )  # fmt: skip
    if mode == "quote":
        return struct.pack(">11I", *quote)
    more = (
        int(market.last_trade_time), quantity(market.oi), quantity(market.oi_day_high), quantity(market.oi_day_low),
        int(market.exchange_time),
    )  # fmt: skip
    levels = (*_five(market.buy), *_five(market.sell))
    depth = b"".join(
        struct.pack(">IIHxx", quantity(level.quantity), price(level.price), min(level.orders, 0xFFFF))
        for level in levels
    )
    return struct.pack(">16I", *quote, *more) + depth


def _five(levels: tuple[Level, ...]) -> tuple[Level, ...]:
    return (levels + (Level(Decimal(0), 0, 0),) * 5)[:5]


def _text(message: dict[str, object]) -> str:
    return msgspec.json.encode(message).decode()
