"""What Kotak Neo places and changes, and how often its data is read.

Source: docs/brokers/kotakneo.md, section 5 (official SDK, live third-party client); cadence from architecture 13.
"""

from onebroker.brokers.broker import Cadence, Capabilities
from onebroker.brokers.codec.segments import CASH, COMMODITY, EQUITY, offered
from onebroker.brokers.kotakneo.values import VALIDITY_TO_WIRE
from onebroker.config.vocabulary import OrderType

_SEGMENTS = {"nse": (*CASH, *EQUITY), "bse": (*CASH, *EQUITY), "mcx": COMMODITY}
"""The official client of 2026 takes no currency orders, though the documents still name the segment."""

_ORDER_TYPES = frozenset(str(each) for each in (OrderType.MARKET, OrderType.LIMIT, OrderType.SL))
"""SL-M from the API is refused live ("Market order with Algo Id not allowed")."""

CAPABILITIES = Capabilities(
    segments=offered(_SEGMENTS),
    order_types={"equity": _ORDER_TYPES, "currency": frozenset(), "commodity": _ORDER_TYPES},
    products={
        "equity": frozenset({"CNC", "MIS", "NRML"}),
        "currency": frozenset(),
        "commodity": frozenset({"MIS", "NRML"}),
    },
    validities=frozenset(str(each) for each in VALIDITY_TO_WIRE),  # commodities: only DAY, which orders.py checks
    after_market=True,
    disclosed_quantity=True,
    modifiable=frozenset({"price", "trigger_price", "quantity", "order_type", "validity", "disclosed_quantity"}),
    asked_by_token=False,
)

CADENCE = Cadence(orders=2.0, trades=4.0, positions=4.0, funds=10.0, holdings=60.0)
PROFILE_SECONDS = None
"""Read at each login, whose answer carries it."""
