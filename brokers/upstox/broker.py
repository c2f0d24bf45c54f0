"""Upstox as one value, `UPSTOX`: what it places and changes, and how often its data is read.

Source: documentation pages "Place Order V3" and "Modify Order V3", not re-read by us; cadence from architecture 13.
"""

from onebroker.brokers.broker import AccountField, AlgoField, Broker, Cadence, Capabilities, LoginKind, logged_in_user
from onebroker.brokers.codec.late_instruments import LateInstruments
from onebroker.brokers.codec.segments import CASH, COMMODITY, CURRENCY, EQUITY, offered
from onebroker.brokers.upstox import (
    books,
    by_token,
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
from onebroker.brokers.upstox.values import ORDER_TYPES, VALIDITIES

_SEGMENTS = {
    "nse": (*CASH, *EQUITY, *CURRENCY, "commodity_futures", "commodity_options"),
    "bse": (*CASH, *EQUITY, *CURRENCY),
    "mcx": COMMODITY,
}
"""Mutual funds are a separate service of Upstox'."""

_ORDER_TYPES = ORDER_TYPES.sent

UPSTOX = Broker(
    code="upstox",
    name="Upstox",
    login_kind=LoginKind.ASSISTED,
    login_repeats_state=True,
    credential_keys=frozenset({"api_key", "api_secret", "redirect_url"}),
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
        asked_by_token=True,
    ),
    order_windows=wire.ORDER_WINDOWS,
    call_windows=wire.CALL_WINDOWS,
    # Slower than 5paisa's. With two calls for the positions, the same 45 calls a minute would use more than half of the
    # 2,000 in half an hour. Reads that events trigger would then wait (docs/decisions/0021-upstox-is-read-less-often.md).
    cadence=Cadence(orders=4.0, trades=12.0, positions=12.0, funds=30.0, holdings=60.0),
    profile_seconds=60.0,
    login=login,
    orders=orders,
    books=books,
    by_token=by_token,
    portfolio=portfolio,
    instruments=LateInstruments("upstox"),
    quotes=quotes,
    quotes_in_service=True,
    candles=candles,
    books_tell_expiry=False,
    feed=feed,
    order_feed=order_feed,
    feed_carries_orders=False,
    margins=margins,
    event_account_field=AccountField(name="user_id", own=logged_in_user),
    algo_field=AlgoField(name=wire.ALGO_HEADER),
    address_rule="takes orders only from a registered address",
)
