"""5paisa as one value: `FIVEPAISA`."""

from onebroker.brokers.broker import AccountField, AlgoField, Broker, LoginKind, logged_in_user
from onebroker.brokers.fivepaisa import (
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
from onebroker.brokers.fivepaisa.capabilities import CADENCE, CAPABILITIES, PROFILE_SECONDS

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
    account_field=AccountField(name="ClientCode", own=logged_in_user),
    event_account_field=AccountField(name="ClientCode", own=logged_in_user),
    instruments=instruments,
    quotes=quotes,
    quotes_in_service=False,
    candles=candles,
    candles_with_interest=False,
    feed=feed,
    order_feed=None,
    feed_carries_orders=True,
    algo_field=AlgoField(name=wire.ALGO_FIELD, pattern=r"[0-9]{1,18}", shape="a whole number of at most 18 digits"),
    margins=margins,
)  # fmt: skip
