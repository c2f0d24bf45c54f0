"""Angel One as one value: `ANGELONE`."""

from onebroker.brokers.angelone import (
    books,
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
from onebroker.brokers.angelone.capabilities import CADENCE, CAPABILITIES, PROFILE_SECONDS
from onebroker.brokers.broker import AccountField, Broker, LoginKind, logged_in_user

ANGELONE = Broker(
    code="angelone",
    name="Angel One",
    login_kind=LoginKind.UNATTENDED,
    credential_keys=frozenset({"api_key", "client_code", "pin", "totp_secret"}),
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
    portfolio=portfolio,
    instruments=instruments,
    quotes=quotes,
    quotes_in_service=True,
    quotes_first_on=frozenset({"ncdex"}),
    candles=candles,
    candles_with_interest=False,
    feed=feed,
    order_feed=order_feed,
    feed_carries_orders=False,
    margins=margins,
    event_account_field=AccountField(name="user-id", own=logged_in_user),
    address_rule="takes orders only from an address registered for the key",
)
