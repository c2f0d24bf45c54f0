"""Fyers as one value, `FYERS`: what it places and changes, and how often its data is read.

Source: documentation "FYERS API v3", orders, not re-read by us; cadence from architecture 13.
"""

from onebroker.brokers.broker import AccountField, Broker, Cadence, Capabilities, LoginKind, logged_in_user
from onebroker.brokers.codec.late_instruments import LateInstruments
from onebroker.brokers.codec.segments import CASH, COMMODITY, CURRENCY, EQUITY, offered
from onebroker.brokers.fyers import (
    books,
    by_token,
    candles,
    feed,
    login,
    margins,
    order_feed,
    orders,
    portfolio,
    quotes,
    wire,
)
from onebroker.brokers.fyers.values import ORDER_TYPES, VALIDITIES

_SEGMENTS = {
    "nse": (*CASH, *EQUITY, *CURRENCY, "commodity_futures", "commodity_options"),
    "bse": (*CASH, *EQUITY),
    "mcx": COMMODITY,
}
"""BSE's currency contracts have a number but no instrument file. Mutual funds are a separate service."""

_ORDER_TYPES = ORDER_TYPES.sent

FYERS = Broker(
    code="fyers",
    name="Fyers",
    login_kind=LoginKind.ASSISTED,
    login_repeats_state=True,
    credential_keys=frozenset({"app_id", "secret", "redirect_url"}),
    optional_credential_keys=frozenset({"pin"}),
    endpoints=wire.ENDPOINTS,
    capabilities=Capabilities(
        segments=offered(_SEGMENTS),
        order_types={"equity": _ORDER_TYPES, "currency": _ORDER_TYPES, "commodity": _ORDER_TYPES},
        products={
            "equity": frozenset({"CNC", "MIS", "NRML"}),
            "currency": frozenset({"MIS", "NRML"}),
            "commodity": frozenset({"MIS", "NRML"}),
        },
        validities=VALIDITIES.sent,
        after_market=True,
        disclosed_quantity=True,
        modifiable=frozenset({"price", "trigger_price", "quantity", "order_type", "disclosed_quantity"}),
        asked_by_token=True,
    ),
    order_windows=wire.ORDER_WINDOWS,
    call_windows=wire.CALL_WINDOWS,
    cadence=Cadence(orders=2.0, trades=4.0, positions=4.0, funds=15.0, holdings=60.0),
    profile_seconds=60.0,
    login=login,
    orders=orders,
    books=books,
    by_token=by_token,
    portfolio=portfolio,
    account_field=AccountField(name="clientId", own=logged_in_user),
    instruments=LateInstruments("fyers"),
    quotes=quotes,
    quotes_in_service=True,
    candles=candles,
    feed=feed,
    order_feed=order_feed,
    feed_carries_orders=False,
    margins=margins,
    event_account_field=AccountField(name="client_id", own=logged_in_user),
)
