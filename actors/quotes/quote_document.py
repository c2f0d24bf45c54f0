"""The unified quote document (rules 1.2.3), built when a caller reads it. Pure."""

from typing import Literal

from onebroker.actors.catalogue.interface import Instrument
from onebroker.actors.quotes.tick_fold import LARGEST_PRICE, Quote, is_price
from onebroker.brokers.records import DepthLevel
from onebroker.config.instruments import price_places
from onebroker.config.money import quotient, round_half_up, scaled

Source = Literal["cache", "broker"]

DEPTH_LEVELS = 5
CHANGE_PLACES = 4


def quote_document(quote: Quote, instrument: Instrument, source: Source, now: float) -> dict[str, object]:
    """Return the whole document, with the fields in the order of the rules. `now` (epoch seconds) becomes `unified_at`."""
    tick = quote.tick
    places = price_places(instrument.identity.segment)
    last_price = round_half_up(tick.last_price, places)
    previous_close = _price(tick.previous_close, places)
    return {
        **instrument.identity.fields(),
        "broker": quote.broker,
        "broker_token": tick.broker_token,
        "lot_size": instrument.lot_size,
        "last_price": last_price,
        "average_price": _rounded(tick.average_price, places),
        "ohlc": _day_bar(quote, places),
        "previous_close": previous_close,
        "change_percent": change_percent(last_price, previous_close, places),
        "last_quantity": tick.last_quantity,
        "volume": tick.volume,
        "buy_quantity": tick.buy_quantity,
        "sell_quantity": tick.sell_quantity,
        "oi": tick.oi,
        "oi_day_high": tick.oi_day_high,
        "oi_day_low": tick.oi_day_low,
        "depth": {"buy": _levels(tick.buy, places), "sell": _levels(tick.sell, places)},
        "last_trade_time": tick.last_trade_time,
        "exchange_time": tick.exchange_time,
        "received_at": quote.received_at,
        "unified_at": now,
        "stale": quote.stale_since is not None,
        "stale_since": quote.stale_since,
        "source": source,
    }


def ltp_document(quote: Quote, instrument: Instrument, source: Source, now: float) -> dict[str, object]:
    """Return only the fields that the rules mark L."""
    return {
        **instrument.identity.fields(),
        "last_price": round_half_up(quote.tick.last_price, price_places(instrument.identity.segment)),
        "last_trade_time": quote.tick.last_trade_time,
        "received_at": quote.received_at,
        "source": source,
    }


def ohlc_document(quote: Quote, instrument: Instrument, source: Source, now: float) -> dict[str, object]:
    """Return open, high, low, the last price as close, and the volume (rules 1.4.7)."""
    places = price_places(instrument.identity.segment)
    return {
        **_day_bar(quote, places),
        "close": round_half_up(quote.tick.last_price, places),
        "volume": quote.tick.volume,
    }


def change_percent(last_price: float, previous_close: float | None, places: int) -> float | None:
    """Return the percent change between the two prices as the document shows them, with `places` decimals."""
    if not previous_close:
        return None
    before = scaled(previous_close, places)
    return quotient((scaled(last_price, places) - before) * 100, before, CHANGE_PLACES)


def _day_bar(quote: Quote, places: int) -> dict[str, object]:
    tick = quote.tick
    return {"open": _price(tick.open, places), "high": _price(tick.high, places), "low": _price(tick.low, places)}


def _price(value: float | None, places: int) -> float | None:
    """Brokers write zero for a price that does not exist yet (no trade today, first day of listing)."""
    return _rounded(value, places) or None


def _rounded(value: float | None, places: int) -> float | None:
    """Round a price; return None for a value that is no price (not a number, infinite, or above LARGEST_PRICE)."""
    return None if value is None or not abs(value) < LARGEST_PRICE else round_half_up(value, places)


def _levels(levels: tuple[DepthLevel, ...] | None, places: int) -> list[dict[str, object]]:
    filled = [level for level in levels or () if level.quantity > 0 and is_price(level.price)]
    return [
        {"price": round_half_up(level.price, places), "quantity": level.quantity, "orders": level.orders}
        for level in filled[:DEPTH_LEVELS]
    ]
