"""Bodies of place that the API's documents show."""

from typing import Any

from onebroker.http.answers.shared import SHARE

_SHARE: dict[str, Any] = {"instrument_id": SHARE["instrument_id"], "transaction_type": "BUY", "product": "MIS"}
LIMIT: dict[str, Any] = {**_SHARE, "order_type": "LIMIT", "quantity": 10, "price": 1480.0}
_STOP = {
    "transaction_type": "SELL",
    "price": {"kind": "native_stop", "trigger_price": 1450.0, "limit_price": 1445.0},
}
_TARGET = {"transaction_type": "SELL", "price": {"kind": "fixed", "price": 1550.0}}
BODY_EXAMPLES: dict[str, object] = {
    "a limit order": {**LIMIT, "tag": "morning1"},
    "an option by its fields": {
        "exchange": "nse",
        "segment": "equity_index_options",
        "underlying_symbol": "NIFTY",
        "expiry_date": "2026-12-29",
        "strike_price": 26000,
        "option_type": "CE",
        "transaction_type": "BUY",
        "product": "NRML",
        "order_type": "MARKET",
        "quantity": 75,
    },
    "a dry run": {**LIMIT, "dry_run": True},
    "at a price of the book": {
        **_SHARE,
        "order_type": "LIMIT",
        "quantity": 10,
        "price_reference": {"kind": "bid_level", "level": 1, "offset_ticks": 1},
    },
    "close a position": {
        **_SHARE,
        "transaction_type": "SELL",
        "order_type": "MARKET",
        "quantity_reference": {"kind": "liquidate_position", "product": "intraday"},
    },
    "a bracket": {
        **LIMIT,
        "synthetic": {
            "type": "bracket", "stop_price": 1450.0, "stop_limit_price": 1445.0, "target_price": 1550.0,
        },
    },
    "a plan": {
        **LIMIT,
        "synthetic": {
            "type": "plan",
            "hold_limits": True,
            "root": {"each_fill": {"part": "one_cancels_others", "rule": "shrink", "children": [_STOP, _TARGET]}},
        },
    },
    "several orders": {"orders": [LIMIT, {**LIMIT, "price": 1475.0}]},
}  # fmt: skip
