"""ICICI Direct as one value, `ICICIDIRECT`: what it places and changes, and how often its data is read.

Source: docs/brokers/icicidirect.md, sections 1, 4 and 9: the SDK's notes name NSE, BSE, NFO and BFO, the documentation is
sure of NSE alone; currency is refused and commodities are not offered. Cadence from architecture 13.
"""

import math

from onebroker.brokers.broker import Broker, Cadence, Capabilities, LoginKind
from onebroker.brokers.codec.late_instruments import LateInstruments
from onebroker.brokers.codec.segments import CASH, EQUITY, offered
from onebroker.brokers.icicidirect import (
    books,
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
from onebroker.brokers.icicidirect.values import ORDER_TYPES, VALIDITIES

_SEGMENTS = {"nse": (*CASH, *EQUITY), "bse": (*CASH, *EQUITY)}

ICICIDIRECT = Broker(
    code="icicidirect",
    name="ICICI Direct",
    login_kind=LoginKind.ASSISTED,
    credential_keys=frozenset({"app_key", "secret_key"}),
    endpoints=wire.ENDPOINTS,
    capabilities=Capabilities(
        segments=offered(_SEGMENTS),
        order_types={"equity": ORDER_TYPES.sent, "currency": frozenset(), "commodity": frozenset()},
        products={"equity": frozenset({"CNC", "NRML"}), "currency": frozenset(), "commodity": frozenset()},
        validities=VALIDITIES.sent,
        # No field marks an after-market order; an order sent after hours is queued (unchecked), one sent during hours would
        # work at once.
        after_market=False,
        disclosed_quantity=True,
        modifiable=frozenset({"price", "trigger_price", "quantity", "order_type", "validity", "disclosed_quantity"}),
        asked_by_token=False,
        order_time_seconds=60,
    ),
    order_windows=wire.ORDER_WINDOWS,
    call_windows=wire.CALL_WINDOWS,
    cadence=Cadence(
        orders=55.0,
        trades=math.inf,  # only after an event
        positions=55.0,
        funds=55.0,
        holdings=170.0,
        closed=600.0,
        closed_holdings=1800.0,
    ),
    profile_seconds=86_400.0,
    login=login,
    orders=orders,
    books=books,
    portfolio=portfolio,
    instruments=LateInstruments("icicidirect"),
    quotes=quotes,
    quotes_in_service=False,
    candles=candles,
    positions_tell_results=False,
    books_tell_triggers=False,
    feed=feed,
    order_feed=order_feed,
    feed_carries_orders=False,
    address_rule="takes orders only from the registered address, which can be changed once a week",
    margins=margins,
)
