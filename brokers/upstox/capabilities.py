"""What Upstox places and changes, and how often its data is read.

Source: documentation pages "Place Order V3" and "Modify Order V3", not re-read by us; cadence from architecture 13.
"""

from onebroker.brokers.broker import Cadence, Capabilities
from onebroker.brokers.codec.segments import CASH, COMMODITY, CURRENCY, EQUITY, offered
from onebroker.brokers.upstox.values import ORDER_TYPE_TO_WIRE, VALIDITY_TO_WIRE

_SEGMENTS = {
    "nse": (*CASH, *EQUITY, *CURRENCY, "commodity_futures", "commodity_options"),
    "bse": (*CASH, *EQUITY, *CURRENCY),
    "mcx": COMMODITY,
}
"""Mutual funds are a separate service of Upstox'."""

_ORDER_TYPES = frozenset(str(each) for each in ORDER_TYPE_TO_WIRE)

CAPABILITIES = Capabilities(
    segments=offered(_SEGMENTS),
    order_types={"equity": _ORDER_TYPES, "currency": _ORDER_TYPES, "commodity": _ORDER_TYPES},
    products={
        "equity": frozenset({"CNC", "MIS", "NRML"}),
        "currency": frozenset({"MIS", "NRML"}),
        "commodity": frozenset({"MIS", "NRML"}),
    },
    validities=frozenset(str(each) for each in VALIDITY_TO_WIRE),
    after_market=True,
    disclosed_quantity=True,
    modifiable=frozenset({"price", "trigger_price", "quantity", "order_type", "validity", "disclosed_quantity"}),
    asked_by_token=True,
)

CADENCE = Cadence(orders=4.0, trades=12.0, positions=12.0, funds=30.0, holdings=60.0)
"""Slower than 5paisa's. With two calls for the positions, the same 45 calls a minute would use more than half of the
2,000 in half an hour. Reads that events trigger would then wait (docs/decisions/0021-upstox-is-read-less-often.md)."""
PROFILE_SECONDS = 60.0
