"""The frames of Upstox' market socket, as protobuf bytes: field numbers of market feed v3, written by hand.

Source: the field numbers of upstox-python-sdk 2.30.0, whose classes read these frames in the tests. The codec has tables of its own.
"""

from collections.abc import Iterable

from onebroker.brokers.simulator.dialects.protobuf import double, doubles, message, text, text_map, whole
from onebroker.brokers.simulator.dialects.upstox.naming import Name
from onebroker.brokers.simulator.world.model import Level, Market
from onebroker.config.clock import from_epoch

REQUEST_MODES = {"ltpc": 0, "full": 1, "option_greeks": 2, "full_d30": 3}
"""A request's mode -> its number in the frame."""
INITIAL_FEED, LIVE_FEED, MARKET_INFO = 0, 1, 2
"""What a frame holds: the first values after a request, later ones, or the state of the segments."""
SEGMENTS = ("NSE_EQ", "NSE_FO", "NCD_FO", "NSE_INDEX", "BSE_EQ", "BSE_FO", "BSE_INDEX", "MCX_FO")
NORMAL_OPEN = 2
_DEPTH_LEVELS = 5


def market_info(now_milliseconds: int) -> bytes:
    """Return the first frame of a connection: the state of every segment."""
    states = text_map(1, ((segment, whole(2, NORMAL_OPEN)) for segment in SEGMENTS))
    return whole(1, MARKET_INFO) + whole(3, now_milliseconds) + message(4, states)


def feeds(kind: int, parts: Iterable[tuple[str, bytes]], now_milliseconds: int) -> bytes:
    """Return a frame with parts of instruments, each by its instrument key."""
    entries = text_map(2, ((key, message(2, part)) for key, part in parts))
    return whole(1, kind) + entries + whole(3, now_milliseconds)


def feed(name: Name, market: Market, mode: str) -> bytes:
    """Return one instrument's part of a frame, in a mode."""
    units = name.units
    if mode == "ltpc":
        content = message(1, _last_trade(market, units))
    elif mode == "option_greeks":
        content = message(3, _first_level(market, units))
    elif name.contract.is_index:
        content = message(2, message(2, message(1, _last_trade(market, units)) + message(2, _day_bar(market, units))))
    else:
        content = message(2, message(1, _full(market, units)))
    return content + whole(4, REQUEST_MODES[mode])


def _full(market: Market, units: int) -> bytes:
    levels = b"".join(message(1, _level(market.buy, market.sell, place, units)) for place in range(_DEPTH_LEVELS))
    return (
        message(1, _last_trade(market, units))
        + message(2, levels)
        + message(4, _day_bar(market, units))
        + double(5, float(market.average_price))
        + whole(6, market.volume // units)
        + doubles({7: market.oi // units, 9: market.buy_quantity // units, 10: market.sell_quantity // units})
    )


def _first_level(market: Market, units: int) -> bytes:
    return (
        message(1, _last_trade(market, units))
        + message(2, _level(market.buy, market.sell, 0, units))
        + whole(4, market.volume // units)
        + double(5, market.oi // units)
    )


def _last_trade(market: Market, units: int) -> bytes:
    return (
        double(1, float(market.last_price))
        + whole(2, int(market.last_trade_time * 1000))
        + whole(3, market.last_quantity // units)
        + double(4, float(market.previous_close))
    )


def _level(buy: tuple[Level, ...], sell: tuple[Level, ...], place: int, units: int) -> bytes:
    """Return both sides of a depth level; empty where the book is not as deep."""
    bids = [whole(1, bid.quantity // units) + double(2, float(bid.price)) for bid in buy[place : place + 1]]
    asks = [whole(3, ask.quantity // units) + double(4, float(ask.price)) for ask in sell[place : place + 1]]
    return b"".join((*bids, *asks))


def _day_bar(market: Market, units: int) -> bytes:
    midnight = from_epoch(market.exchange_time).replace(hour=0, minute=0, second=0, microsecond=0)
    prices = {2: market.open, 3: market.high, 4: market.low, 5: market.last_price}
    bar = (
        text(1, "1d")
        + doubles({number: float(price) for number, price in prices.items()})
        + whole(6, market.volume // units)
        + whole(7, int(midnight.timestamp()) * 1000)
    )
    return message(1, bar)
