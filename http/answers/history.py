"""Answers of candles and ticks (rules 1.2.4, 1.4.8, 1.4.9)."""

from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from onebroker.actors.history.messages import Basis
from onebroker.config.intervals import INTERVALS
from onebroker.config.schema_marks import MOMENT, one_of
from onebroker.http.answers.quotes import DayBar, QuoteLevel
from onebroker.http.answers.shared import SHARE, DayText, Instrument, UuidText, entry_of, results_of

Interval: TypeAlias = Annotated[str, one_of(INTERVALS)]
MomentText: TypeAlias = Annotated[str, MOMENT]


class Prices(Instrument, kw_only=True):
    """Candles of one instrument, oldest first."""

    interval: Interval
    from_: DayText = msgspec.field(name="from")
    """First India calendar day."""
    to: DayText
    """Last India calendar day, included."""
    adjustable: bool
    """Whether prices of this segment are adjusted for corporate actions."""
    price_basis: Basis
    known_as_of: DayText | None
    """Null unless the basis is `adjusted`."""
    source: Literal["cache", "database"]
    columns: list[Literal["time", "open", "high", "low", "close", "volume", "oi", "price_factor"]]
    """Names the positions of a candle. `price_factor` is there when the basis is `adjusted`."""
    candles: list[list[str | float | None]]
    """Each an array by `columns`: time in ISO 8601 with offset, prices in rupees, volume and oi in units or null."""


class TickBar(DayBar, kw_only=True):
    """The prices of the day, as the broker sent them with the tick."""

    close: float | None
    """The close of the day before."""


class TickDepth(msgspec.Struct, kw_only=True):
    buy: list[QuoteLevel]
    sell: list[QuoteLevel]


class Tick(msgspec.Struct, kw_only=True):
    """One recorded tick. Prices in rupees, quantities in units; a figure is null when the broker did not send it."""

    time: MomentText
    """With the offset +00:00, to the microsecond."""
    broker: str
    last_price: float
    average_price: float | None
    ohlc: TickBar
    last_quantity: int | None
    volume: int | None
    buy_quantity: int | None
    sell_quantity: int | None
    oi: int | None
    depth: TickDepth | None


class TickPeriod(msgspec.Struct, kw_only=True):
    """What an entry's ticks are of; the headers of the GET form say the same."""

    instrument_id: UuidText
    adjustable: bool
    price_basis: Basis
    start: MomentText
    """Included."""
    end: MomentText
    """Not included."""


PricesResults: Any = results_of("Prices", entry_of("Prices", Prices))
TicksResults: Any = results_of("Ticks", entry_of("Ticks", TickPeriod, ticks=list[Tick]))


# --- examples ---------------------------------------------------------------------------------------------------------------

PRICES_EXAMPLE = {
    **SHARE,
    "interval": "day",
    "from": "2026-11-19",
    "to": "2026-11-20",
    "adjustable": True,
    "price_basis": "adjusted",
    "known_as_of": None,
    "source": "database",
    "columns": ["time", "open", "high", "low", "close", "volume", "oi", "price_factor"],
    "candles": [
        ["2026-11-19T00:00:00+05:30", 1500.0, 1512.4, 1490.05, 1510.0, 4211300, None, 1.0],
        ["2026-11-20T00:00:00+05:30", 1511.0, 1530.0, 1506.2, 1524.95, 3984400, None, 1.0],
    ],
}
TICKS_EXAMPLE = [
    {
        "time": "2026-11-20T03:45:00.250000+00:00",
        "broker": "zerodha",
        "last_price": 1511.0,
        "average_price": 1511.0,
        "ohlc": {"open": 1511.0, "high": 1511.0, "low": 1511.0, "close": 1510.0},
        "last_quantity": 10,
        "volume": 12500,
        "buy_quantity": 90500,
        "sell_quantity": 81250,
        "oi": None,
        "depth": {
            "buy": [{"price": 1510.95, "quantity": 100, "orders": 3}],
            "sell": [{"price": 1511.0, "quantity": 40, "orders": 1}],
        },
    }
]
TICKS_RESULTS_EXAMPLE = {
    "results": [
        {
            "request_index": 0,
            "status": 200,
            "data": {
                "instrument_id": SHARE["instrument_id"],
                "adjustable": True,
                "price_basis": "adjusted",
                "start": "2026-11-20T09:15:00+05:30",
                "end": "2026-11-20T09:16:00+05:30",
            },
            "ticks": TICKS_EXAMPLE,
        },
        {"request_index": 1, "status": 400, "error": "instrument_id must be a UUID"},
    ]
}
