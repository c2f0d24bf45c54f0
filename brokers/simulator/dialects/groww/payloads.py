"""The stream's messages about a market, an order and a position, as protobuf bytes (docs/brokers/groww.md, section 6.3)."""

from collections.abc import Mapping

from onebroker.brokers.simulator.dialects.groww.naming import Name
from onebroker.brokers.simulator.dialects.groww.rows import STATUSES, best
from onebroker.brokers.simulator.dialects.protobuf import double, doubles, message, number_map, text, whole
from onebroker.brokers.simulator.world.model import Level, Market, SimFill, SimOrder, SimPosition
from onebroker.config.vocabulary import OrderType, Product, Side, Validity

_MARKET_SEGMENTS = {"CASH": 0, "FNO": 1, "CURRENCY": 2, "COMMODITY": 3}
_EXCHANGES = {"BSE": 0, "NSE": 1, "MCX": 2}
_ORDER_STATUSES = {
    "NEW": 0, "ACKED": 1, "TRIGGER_PENDING": 2, "OPEN": 3, "APPROVED": 3, "REJECTED": 4, "FAILED": 5, "EXECUTED": 6,
    "DELIVERY_AWAITED": 7, "CANCELLED": 8,
}  # fmt: skip
"""The stream has no OPEN: a resting order is APPROVED."""
_DURATIONS = {Validity.IOC: 0, Validity.DAY: 1}
_PRODUCTS = {Product.CNC: 0, Product.MIS: 1, Product.NRML: 4}
_ORDER_TYPES = {OrderType.MARKET: 0, OrderType.LIMIT: 1, OrderType.SL: 2, OrderType.SL_M: 3}
_PAISE = 100


def price(name: Name, market: Market) -> bytes:
    """Return a price message. The plain price subject has only the last price and its time."""
    live = doubles({1: market.exchange_time * 1000, 13: float(market.last_price)})
    return _head(name) + message(4, live)


def detailed(name: Name, market: Market) -> bytes:
    figures = {
        1: market.exchange_time * 1000,
        2: float(market.open),
        3: float(market.high),
        4: float(market.low),
        5: float(market.previous_close),
        6: float(market.volume),
        7: float(market.volume * market.average_price),
        8: float(best(market.buy).quantity),
        9: float(best(market.sell).quantity),
        10: float(market.average_price),
        11: float(market.upper_circuit),
        12: float(market.lower_circuit),
        13: float(market.last_price),
        14: float(market.oi),
    }
    return _head(name) + message(4, doubles(figures))


def book(name: Name, market: Market) -> bytes:
    depth = double(1, market.exchange_time * 1000) + _side(2, market.buy) + _side(3, market.sell)
    return _head(name) + message(5, depth)


def index(name: Name, market: Market) -> bytes:
    value = doubles({1: market.exchange_time * 1000, 2: float(market.last_price)})
    return _head(name) + message(6, value)


def _head(name: Name) -> bytes:
    symbol, segment, exchange = name.trading_symbol, _MARKET_SEGMENTS[name.segment], _EXCHANGES[name.exchange]
    return text(1, symbol) + whole(2, segment) + whole(3, exchange)


def _side(number: int, levels: tuple[Level, ...]) -> bytes:
    """Return one side's levels, numbered from 1. A map has no order; here the best level comes last."""
    entries = [
        (place, doubles({1: float(level.price), 2: float(level.quantity)})) for place, level in enumerate(levels[:5], 1)
    ]
    return number_map(number, reversed(entries))


def order(order: SimOrder, name: Name) -> bytes:
    """Return an order update. Its prices are in paise."""
    stage = STATUSES[order.status]
    midnight = order.updated_at.replace(hour=0, minute=0, second=0, microsecond=0)
    history = double(1, (order.updated_at - midnight).total_seconds()) + text(2, stage)
    detail = (
        whole(1, order.quantity)
        + whole(2, int((order.price or 0) * _PAISE))
        + whole(3, int((order.trigger_price or 0) * _PAISE))
        + whole(4, order.filled_quantity)
        + whole(5, order.quantity - order.filled_quantity)
        + whole(6, int(order.average_price * _PAISE))
        + text(7, order.order_id)
        + text(8, order.exchange_order_id)
        + whole(9, _ORDER_STATUSES[stage])
        + whole(10, _DURATIONS[order.validity])
        + whole(11, _EXCHANGES[name.exchange])
        + whole(12, _MARKET_SEGMENTS[name.segment])
        + whole(13, _PRODUCTS[order.new.product])
        + whole(14, _ORDER_TYPES[order.order_type])
        + whole(15, 0 if order.new.side is Side.BUY else 1)
        + text(16, order.status_message)
        + text(22, name.contract_id)
        + text(23, f"G{order.order_id}")
    )
    return message(1, history) + message(2, detail)


def position(position: SimPosition, name: Name, fill: SimFill) -> bytes:
    """Return a position update of a derivative: the units bought and sold today at its exchange."""
    legs: Mapping[int, float] = {
        1: float(position.day_buy_quantity),
        2: _average(position.day_buy_value, position.day_buy_quantity),
        3: float(position.day_sell_quantity),
        4: _average(position.day_sell_value, position.day_sell_quantity),
    }
    symbol = whole(1, int(fill.at.timestamp() * 1000)) + text(4, name.trading_symbol) + text(6, name.trading_symbol)
    place = 2 if name.exchange == "BSE" else 3
    return message(1, symbol) + message(2, text(1, name.trading_symbol) + message(place, doubles(legs)))


def _average(value: object, quantity: int) -> float:
    """Return the price of one unit; zero without units."""
    return float(str(value)) / quantity if quantity else 0.0
