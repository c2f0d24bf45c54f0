"""Groww as one value: `GROWW`."""

from onebroker.brokers.broker import Broker, LoginKind
from onebroker.brokers.groww import (
    books,
    by_token,
    candles,
    feed,
    instruments,
    login,
    margins,
    orders,
    portfolio,
    quotes,
    wire,
)
from onebroker.brokers.groww.capabilities import CADENCE, CAPABILITIES, PROFILE_SECONDS

GROWW = Broker(
    code="groww",
    name="Groww",
    login_kind=LoginKind.UNATTENDED,
    credential_keys=frozenset({"totp_key", "totp_secret"}),
    other_credential_keys=(frozenset({"api_key", "api_secret"}),),
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
    instruments=instruments,
    quotes=quotes,
    quotes_in_service=False,
    candles=candles,
    feed=feed,
    order_feed=None,
    feed_carries_orders=True,
    address_rule="takes orders only from a registered address",
    margins=margins,
)
