"""Dhan as one value: `DHAN`."""

from onebroker.brokers.broker import AccountField, Broker, LoginKind, logged_in_user
from onebroker.brokers.dhan import (
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
from onebroker.brokers.dhan.capabilities import CADENCE, CAPABILITIES, PROFILE_SECONDS

DHAN = Broker(
    code="dhan",
    name="Dhan",
    login_kind=LoginKind.UNATTENDED,
    credential_keys=frozenset({"client_id", "pin", "totp_secret"}),
    other_credential_keys=(frozenset({"client_id", login.PASTED}),),
    endpoints=wire.ENDPOINTS,
    capabilities=CAPABILITIES,
    order_windows=wire.ORDER_WINDOWS,
    call_windows=wire.CALL_WINDOWS,
    kind_windows=wire.KIND_WINDOWS,
    cadence=CADENCE,
    profile_seconds=PROFILE_SECONDS,
    login=login,
    orders=orders,
    books=books,
    by_token=by_token,
    portfolio=portfolio,
    account_field=AccountField(name="dhanClientId", own=logged_in_user),
    instruments=instruments,
    quotes=quotes,
    quotes_in_service=True,
    candles=candles,
    feed=feed,
    order_feed=order_feed,
    feed_carries_orders=False,
    margins=margins,
    event_account_field=AccountField(name="clientId", own=logged_in_user),
    address_rule="takes orders only from a registered address, and lets a registered one be changed once in seven days",
)
