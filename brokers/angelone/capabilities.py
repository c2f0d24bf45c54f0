"""What SmartAPI places and changes, and how often its data is read.

Source: SmartAPI documentation, orders, not re-read by us; cadence from architecture 13. Candles have no open interest.
"""

from onebroker.brokers.angelone.values import ORDER_TYPE_TO_WIRE, VALIDITY_TO_WIRE
from onebroker.brokers.broker import Cadence, Capabilities
from onebroker.brokers.codec.segments import CASH, COMMODITY, CURRENCY, EQUITY, offered

_SEGMENTS = {"nse": (*CASH, *EQUITY, *CURRENCY), "bse": (*CASH, *EQUITY), "ncdex": COMMODITY}
"""MCX and NSE commodities (NCO) are left out because the unit of their quantities is not known (`values.UNSETTLED`); BSE currency is
not in its file."""

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
    # modifyOrder takes no disclosed quantity.
    modifiable=frozenset({"price", "trigger_price", "quantity", "order_type", "validity"}),
    asked_by_token=False,
)

CADENCE = Cadence(orders=2.0, trades=3.0, positions=3.0, funds=5.0, holdings=60.0)
PROFILE_SECONDS = 60.0
