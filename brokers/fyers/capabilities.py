"""What Fyers places and changes, and how often its data is read.

Source: documentation "FYERS API v3", orders, not re-read by us; cadence from architecture 13.
"""

from onebroker.brokers.broker import Cadence, Capabilities
from onebroker.brokers.codec.segments import CASH, COMMODITY, CURRENCY, EQUITY, offered
from onebroker.brokers.fyers.values import ORDER_TYPE_TO_WIRE, VALIDITY_TO_WIRE

_SEGMENTS = {
    "nse": (*CASH, *EQUITY, *CURRENCY, "commodity_futures", "commodity_options"),
    "bse": (*CASH, *EQUITY),
    "mcx": COMMODITY,
}
"""BSE's currency contracts have a number but no instrument file. Mutual funds are a separate service."""

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
    modifiable=frozenset({"price", "trigger_price", "quantity", "order_type", "disclosed_quantity"}),
    asked_by_token=True,
)

CADENCE = Cadence(orders=2.0, trades=4.0, positions=4.0, funds=15.0, holdings=60.0)
PROFILE_SECONDS = 60.0
