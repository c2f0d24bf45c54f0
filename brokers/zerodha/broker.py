"""Zerodha as one value: `ZERODHA`."""

from onebroker.brokers.broker import AccountField, AlgoField, Broker, LoginKind, logged_in_user
from onebroker.brokers.zerodha import books, candles, feed, instruments, login, margins, orders, portfolio, quotes, wire
from onebroker.brokers.zerodha.capabilities import CADENCE, CAPABILITIES, PROFILE_SECONDS

ZERODHA = Broker(
    code="zerodha",
    name="Zerodha",
    login_kind=LoginKind.ASSISTED,
    login_repeats_state=True,
    credential_keys=frozenset({"api_key", "api_secret"}),
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
    candles=candles,
    feed=feed,
    order_feed=None,
    feed_carries_orders=True,
    margins=margins,
    algo_field=AlgoField(name=wire.ALGO_FIELD),
    address_rule="takes orders only from an address registered for the app",
    event_account_field=AccountField(name="user_id", own=logged_in_user),
)
