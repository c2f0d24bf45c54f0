"""What Shoonya places and changes, and how often its data is read.

Sources: docs/brokers/shoonya.md, sections 4 and 5; cadence from architecture 13.
"""

from onebroker.brokers.broker import Cadence, Capabilities
from onebroker.brokers.codec.segments import CASH, COMMODITY, CURRENCY, EQUITY, offered
from onebroker.brokers.shoonya.values import ORDER_TYPE_TO_WIRE, VALIDITY_TO_WIRE

_SEGMENTS = {
    "nse": (*CASH, *EQUITY, *CURRENCY),
    "bse": (*CASH, *EQUITY, *CURRENCY),
    "mcx": COMMODITY,
    "ncdex": COMMODITY,
}

_ORDER_TYPES = frozenset(str(each) for each in ORDER_TYPE_TO_WIRE)
"""Without MARKET and SL-M: see `values.ORDER_TYPES_UNSENT`."""

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
    asked_by_token=False,
)

CADENCE = Cadence(orders=2.0, trades=4.0, positions=4.0, funds=10.0, holdings=60.0)
PROFILE_SECONDS = 60.0
