"""JSON schemas and examples of the quote routes' answers (rules 1.2.3, 1.4.7)."""

from onebroker.config.instruments import EXCHANGES, Shape, security
from onebroker.http.instruments.schemas import Schema, listed

_TEXT: Schema = {"type": "string"}
_TEXT_OR_NULL: Schema = {"type": ["string", "null"]}
_NUMBER: Schema = {"type": "number"}
_NUMBER_OR_NULL: Schema = {"type": ["number", "null"]}
_UNITS: Schema = {"type": ["integer", "null"]}


def _object(properties: dict[str, Schema]) -> Schema:
    return {"type": "object", "properties": properties, "required": list(properties)}


_IDENTITY: dict[str, Schema] = {
    "instrument_id": {"type": "string", "format": "uuid"},
    "exchange": {"type": "string", "enum": [str(name) for name in EXCHANGES]},
    "segment": _TEXT,
    "shape": {"type": "string", "enum": [shape.value for shape in Shape]},
    "symbol": _TEXT_OR_NULL,
    "underlying_symbol": _TEXT_OR_NULL,
    "expiry_date": {"type": ["string", "null"], "format": "date"},
    "strike_price": _NUMBER_OR_NULL,
    "option_type": {"type": ["string", "null"], "enum": ["CE", "PE", None]},
}
_DAY_BAR: dict[str, Schema] = {"open": _NUMBER_OR_NULL, "high": _NUMBER_OR_NULL, "low": _NUMBER_OR_NULL}
_LEVELS = {**listed(_object({"price": _NUMBER, "quantity": {"type": "integer"}, "orders": _UNITS})), "maxItems": 5}
_SOURCE: Schema = {"type": "string", "enum": ["cache", "broker"]}

LTP = _object(
    {**_IDENTITY, "last_price": _NUMBER, "last_trade_time": _NUMBER_OR_NULL, "received_at": _NUMBER, "source": _SOURCE}
)
OHLC = _object({**_DAY_BAR, "close": _NUMBER_OR_NULL, "volume": _UNITS})
QUOTE = _object(
    {
        **_IDENTITY,
        "broker": _TEXT,
        "broker_token": _TEXT,
        "lot_size": _UNITS,
        "last_price": _NUMBER,
        "average_price": _NUMBER_OR_NULL,
        "ohlc": _object(_DAY_BAR),
        "previous_close": _NUMBER_OR_NULL,
        "change_percent": _NUMBER_OR_NULL,
        **dict.fromkeys(
            ("last_quantity", "volume", "buy_quantity", "sell_quantity", "oi", "oi_day_high", "oi_day_low"), _UNITS
        ),
        "depth": _object({"buy": _LEVELS, "sell": _LEVELS}),
        "last_trade_time": _NUMBER_OR_NULL,
        "exchange_time": _NUMBER_OR_NULL,
        "received_at": _NUMBER,
        "unified_at": _NUMBER,
        "stale": {"type": "boolean"},
        "stale_since": _NUMBER_OR_NULL,
        "source": _SOURCE,
    }
)

# Examples

_SHARE = security("nse", "equities", "INFY").fields()
_TIMES = {"last_trade_time": 1795408201.0, "received_at": 1795408201.52}
LTP_EXAMPLE = {**_SHARE, "last_price": 1502.35, **_TIMES, "source": "cache"}
OHLC_EXAMPLE = {"open": 1490.0, "high": 1508.0, "low": 1488.1, "close": 1502.35, "volume": 1204411}
QUOTE_EXAMPLE = {
    **_SHARE,
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
    "depth": {
        "buy": [{"price": 1502.3, "quantity": 140, "orders": 3}],
        "sell": [{"price": 1502.4, "quantity": 75, "orders": 2}],
    },
    "last_trade_time": _TIMES["last_trade_time"],
    "exchange_time": 1795408201.0,
    "received_at": _TIMES["received_at"],
    "unified_at": 1795408202.04,
    "stale": False,
    "stale_since": None,
    "source": "cache",
}
