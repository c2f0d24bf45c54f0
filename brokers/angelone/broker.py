"""Angel One as one value, `ANGELONE`: what it places and changes, and how often its data is read.

Source: SmartAPI documentation, orders, not re-read by us; cadence from architecture 13.
"""

from onebroker.brokers.angelone import (
    books,
    candles,
    feed,
    login,
    margins,
    order_feed,
    orders,
    portfolio,
    quotes,
    wire,
)
from onebroker.brokers.angelone.values import ORDER_TYPES, VALIDITIES
from onebroker.brokers.broker import AccountField, Broker, Cadence, Capabilities, LoginKind, logged_in_user
from onebroker.brokers.codec.late_instruments import LateInstruments
from onebroker.brokers.codec.segments import CASH, COMMODITY, CURRENCY, EQUITY, offered

_SEGMENTS = {"nse": (*CASH, *EQUITY, *CURRENCY), "bse": (*CASH, *EQUITY), "ncdex": COMMODITY}
"""MCX and NSE commodities (NCO) are left out because the unit of their quantities is not known (`values.UNSETTLED`); BSE currency is
not in its file."""

_ORDER_TYPES = ORDER_TYPES.sent

ANGELONE = Broker(
    code="angelone",
    name="Angel One",
    login_kind=LoginKind.UNATTENDED,
    credential_keys=frozenset({"api_key", "client_code", "pin", "totp_secret"}),
    endpoints=wire.ENDPOINTS,
    capabilities=Capabilities(
        segments=offered(_SEGMENTS),
        order_types={"equity": _ORDER_TYPES, "currency": _ORDER_TYPES, "commodity": _ORDER_TYPES},
        products={
            "equity": frozenset({"CNC", "MIS", "NRML"}),
            "currency": frozenset({"MIS", "NRML"}),
            "commodity": frozenset({"MIS", "NRML"}),
        },
        validities=VALIDITIES.sent,
        after_market=True,
        disclosed_quantity=True,
        # modifyOrder takes no disclosed quantity.
        modifiable=frozenset({"price", "trigger_price", "quantity", "order_type", "validity"}),
        asked_by_token=False,
    ),
    order_windows=wire.ORDER_WINDOWS,
    call_windows=wire.CALL_WINDOWS,
    kind_windows=wire.KIND_WINDOWS,
    cadence=Cadence(orders=2.0, trades=3.0, positions=3.0, funds=5.0, holdings=60.0),
    profile_seconds=60.0,
    login=login,
    orders=orders,
    books=books,
    portfolio=portfolio,
    instruments=LateInstruments("angelone"),
    quotes=quotes,
    quotes_in_service=True,
    quotes_first_on=frozenset({"ncdex"}),
    candles=candles,
    candles_with_interest=False,
    books_tell_expiry=False,
    feed=feed,
    order_feed=order_feed,
    feed_carries_orders=False,
    margins=margins,
    event_account_field=AccountField(name="user-id", own=logged_in_user),
    address_rule="takes orders only from an address registered for the key",
)
