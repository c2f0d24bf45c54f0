"""Kotak Neo as one value: `KOTAKNEO`."""

from onebroker.brokers.broker import AccountField, Broker, LoginKind
from onebroker.brokers.kotakneo import (
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
from onebroker.brokers.kotakneo.capabilities import CADENCE, CAPABILITIES, PROFILE_SECONDS
from onebroker.brokers.requests import CallKind

KOTAKNEO = Broker(
    code="kotakneo",
    name="Kotak Neo",
    login_kind=LoginKind.UNATTENDED,
    credential_keys=frozenset({"access_token", "mobile_number", "ucc", "mpin", "totp_secret"}),
    endpoints=wire.ENDPOINTS,
    capabilities=CAPABILITIES,
    order_windows=wire.ORDER_WINDOWS,
    call_windows=wire.CALL_WINDOWS,
    kind_windows={CallKind.HISTORY: wire.HISTORY_WINDOWS},
    cadence=CADENCE,
    profile_seconds=PROFILE_SECONDS,
    login=login,
    orders=orders,
    books=books,
    portfolio=portfolio,
    # Whether actId is the UCC of the login is not documented.
    account_field=AccountField(name="actId", own=lambda access: None),
    instruments=instruments,
    quotes=quotes,
    quotes_in_service=True,
    quotes_first_on=frozenset({"ncdex"}),
    candles=candles,
    candles_with_interest=False,
    feed=feed,
    order_feed=order_feed,
    feed_carries_orders=False,
    address_rule="takes orders only in a session that was logged in from a registered address, of which two can be registered",
    margins=margins,
)
