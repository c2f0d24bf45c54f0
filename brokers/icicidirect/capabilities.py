"""What ICICI Direct places and changes, and how often its data is read.

Source: docs/brokers/icicidirect.md, sections 1, 4 and 9: the SDK's notes name NSE, BSE, NFO and BFO, the documentation is
sure of NSE alone; currency is refused and commodities are not offered. Cadence from architecture 13.
"""

import math

from onebroker.brokers.broker import Cadence, Capabilities
from onebroker.brokers.codec.segments import CASH, EQUITY, offered
from onebroker.brokers.icicidirect.values import ORDER_TYPE_TO_WIRE, VALIDITY_TO_WIRE

CAPABILITIES = Capabilities(
    segments=offered({"nse": (*CASH, *EQUITY), "bse": (*CASH, *EQUITY)}),
    order_types={
        "equity": frozenset(str(each) for each in ORDER_TYPE_TO_WIRE),
        "currency": frozenset(),
        "commodity": frozenset(),
    },
    products={"equity": frozenset({"CNC", "NRML"}), "currency": frozenset(), "commodity": frozenset()},
    validities=frozenset(str(each) for each in VALIDITY_TO_WIRE),
    # No field marks an after-market order; an order sent after hours is queued (unchecked), one sent during hours would
    # work at once.
    after_market=False,
    disclosed_quantity=True,
    modifiable=frozenset({"price", "trigger_price", "quantity", "order_type", "validity", "disclosed_quantity"}),
    asked_by_token=False,
    order_time_seconds=60,
)

CADENCE = Cadence(
    orders=55.0,
    trades=math.inf,  # only after an event
    positions=55.0,
    funds=55.0,
    holdings=170.0,
    closed=600.0,
    closed_holdings=1800.0,
)
PROFILE_SECONDS = 86_400.0
