"""Shoonya as one value, `SHOONYA`: what it places and changes, and how often its data is read.

Sources: docs/brokers/shoonya.md, sections 4 and 5; cadence from architecture 13.
"""

from onebroker.brokers.broker import AccountField, AlgoField, Broker, Cadence, Capabilities, LoginKind
from onebroker.brokers.codec.late_instruments import LateInstruments
from onebroker.brokers.codec.segments import CASH, COMMODITY, CURRENCY, EQUITY, offered
from onebroker.brokers.shoonya import books, candles, feed, login, margins, orders, portfolio, quotes, wire
from onebroker.brokers.shoonya.values import ORDER_TYPES, VALIDITIES

_SEGMENTS = {
    "nse": (*CASH, *EQUITY, *CURRENCY),
    "bse": (*CASH, *EQUITY, *CURRENCY),
    "mcx": COMMODITY,
    "ncdex": COMMODITY,
}

_ORDER_TYPES = ORDER_TYPES.sent

SHOONYA = Broker(
    code="shoonya",
    name="Shoonya by Finvasia",
    login_kind=LoginKind.ASSISTED,
    credential_keys=frozenset({"client_id", "secret_code", "user_id"}),
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
        modifiable=frozenset({"price", "trigger_price", "quantity", "order_type", "validity", "disclosed_quantity"}),
        asked_by_token=False,
    ),
    order_windows=wire.ORDER_WINDOWS,
    call_windows=wire.CALL_WINDOWS,
    cadence=Cadence(orders=2.0, trades=4.0, positions=4.0, funds=10.0, holdings=60.0),
    profile_seconds=60.0,
    login=login,
    orders=orders,
    books=books,
    portfolio=portfolio,
    account_field=AccountField(name="actid", own=wire.account_id),
    event_account_field=AccountField(name="actid", own=wire.account_id),
    instruments=LateInstruments("shoonya"),
    quotes=quotes,
    quotes_in_service=False,
    candles=candles,
    books_tell_expiry=False,
    feed=feed,
    order_feed=None,
    feed_carries_orders=True,
    algo_field=AlgoField(name=wire.ALGO_FIELD),
    address_rule="takes orders only from the address registered with the API key, and no login from another one either",
    margins=margins,
)
