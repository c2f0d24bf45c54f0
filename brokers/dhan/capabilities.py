"""What Dhan places and changes, and how often its data is read.

Source: DhanHQ v2 documentation, "Orders", not re-read by us; cadence from architecture 13. SL-M orders are offered only
for shares: in derivatives Dhan refuses them under the exchanges' market price protection (seen by a public project).
"""

from onebroker.brokers.broker import Cadence, Capabilities
from onebroker.brokers.codec.segments import CASH, COMMODITY, CURRENCY, EQUITY, offered
from onebroker.brokers.dhan.values import ORDER_TYPE_TO_WIRE, VALIDITY_TO_WIRE

_SEGMENTS = {"nse": (*CASH, *EQUITY, *CURRENCY), "bse": (*CASH, *EQUITY, *CURRENCY), "mcx": COMMODITY}

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
    refused_in_derivatives=frozenset({"SL-M"}),
)

CADENCE = Cadence(orders=1.0, trades=2.0, positions=2.0, funds=5.0, holdings=60.0)
PROFILE_SECONDS = 60.0
