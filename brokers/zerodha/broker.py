"""Zerodha as one value, `ZERODHA`: what it places and changes, and how often its data is read.

Source: Kite Connect 3 documentation, orders, not re-read by us; cadence from architecture 13.
"""

from onebroker.brokers.broker import AccountField, AlgoField, Broker, Cadence, Capabilities, LoginKind, logged_in_user
from onebroker.brokers.codec.late_instruments import LateInstruments
from onebroker.brokers.codec.segments import CASH, COMMODITY, CURRENCY, EQUITY, offered
from onebroker.brokers.zerodha import books, candles, feed, login, margins, orders, portfolio, quotes, wire
from onebroker.brokers.zerodha.values import ORDER_TYPES, VALIDITIES

_SEGMENTS = {"nse": (*CASH, *EQUITY, *CURRENCY), "bse": (*CASH, *EQUITY, *CURRENCY), "mcx": COMMODITY}
"""Mutual funds are a separate service of Kite; NSE commodities are left out because the unit of their quantities is not known."""

_ORDER_TYPES = ORDER_TYPES.sent

ZERODHA = Broker(
    code="zerodha",
    name="Zerodha",
    login_kind=LoginKind.ASSISTED,
    login_repeats_state=True,
    credential_keys=frozenset({"api_key", "api_secret"}),
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
    kind_windows=wire.KIND_WINDOWS,
    cadence=Cadence(orders=1.0, trades=2.0, positions=2.0, funds=5.0, holdings=60.0),
    profile_seconds=60.0,
    login=login,
    orders=orders,
    books=books,
    portfolio=portfolio,
    instruments=LateInstruments("zerodha"),
    quotes=quotes,
    quotes_in_service=True,
    candles=candles,
    feed=feed,
    order_feed=None,
    feed_carries_orders=True,
    margins=margins,
    algo_field=AlgoField(name=wire.ALGO_FIELD),
    address_rule="takes orders only from an address registered for the app",
    event_account_field=AccountField(name="user_id", own=logged_in_user),
)
