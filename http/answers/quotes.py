"""Answers of the quote routes (rules 1.2.3, 1.4.7). Prices in rupees, quantities in units, moments in epoch seconds."""

from typing import Annotated, Any, Literal

import msgspec

from onebroker.http.answers.shared import SHARE, Instrument, entry_of, results_of


class DayBar(msgspec.Struct, kw_only=True):
    """The prices of the day; null before the first trade."""

    open: float | None
    high: float | None
    low: float | None


class Ohlc(DayBar, kw_only=True):
    """The day of an instrument."""

    close: float | None
    """The last traded price: a running day has no close."""
    volume: int | None
    """Units traded today; null when the broker does not report it, or for an index."""


class QuoteLevel(msgspec.Struct, kw_only=True):
    """One price of the order book."""

    price: float
    quantity: int
    orders: int | None
    """Orders at this price; null when the broker does not report it."""


class Depth(msgspec.Struct, kw_only=True):
    """The best prices of the order book, the best first."""

    buy: Annotated[list[QuoteLevel], msgspec.Meta(max_length=5)]
    sell: Annotated[list[QuoteLevel], msgspec.Meta(max_length=5)]


class Ltp(Instrument, kw_only=True):
    """The last price of an instrument."""

    last_price: float
    last_trade_time: float | None
    """Epoch seconds; null when the broker does not report it."""
    received_at: float
    """Epoch seconds at which the price was received."""
    source: Literal["cache", "broker"]
    """`cache`: stored from a feed or an earlier call. `broker`: fetched for this request."""


class BareQuote(Ltp, kw_only=True):
    """The quote of an instrument without the order book. A figure is null when the broker does not report it."""

    broker: str
    """The broker that the quote came from."""
    broker_token: str
    lot_size: int | None
    """Units in a lot."""
    average_price: float | None
    """The day's volume-weighted average."""
    ohlc: DayBar
    previous_close: float | None
    change_percent: float | None
    """Percent change from previous_close, four decimals."""
    last_quantity: int | None
    volume: int | None
    buy_quantity: int | None
    """Units of all bids."""
    sell_quantity: int | None
    """Units of all offers."""
    oi: int | None
    """Open interest; of derivatives."""
    oi_day_high: int | None
    oi_day_low: int | None
    exchange_time: float | None
    """Epoch seconds."""
    unified_at: float
    """Epoch seconds at which this document was made."""
    stale: bool
    """Always false: a stale quote is never served."""
    stale_since: float | None


class Quote(BareQuote, kw_only=True):
    """The whole quote of an instrument."""

    depth: Depth


LtpResults: Any = results_of("Ltp", entry_of("Ltp", Ltp))
OhlcResults: Any = results_of("Ohlc", entry_of("Ohlc", Ohlc))
QuoteResults: Any = results_of("Quote", entry_of("Quote", Quote))


# --- examples ---------------------------------------------------------------------------------------------------------------

_TIMES = {"last_trade_time": 1795408201.0, "received_at": 1795408201.52}
LTP_EXAMPLE = {**SHARE, "last_price": 1502.35, **_TIMES, "source": "cache"}
OHLC_EXAMPLE = {"open": 1490.0, "high": 1508.0, "low": 1488.1, "close": 1502.35, "volume": 1204411}
BARE_QUOTE_EXAMPLE = {
    **SHARE,
    "broker": "zerodha",
    "broker_token": "408065",
    "lot_size": 1,
    "last_price": 1502.35,
    "average_price": 1499.82,
    "ohlc": {"open": 1490.0, "high": 1508.0, "low": 1488.1},
    "previous_close": 1485.2,
    "change_percent": 1.1547,
    "last_quantity": 12,
    "volume": 1204411,
    "buy_quantity": 182004,
    "sell_quantity": 201120,
    "oi": None,
    "oi_day_high": None,
    "oi_day_low": None,
    "last_trade_time": _TIMES["last_trade_time"],
    "exchange_time": 1795408201.0,
    "received_at": _TIMES["received_at"],
    "unified_at": 1795408202.04,
    "stale": False,
    "stale_since": None,
    "source": "cache",
}
QUOTE_EXAMPLE = {
    **BARE_QUOTE_EXAMPLE,
    "depth": {
        "buy": [{"price": 1502.3, "quantity": 140, "orders": 3}],
        "sell": [{"price": 1502.4, "quantity": 75, "orders": 2}],
    },
}
