"""What 5paisa places and changes, and how often its data is read.

Source: docs/brokers/fivepaisa.md, section 4; cadence from architecture 13. The pages write an order "at market" as price
0. But since the rules for orders of algos, the broker's risk check refuses every such order of an API key ("Market order
with Algo Id not allowed"), stops included: observed live in August 2026, later than the pages. So MARKET and SL-M are not
offered. If they were, each would be sent, refused, and use up one of 50 messages a minute.
"""

from onebroker.brokers.broker import Cadence, Capabilities
from onebroker.brokers.codec.segments import CASH, COMMODITY, CURRENCY, EQUITY, offered
from onebroker.brokers.fivepaisa.values import ORDER_TYPES_SENT, VALIDITY_TO_WIRE

_SEGMENTS = {"nse": (*CASH, *EQUITY, *CURRENCY), "bse": (*CASH, *EQUITY, *CURRENCY), "mcx": COMMODITY}
"""NCDEX and the commodities of NSE and BSE occur only in positions and candles."""

_ORDER_TYPES = frozenset(str(each) for each in ORDER_TYPES_SENT)

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
    # A modify carries only prices and quantities.
    modifiable=frozenset({"price", "trigger_price", "quantity", "disclosed_quantity"}),
    asked_by_token=True,
)

CADENCE = Cadence(orders=3.0, trades=6.0, positions=6.0, funds=15.0, holdings=60.0)
PROFILE_SECONDS = 60.0
