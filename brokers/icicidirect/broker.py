"""ICICI Direct as one value: `ICICIDIRECT`."""

from onebroker.brokers.broker import Broker, LoginKind
from onebroker.brokers.icicidirect import (
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
from onebroker.brokers.icicidirect.capabilities import CADENCE, CAPABILITIES, PROFILE_SECONDS

ICICIDIRECT = Broker(
    code="icicidirect",
    name="ICICI Direct",
    login_kind=LoginKind.ASSISTED,
    credential_keys=frozenset({"app_key", "secret_key"}),
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
    instruments=instruments,
    quotes=quotes,
    quotes_in_service=False,
    candles=candles,
    positions_tell_results=False,
    feed=feed,
    order_feed=order_feed,
    feed_carries_orders=False,
    address_rule="takes orders only from the registered address, which can be changed once a week",
    margins=margins,
)
