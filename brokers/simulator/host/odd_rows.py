"""Rows of answers without their average prices, in each broker's own fields.

A null stands where a broker's row of orders or positions has an average, and in holdings whose rows name a product. Rows of quotes name none, and
rows of trades have a price, not an average: both stay as they are. The fields are those of the brokers' pages (docs/brokers/<code>.md: the rows of
orders and of positions). Kotak's positions have values only.
"""

from collections.abc import Mapping

import msgspec

_FIELDS: Mapping[str, tuple[frozenset[str], frozenset[str]]] = {
    "zerodha": (frozenset({"product"}), frozenset({"average_price", "buy_price", "sell_price"})),
    "upstox": (frozenset({"product"}), frozenset({"average_price", "buy_price", "sell_price"})),
    "dhan": (frozenset({"productType"}), frozenset({"averageTradedPrice", "buyAvg", "sellAvg", "costPrice"})),
    "angelone": (
        frozenset({"producttype"}),
        frozenset(
            {
                "averageprice", "buyavgprice", "sellavgprice", "avgnetprice", "cfbuyavgprice", "cfsellavgprice",
                "totalbuyavgprice", "totalsellavgprice", "netprice",
            }
        ),
    ),
    "fyers": (frozenset({"productType"}), frozenset({"tradedPrice", "buyAvg", "sellAvg", "netAvg", "avgPrice"})),
    "kotakneo": (frozenset({"prod"}), frozenset({"avgPrc"})),
    "icicidirect": (frozenset({"product_type", "product"}), frozenset({"average_price"})),
    "fivepaisa": (
        frozenset({"DelvIntra", "OrderFor"}), frozenset({"AveragePrice", "BuyAvgRate", "SellAvgRate", "AvgRate"}),
    ),
    "groww": (frozenset({"product"}), frozenset({"average_fill_price", "net_price", "credit_price", "debit_price"})),
    "shoonya": (
        frozenset({"prd"}), frozenset({"avgprc", "netavgprc", "daybuyavgprc", "daysellavgprc", "cforgavgprc"}),
    ),
}  # fmt: skip
"""Broker -> (fields of the product, fields of averages)."""


_TRADES = frozenset({"trade_id", "flId"})
"""Fields of trades, in rows that would look like those of orders."""


def without_averages(code: str, body: bytes) -> bytes:
    """Return a JSON answer with null for the averages of its orders and positions; any other body as it is."""
    if code not in _FIELDS or body[:1] not in (b"{", b"["):
        return body
    try:
        document = msgspec.json.decode(body)
    except msgspec.DecodeError:
        return body
    return msgspec.json.encode(document) if _strip(document, *_FIELDS[code]) else body


def _strip(value: object, products: frozenset[str], averages: frozenset[str]) -> bool:
    """Put null for the averages inside, and return whether there was one."""
    inside = value if isinstance(value, list) else list(value.values()) if isinstance(value, dict) else []
    struck = sum(_strip(each, products, averages) for each in inside) > 0
    if isinstance(value, dict) and products & value.keys() and not _TRADES & value.keys():
        for name in averages & value.keys():
            value[name], struck = None, True
    return struck
