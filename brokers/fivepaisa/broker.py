"""5paisa as one value, `FIVEPAISA`: what it places and changes, and how often its data is read.

Source: docs/brokers/fivepaisa.md, section 4; cadence from architecture 13. The pages write an order "at market" as price
0. But since the rules for orders of algos, the broker's risk check refuses every such order of an API key ("Market order
with Algo Id not allowed"), stops included: observed live in August 2026, later than the pages. So MARKET and SL-M are not
offered. If they were, each would be sent, refused, and use up one of 50 messages a minute.
"""

from onebroker.brokers.broker import AccountField, AlgoField, Broker, Cadence, Capabilities, LoginKind, logged_in_user
from onebroker.brokers.codec.late_instruments import LateInstruments
from onebroker.brokers.codec.segments import CASH, COMMODITY, CURRENCY, EQUITY, offered
from onebroker.brokers.fivepaisa import (
    books,
    by_token,
    candles,
    feed,
    login,
    margins,
    orders,
    portfolio,
    quotes,
    wire,
)
from onebroker.brokers.fivepaisa.values import ORDER_TYPES_SENT, VALIDITIES

_SEGMENTS = {"nse": (*CASH, *EQUITY, *CURRENCY), "bse": (*CASH, *EQUITY, *CURRENCY), "mcx": COMMODITY}
"""NCDEX and the commodities of NSE and BSE occur only in positions and candles."""

_ORDER_TYPES = frozenset(map(str, ORDER_TYPES_SENT))

FIVEPAISA = Broker(
    code="fivepaisa",
    name="5paisa",
    login_kind=LoginKind.UNATTENDED,
    credential_keys=frozenset(
        {
            "app_name", "app_source", "user_id", "password", "user_key", "encryption_key", "client_code", "pin",
            "totp_secret",
        }
    ),
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
        # A modify carries only prices and quantities.
        modifiable=frozenset({"price", "trigger_price", "quantity", "disclosed_quantity"}),
        asked_by_token=True,
    ),
    order_windows=wire.ORDER_WINDOWS,
    call_windows=wire.CALL_WINDOWS,
    cadence=Cadence(orders=3.0, trades=6.0, positions=6.0, funds=15.0, holdings=60.0),
    profile_seconds=60.0,
    login=login,
    orders=orders,
    books=books,
    by_token=by_token,
    portfolio=portfolio,
    account_field=AccountField(name="ClientCode", own=logged_in_user),
    event_account_field=AccountField(name="ClientCode", own=logged_in_user),
    instruments=LateInstruments("fivepaisa"),
    quotes=quotes,
    quotes_in_service=False,
    candles=candles,
    candles_with_interest=False,
    books_tell_expiry=False,
    feed=feed,
    order_feed=None,
    feed_carries_orders=True,
    algo_field=AlgoField(name=wire.ALGO_FIELD, pattern=r"[0-9]{1,18}", shape="a whole number of at most 18 digits"),
    margins=margins,
)  # fmt: skip
