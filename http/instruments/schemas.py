"""JSON schemas and examples of the instrument routes' requests and answers (rules 1.2.1, 1.2.7; fields as architecture 8)."""

from collections.abc import Mapping
from typing import TypeAlias

from onebroker.config.instruments import EXCHANGES, SEGMENTS, Shape, security

Schema: TypeAlias = dict[str, object]


def listed(of: Mapping[str, object]) -> Schema:
    """Return the schema of an array."""
    return {"type": "array", "items": of}


def _object(**properties: Mapping[str, object]) -> Schema:
    """Return the schema of an object that has every one of `properties`."""
    return {"type": "object", "properties": properties, "required": list(properties)}


def _by_broker(of: Mapping[str, object]) -> Schema:
    return {"type": "object", "additionalProperties": of}


_TEXT: Schema = {"type": "string"}
_TEXT_OR_NULL: Schema = {"type": ["string", "null"]}
_DAY: Schema = {"type": "string", "format": "date"}
_UNITS: Schema = {"type": ["integer", "null"]}
_RUPEES: Schema = {"type": ["number", "null"]}
_EXCHANGE: Schema = {"type": "string", "enum": [str(name) for name in EXCHANGES]}
_SHAPE: Schema = {"type": "string", "enum": [shape.value for shape in Shape]}
_ID: Schema = {"type": "string", "format": "uuid"}

ITEM: Schema = {
    "type": "object",
    "properties": {
        "instrument_id": _ID,
        "exchange": _EXCHANGE,
        "segment": _TEXT,
        "symbol": _TEXT,
        "underlying_symbol": _TEXT,
        "expiry_date": _DAY,
        "strike_price": {"type": ["number", "string"]},
        "option_type": {"type": "string", "enum": ["CE", "PE"]},
    },
}
"""One instrument of a POST form's list."""

_RECORD: dict[str, Schema] = {
    "instrument_id": _ID,
    "exchange": _EXCHANGE,
    "segment": _TEXT,
    "shape": _SHAPE,
    "symbol": _TEXT_OR_NULL,
    "underlying_symbol": _TEXT_OR_NULL,
    "expiry_date": {"type": ["string", "null"], "format": "date"},
    "strike_price": _RUPEES,
    "option_type": {"type": ["string", "null"], "enum": ["CE", "PE", None]},
    "name": _TEXT_OR_NULL,
    "isin": _TEXT_OR_NULL,
    "lot_size": _UNITS,
    "tick_size": _RUPEES,
}
_NAMED = _object(broker_token=_TEXT, tradingsymbol=_TEXT, exchange=_TEXT, lot_size=_UNITS, tick_size=_RUPEES)
_DETAILS = {**_RECORD, "freeze_quantity": _UNITS, "brokers": _by_broker(_NAMED)}

SEGMENTS_ANSWER = _object(
    mapping_date=_DAY,
    exchanges=listed(_EXCHANGE),
    segments=listed(
        _object(
            exchange=_EXCHANGE,
            segment=_TEXT,
            bare_segment={"type": "string", "enum": list(SEGMENTS)},
            shape=_SHAPE,
            identity_fields=listed(_TEXT),
            instruments={"type": "integer"},
        )
    ),
)
RECORD = _object(**_RECORD)
SEARCH_ANSWER = _object(
    mapping_date=_DAY,
    exchange=_EXCHANGE,
    segment=_TEXT,
    query=_TEXT,
    matched={"type": "integer"},
    instruments=listed(RECORD),
)
DETAILS = _object(**_DETAILS)
ADDITIONAL_DETAILS = _object(**_DETAILS, attributes=_by_broker({"type": "object", "additionalProperties": _TEXT}))


def results(data: Mapping[str, object]) -> Schema:
    """Return the schema of a POST form's answer; `data` is the schema of the GET form's answer."""
    entry: Schema = {
        "type": "object",
        "properties": {
            "request_index": {"type": "integer"},
            "status": {"type": "integer"},
            "data": data,
            "error": _TEXT,
        },
        "required": ["request_index", "status"],
    }
    return _object(results=listed(entry))


# Examples

_SHARE = security("nse", "equities", "INFY").fields()

SEGMENTS_EXAMPLE = {
    "mapping_date": "2026-11-20",
    "exchanges": ["nse"],
    "segments": [
        {
            "exchange": "nse",
            "segment": "nse_equities",
            "bare_segment": "equities",
            "shape": "security",
            "identity_fields": ["symbol"],
            "instruments": 2180,
        }
    ],
}
RECORD_EXAMPLE = {**_SHARE, "name": "INFOSYS", "isin": "INE009A01021", "lot_size": 1, "tick_size": 0.05}
SEARCH_EXAMPLE = {
    "mapping_date": "2026-11-20",
    "exchange": "nse",
    "segment": "nse_equities",
    "query": "inf",
    "matched": 1,
    "instruments": [RECORD_EXAMPLE],
}
DETAILS_EXAMPLE = {
    **RECORD_EXAMPLE,
    "freeze_quantity": None,
    "brokers": {
        "zerodha": {
            "broker_token": "408065",
            "tradingsymbol": "INFY",
            "exchange": "NSE",
            "lot_size": 1,
            "tick_size": 0.05,
        }
    },
}
ADDITIONAL_DETAILS_EXAMPLE = {**DETAILS_EXAMPLE, "attributes": {"zerodha": {"exchange_token": "1594"}}}


def results_example(data: object) -> dict[str, object]:
    """Return an example answer of a POST form: one item is found, one item names no instrument."""
    return {
        "results": [
            {"request_index": 0, "status": 200, "data": data},
            {"request_index": 1, "status": 400, "error": "instrument_id must be a UUID"},
        ]
    }
