"""JSON schemas and examples of candles and ticks (rules 1.2.4, 1.4.8, 1.4.9)."""

from onebroker.config.instruments import security
from onebroker.config.intervals import INTERVALS
from onebroker.http.instruments.schemas import Schema, listed, results, results_example

__all__ = ["PRICES", "PRICES_EXAMPLE", "TICKS", "TICKS_EXAMPLE", "TICK_RESULTS", "TICK_RESULTS_EXAMPLE", "results",
           "results_example"]  # fmt: skip

_TEXT: Schema = {"type": "string"}
_TEXT_OR_NULL: Schema = {"type": ["string", "null"]}
_NUMBER: Schema = {"type": "number"}
_NUMBER_OR_NULL: Schema = {"type": ["number", "null"]}
_UNITS: Schema = {"type": ["integer", "null"]}
_BASIS: Schema = {"type": "string", "enum": ["adjusted", "unadjusted", "as_served"]}
_SHARE = security("nse", "equities", "INFY")

PRICES: Schema = {
    "type": "object",
    "properties": {
        **{name: _NUMBER_OR_NULL if name == "strike_price" else _TEXT_OR_NULL for name in _SHARE.fields()},
        "interval": {"type": "string", "enum": list(INTERVALS)},
        "from": {"type": "string", "format": "date"},
        "to": {"type": "string", "format": "date"},
        "adjustable": {"type": "boolean"},
        "price_basis": _BASIS,
        "known_as_of": {"type": ["string", "null"], "format": "date"},
        "source": {"type": "string", "enum": ["cache", "database"]},
        "columns": listed(_TEXT),
        "candles": listed({"type": "array", "items": {"type": ["string", "number", "null"]}}),
    },
    "required": ["instrument_id", "interval", "from", "to", "price_basis", "source", "columns", "candles"],
}
PRICES_EXAMPLE = {
    **_SHARE.fields(),
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

_LEVELS = listed(
    {"type": "object", "properties": {"price": _NUMBER, "quantity": {"type": "integer"}, "orders": _UNITS}}
)
_TICK: Schema = {
    "type": "object",
    "properties": {
        "time": {"type": "string", "format": "date-time"},
        "broker": _TEXT,
        "last_price": _NUMBER,
        "average_price": _NUMBER_OR_NULL,
        "ohlc": {"type": "object", "properties": dict.fromkeys(("open", "high", "low", "close"), _NUMBER_OR_NULL)},
        **dict.fromkeys(("last_quantity", "volume", "buy_quantity", "sell_quantity", "oi"), _UNITS),
        "depth": {"type": ["object", "null"], "properties": {"buy": _LEVELS, "sell": _LEVELS}},
    },
    "required": ["time", "broker", "last_price", "ohlc"],
}
TICKS: Schema = listed(_TICK)
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

_PERIOD = {
    "type": "object",
    "properties": {
        "instrument_id": _TEXT,
        "adjustable": {"type": "boolean"},
        "price_basis": _BASIS,
        "start": {"type": "string", "format": "date-time"},
        "end": {"type": "string", "format": "date-time"},
    },
}
TICK_RESULTS: Schema = {
    "type": "object",
    "properties": {
        "results": listed(
            {
                "type": "object",
                "properties": {
                    "request_index": {"type": "integer"},
                    "status": {"type": "integer"},
                    "data": _PERIOD,
                    "ticks": TICKS,
                    "error": _TEXT,
                },
                "required": ["request_index", "status"],
            }
        )
    },
    "required": ["results"],
}
TICK_RESULTS_EXAMPLE = {
    "results": [
        {
            "request_index": 0,
            "status": 200,
            "data": {
                "instrument_id": _SHARE.instrument_id,
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
