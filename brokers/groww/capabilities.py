"""What Groww places and changes, and how often its data is read.

Source: docs/brokers/groww.md, sections 4, 5 and 9; cadence from architecture 13. Orders on MCX are not offered. The
documents contradict themselves on whether the API may trade there, and whether its quantities are units or lots; a wrong
guess would be an order of another size. MCX positions and orders that the account made in other ways are read.
"""

from onebroker.brokers.broker import Cadence, Capabilities
from onebroker.brokers.codec.segments import CASH, EQUITY, offered
from onebroker.brokers.groww.values import ORDER_TYPE_TO_WIRE, VALIDITY_TO_WIRE

_SEGMENTS = {"nse": (*CASH, *EQUITY), "bse": (*CASH, *EQUITY)}

_ORDER_TYPES = frozenset(str(each) for each in ORDER_TYPE_TO_WIRE)

CAPABILITIES = Capabilities(
    segments=offered(_SEGMENTS),
    order_types={"equity": _ORDER_TYPES, "currency": frozenset(), "commodity": frozenset()},
    products={"equity": frozenset({"CNC", "MIS", "NRML"}), "currency": frozenset(), "commodity": frozenset()},
    validities=frozenset(str(each) for each in VALIDITY_TO_WIRE),
    after_market=False,
    disclosed_quantity=False,
    modifiable=frozenset({"price", "trigger_price", "quantity", "order_type"}),
    asked_by_token=True,
)

CADENCE = Cadence(orders=2.0, trades=4.0, positions=4.0, funds=10.0, holdings=60.0)
PROFILE_SECONDS = 60.0
