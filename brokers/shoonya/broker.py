"""Shoonya as one value: `SHOONYA`."""

from onebroker.brokers.broker import AccountField, AlgoField, Broker, LoginKind
from onebroker.brokers.shoonya import books, candles, feed, instruments, login, margins, orders, portfolio, quotes, wire
from onebroker.brokers.shoonya.capabilities import CADENCE, CAPABILITIES, PROFILE_SECONDS

SHOONYA = Broker(
    code="shoonya",
    name="Shoonya by Finvasia",
    login_kind=LoginKind.ASSISTED,
    credential_keys=frozenset({"client_id", "secret_code", "user_id"}),
    endpoints=wire.ENDPOINTS,
    capabilities=CAPABILITIES,
    order_windows=wire.ORDER_WINDOWS,
    call_windows=wire.CALL_WINDOWS,
    cadence=CADENCE,
    profile_seconds=PROFILE_SECONDS,
    login=login,
    orders=orders,
    books=books,
    portfolio=portfolio,
    account_field=AccountField(name="actid", own=wire.account_id),
    event_account_field=AccountField(name="actid", own=wire.account_id),
    instruments=instruments,
    quotes=quotes,
    quotes_in_service=False,
    candles=candles,
    feed=feed,
    order_feed=None,
    feed_carries_orders=True,
    algo_field=AlgoField(name=wire.ALGO_FIELD),
    address_rule="takes orders only from the address registered with the API key, and no login from another one either",
    margins=margins,
)
