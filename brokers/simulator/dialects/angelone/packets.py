"""The market socket's binary packets, little-endian: LTP, QUOTE, SNAP_QUOTE, DEPTH."""

import struct
from decimal import Decimal

from onebroker.brokers.simulator.dialects.angelone.naming import EXCHANGE_TYPES, Name
from onebroker.brokers.simulator.world.model import Level, Market

LTP, QUOTE, SNAP_QUOTE, DEPTH = 1, 2, 3, 4
_BEST, _DEEP = 5, 20
_NONE = Level(Decimal(0), 0, 0)


def packet(name: Name, market: Market, mode: int, sequence: int) -> bytes:
    """Return one instrument's packet in a mode."""
    head = struct.pack("<BB25s", mode, EXCHANGE_TYPES[name.exchange], name.token.encode())
    if mode == DEPTH:
        return head + _deep(name, market)
    number = 0 if name.contract.is_index else sequence
    sent = int(market.exchange_time * 1000)
    parts = [head, struct.pack("<qqq", number, sent, _price(name, market.last_price))]
    if mode >= QUOTE:
        parts.append(_quote(name, market))
    if mode == SNAP_QUOTE:
        parts.append(_snap(name, market))
    return b"".join(parts)


def _quote(name: Name, market: Market) -> bytes:
    units = name.units
    return struct.pack(
        "<qqqddqqqq",
        market.last_quantity // units,
        _price(name, market.average_price),
        market.volume // units,
        float(market.buy_quantity // units),
        float(market.sell_quantity // units),
        *(_price(name, price) for price in (market.open, market.high, market.low, market.previous_close)),
    )


def _snap(name: Name, market: Market) -> bytes:
    levels = [(1, level) for level in _filled(market.buy, _BEST)] + [
        (0, level) for level in _filled(market.sell, _BEST)
    ]
    five = b"".join(
        struct.pack("<hqqh", flag, level.quantity // name.units, _price(name, level.price), min(level.orders, 0x7FFF))
        for flag, level in levels
    )
    limits = (market.upper_circuit, market.lower_circuit, market.high, market.low)
    return (
        struct.pack("<qq", int(market.last_trade_time), market.oi // name.units)
        + struct.pack("<d", 0.0)
        + five
        + struct.pack("<qqqq", *(_price(name, limit) for limit in limits))
    )


def _deep(name: Name, market: Market) -> bytes:
    """Twenty levels a side. The exchange publishes five, so the rest are empty."""
    levels = (*_filled(market.buy, _DEEP), *_filled(market.sell, _DEEP))
    deep = b"".join(
        struct.pack("<iih", level.quantity // name.units, _price(name, level.price), min(level.orders, 0x7FFF))
        for level in levels
    )
    return struct.pack("<qq", 0, int(market.exchange_time * 1000)) + deep


def _filled(levels: tuple[Level, ...], count: int) -> tuple[Level, ...]:
    return (levels + (_NONE,) * count)[:count]


def _price(name: Name, value: Decimal) -> int:
    return int((value * name.price_scale).to_integral_value())
