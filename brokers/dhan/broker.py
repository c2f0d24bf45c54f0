"""Dhan as one value, `DHAN`: what it places and changes, and how often its data is read.

Source: DhanHQ v2 documentation, "Orders", not re-read by us; cadence from architecture 13.
"""

from onebroker.brokers.broker import AccountField, Broker, Cadence, Capabilities, LoginKind, logged_in_user
from onebroker.brokers.codec.late_instruments import LateInstruments
from onebroker.brokers.codec.segments import CASH, COMMODITY, CURRENCY, EQUITY, offered
from onebroker.brokers.dhan import (
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
from onebroker.brokers.dhan.values import ORDER_TYPES, VALIDITIES

_SEGMENTS = {"nse": (*CASH, *EQUITY, *CURRENCY), "bse": (*CASH, *EQUITY, *CURRENCY), "mcx": COMMODITY}

_ORDER_TYPES = ORDER_TYPES.sent

DHAN = Broker(
    code="dhan",
    name="Dhan",
    login_kind=LoginKind.UNATTENDED,
    credential_keys=frozenset({"client_id", "pin", "totp_secret"}),
    other_credential_keys=(frozenset({"client_id", login.PASTED}),),
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
        modifiable=frozenset({"price", "trigger_price", "quantity", "order_type", "validity", "disclosed_quantity"}),
        asked_by_token=True,
        # SL-M is offered only for shares: in derivatives Dhan refuses it under the exchanges' market price protection
        # (seen by a public project).
        refused_in_derivatives=frozenset({"SL-M"}),
    ),
    order_windows=wire.ORDER_WINDOWS,
    call_windows=wire.CALL_WINDOWS,
    kind_windows=wire.KIND_WINDOWS,
    cadence=Cadence(orders=1.0, trades=2.0, positions=2.0, funds=5.0, holdings=60.0),
    profile_seconds=60.0,
    login=login,
    orders=orders,
    books=books,
    by_token=by_token,
    portfolio=portfolio,
    account_field=AccountField(name="dhanClientId", own=logged_in_user),
    instruments=LateInstruments("dhan"),
    quotes=quotes,
    quotes_in_service=True,
    candles=candles,
    feed=feed,
    order_feed=order_feed,
    feed_carries_orders=False,
    margins=margins,
    event_account_field=AccountField(name="clientId", own=logged_in_user),
    address_rule="takes orders only from a registered address, and lets a registered one be changed once in seven days",
)
