"""Upstox as one value: `UPSTOX`."""

from onebroker.brokers.broker import AccountField, AlgoField, Broker, LoginKind, logged_in_user
from onebroker.brokers.upstox import (
    books,
    by_token,
    candles,
    feed,
    instruments,
    login,
    margins,
    order_feed,
    orders,
    portfolio,
    quotes,
    wire,
)
from onebroker.brokers.upstox.capabilities import CADENCE, CAPABILITIES, PROFILE_SECONDS

UPSTOX = Broker(
    code="upstox",
    name="Upstox",
    login_kind=LoginKind.ASSISTED,
    login_repeats_state=True,
    credential_keys=frozenset({"api_key", "api_secret", "redirect_url"}),
    endpoints=wire.ENDPOINTS,
    capabilities=CAPABILITIES,
    order_windows=wire.ORDER_WINDOWS,
    call_windows=wire.CALL_WINDOWS,
    cadence=CADENCE,
    profile_seconds=PROFILE_SECONDS,
    login=login,
    orders=orders,
    books=books,
    by_token=by_token,
    portfolio=portfolio,
    instruments=instruments,
    quotes=quotes,
    quotes_in_service=True,
    candles=candles,
    feed=feed,
    order_feed=order_feed,
    feed_carries_orders=False,
    margins=margins,
    event_account_field=AccountField(name="user_id", own=logged_in_user),
    algo_field=AlgoField(name=wire.ALGO_HEADER),
    address_rule="takes orders only from a registered address",
)
