"""Rows of answers without their average prices, in the fields that each dialect names (`Averages`).

A null stands where a broker's row of orders or positions has an average, and in holdings whose rows name a product. Rows of quotes name none, and
rows of trades have a price, not an average: both stay as they are. A broker whose
positions have values only keeps them.
"""

import msgspec

from onebroker.brokers.simulator.dialects.dialect import Averages

_TRADES = frozenset({"trade_id", "flId"})
"""Fields of trades, in rows that would look like those of orders."""


def without_averages(averages: Averages, body: bytes) -> bytes:
    """Return a JSON answer with null for the averages of its orders and positions; any other body as it is."""
    if body[:1] not in (b"{", b"["):
        return body
    try:
        document = msgspec.json.decode(body)
    except msgspec.DecodeError:
        return body
    return msgspec.json.encode(document) if _strip(document, averages) else body


def _strip(value: object, averages: Averages) -> bool:
    """Put null for the averages inside, and return whether there was one."""
    inside = value if isinstance(value, list) else list(value.values()) if isinstance(value, dict) else []
    struck = sum(_strip(each, averages) for each in inside) > 0
    if isinstance(value, dict) and not _TRADES & value.keys() and any(name in value for name in averages.products):
        for name in averages.fields:
            if name in value:
                value[name], struck = None, True
    return struck
