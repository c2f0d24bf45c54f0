"""Fyers as one value: `FYERS`."""

from onebroker.brokers.broker import AccountField, Broker, LoginKind, logged_in_user
from onebroker.brokers.fyers import (
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
from onebroker.brokers.fyers.capabilities import CADENCE, CAPABILITIES, PROFILE_SECONDS

FYERS = Broker(
    code="fyers",
    name="Fyers",
    login_kind=LoginKind.ASSISTED,
    login_repeats_state=True,
    credential_keys=frozenset({"app_id", "secret", "redirect_url"}),
    optional_credential_keys=frozenset({"pin"}),
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
    account_field=AccountField(name="clientId", own=logged_in_user),
    instruments=instruments,
    quotes=quotes,
    quotes_in_service=True,
    candles=candles,
    feed=feed,
    order_feed=order_feed,
    feed_carries_orders=False,
    margins=margins,
    event_account_field=AccountField(name="client_id", own=logged_in_user),
)
