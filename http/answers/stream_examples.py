"""An example of every message of the stream, by the name of its type."""

from typing import Any

from onebroker.config.messages import instruments, orders_read, shared, stream
from onebroker.http.answers import chain, parents, portfolio, quotes
from onebroker.http.answers.shared import AS_OF, SHARE

_STREAM = "0b41f3a6-53f5-4c0e-9d7b-3f1a5d2c7e90"
_NAMED = [{"exchange": "nse", "segment": "equities", "symbol": "INFY"}]
_ORDER = portfolio.ORDER_EXAMPLE
_LTP = {**quotes.LTP_EXAMPLE, "stale": False, "stale_since": None}
_CHAIN = {"underlying_symbol": "NIFTY", "exchange": "nse", "expiry_date": "2026-12-29"}
_CHAIN_FIELDS = {**_CHAIN, "segment": None, "strikes": 20}
_STALE = {**SHARE, "stale": True, "stale_since": 1795408210.0}

EXAMPLES: dict[str, tuple[dict[str, Any], ...]] = {
    "ShowToken": ({"access-token": "6f1a52c8-0d0b-4b7e-9c55-2f2d6a3b1e90"},),
    "SubscribeQuotes": ({"subscribe": "quotes", "mode": "ltp", "instruments": _NAMED, "id": 1},),
    "SubscribeEvents": ({"subscribe": "orders"}, {"subscribe": "parents"}),
    "SubscribeDocuments": ({"subscribe": "documents", "documents": ["funds", "positions"]},),
    "SubscribeChain": (
        {"subscribe": "chain", **_CHAIN},
        {"subscribe": "chain", **_CHAIN, "segment": "nse_equity_index_options", "strikes": 40},
    ),
    "UnsubscribeQuotes": ({"unsubscribe": "quotes"}, {"unsubscribe": "quotes", "instruments": _NAMED}),
    "UnsubscribeEvents": ({"unsubscribe": "orders"},),
    "UnsubscribeDocuments": ({"unsubscribe": "documents", "documents": ["funds"]},),
    "UnsubscribeChain": ({"unsubscribe": "chain"}, {"unsubscribe": "chain", **_CHAIN}),
    "ResumeStream": ({"resume": 17, "stream": _STREAM},),
    "Started": ({"seq": 1, "type": "started", "stream": _STREAM, "keep_seconds": 60.0},),
    "Resumed": (
        {
            "seq": 18,
            "type": "resumed",
            "stream": _STREAM,
            "subscriptions": {
                "quotes": {str(SHARE["instrument_id"]): "ltp"},
                "orders": True,
                "parents": False,
                "documents": ["funds"],
                "chain": [_CHAIN_FIELDS],
            },
        },
    ),
    "StreamedQuotes": (
        {"seq": 3, "type": "quotes", "snapshot": True, "quotes": [_LTP]},
        {"seq": 4, "type": "quotes", "quotes": [quotes.QUOTE_EXAMPLE, quotes.BARE_QUOTE_EXAMPLE, _STALE]},
    ),
    "OrdersSnapshot": (
        {
            "seq": 5,
            "type": "orders",
            "snapshot": True,
            "orders": [_ORDER],
            "summary": portfolio.ORDERS_EXAMPLE["summary"],
            "as_of": AS_OF,
        },
    ),
    "OrderEvents": (
        {
            "seq": 6,
            "type": "orders",
            "events": [{"event": "changed", "previous_status": "PENDING", "order": _ORDER}],
        },
    ),
    "ParentsSnapshot": ({"seq": 7, "type": "parents", "snapshot": True, "parents": [parents.EXAMPLE]},),
    "ParentEvents": (
        {
            "seq": 8,
            "type": "parents",
            "events": [{"event": "changed", "previous_state": "armed", "parent": parents.EXAMPLE}],
        },
    ),
    "StreamedDocument": ({"seq": 9, "type": "document", "document": "funds", "data": portfolio.FUNDS_EXAMPLE},),
    "DocumentAges": (
        {
            "seq": 18,
            "type": "ages",
            "now": 1795775400.5,
            "documents": {
                "funds": {
                    "as_of": "2026-11-27T12:00:00",
                    "as_of_epoch": 1795775400.25,
                    "brokers": portfolio.BROKERS_EXAMPLE,
                }
            },
        },
    ),
    "StreamedChain": (
        {
            **chain.EXAMPLE,
            "seq": 15,
            "type": "chain",
            "snapshot": True,
            "strikes": 20,
            "shown": [row["strike_price"] for row in chain.ROWS],
        },
    ),
    "ChainUnavailable": (
        {
            "seq": 16,
            "type": "chain",
            "snapshot": True,
            **_CHAIN_FIELDS,
            "status": 404,
            "error": instruments.no_options("NIFTY", "nse", "2026-12-29", "2026-11-24"),
        },
    ),
    "Unavailable": (
        {
            "seq": 10,
            "type": "document",
            "document": "orders",
            "status": 502,
            "error": orders_read.unable_to_retrieve("Orders"),
            "brokers": [portfolio.BROKERS_EXAMPLE[0]],
        },
        {
            "seq": 11,
            "type": "parents",
            "snapshot": True,
            "status": 503,
            "error": shared.redis_unreadable("the store is away"),
        },
    ),
    "Lagged": ({"seq": 12, "type": "lagged", "channel": "orders", "missed": 4100},),
    "Subscribed": (
        {
            "seq": 2,
            "type": "subscribed",
            "id": 1,
            "channel": "quotes",
            "mode": "ltp",
            "results": [{"request_index": 0, "status": 200, "instrument_id": SHARE["instrument_id"]}],
        },
    ),
    "SubscribedChain": ({"seq": 17, "type": "subscribed", "channel": "chain", **_CHAIN_FIELDS},),
    "Unsubscribed": ({"seq": 13, "type": "unsubscribed", "channel": "documents", "documents": ["funds"]},),
    "StreamError": ({"seq": 14, "type": "error", "status": 400, "error": stream.MESSAGE_FORM},),
}
