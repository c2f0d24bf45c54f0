"""Groww as one value, `GROWW`: what it places and changes, and how often its data is read.

Source: docs/brokers/groww.md, sections 4, 5 and 9; cadence from architecture 13. Orders on MCX are not offered. The
documents contradict themselves on whether the API may trade there, and whether its quantities are units or lots; a wrong
guess would be an order of another size. MCX positions and orders that the account made in other ways are read.
"""

from onebroker.brokers.broker import Broker, Cadence, Capabilities, LoginKind
from onebroker.brokers.codec.late_instruments import LateInstruments
from onebroker.brokers.codec.segments import CASH, EQUITY, offered
from onebroker.brokers.groww import (
    books,
    by_token,
    candles,
    feed,
    login,
    margins,
    orders,
    portfolio,
    quotes,
    wire,
)
from onebroker.brokers.groww.values import ORDER_TYPES, VALIDITIES

_SEGMENTS = {"nse": (*CASH, *EQUITY), "bse": (*CASH, *EQUITY)}

GROWW = Broker(
    code="groww",
    name="Groww",
    login_kind=LoginKind.UNATTENDED,
    credential_keys=frozenset({"totp_key", "totp_secret"}),
    other_credential_keys=(frozenset({"api_key", "api_secret"}),),
    endpoints=wire.ENDPOINTS,
    capabilities=Capabilities(
        segments=offered(_SEGMENTS),
        order_types={"equity": ORDER_TYPES.sent, "currency": frozenset(), "commodity": frozenset()},
        products={"equity": frozenset({"CNC", "MIS", "NRML"}), "currency": frozenset(), "commodity": frozenset()},
        validities=VALIDITIES.sent,
        after_market=False,
        disclosed_quantity=False,
        modifiable=frozenset({"price", "trigger_price", "quantity", "order_type"}),
        asked_by_token=True,
    ),
    order_windows=wire.ORDER_WINDOWS,
    call_windows=wire.CALL_WINDOWS,
    kind_windows=wire.KIND_WINDOWS,
    cadence=Cadence(orders=2.0, trades=4.0, positions=4.0, funds=10.0, holdings=60.0),
    profile_seconds=60.0,
    login=login,
    orders=orders,
    books=books,
    by_token=by_token,
    portfolio=portfolio,
    instruments=LateInstruments("groww"),
    quotes=quotes,
    quotes_in_service=False,
    candles=candles,
    books_tell_expiry=False,
    feed=feed,
    order_feed=None,
    feed_carries_orders=True,
    address_rule="takes orders only from a registered address",
    margins=margins,
)
