"""Kotak Neo as one value, `KOTAKNEO`: what it places and changes, and how often its data is read.

Source: docs/brokers/kotakneo.md, section 5 (official SDK, live third-party client); cadence from architecture 13.
"""

from onebroker.brokers.broker import AccountField, Broker, Cadence, Capabilities, LoginKind
from onebroker.brokers.codec.late_instruments import LateInstruments
from onebroker.brokers.codec.segments import CASH, COMMODITY, EQUITY, offered
from onebroker.brokers.kotakneo import (
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
from onebroker.brokers.kotakneo.values import VALIDITIES
from onebroker.brokers.requests import CallKind

_SEGMENTS = {"nse": (*CASH, *EQUITY), "bse": (*CASH, *EQUITY), "mcx": COMMODITY}
"""The official client of 2026 takes no currency orders, though the documents still name the segment."""

_ORDER_TYPES = frozenset({"MARKET", "LIMIT", "SL"})
"""SL-M from the API is refused live ("Market order with Algo Id not allowed")."""

KOTAKNEO = Broker(
    code="kotakneo",
    name="Kotak Neo",
    login_kind=LoginKind.UNATTENDED,
    credential_keys=frozenset({"access_token", "mobile_number", "ucc", "mpin", "totp_secret"}),
    endpoints=wire.ENDPOINTS,
    capabilities=Capabilities(
        segments=offered(_SEGMENTS),
        order_types={"equity": _ORDER_TYPES, "currency": frozenset(), "commodity": _ORDER_TYPES},
        products={
            "equity": frozenset({"CNC", "MIS", "NRML"}),
            "currency": frozenset(),
            "commodity": frozenset({"MIS", "NRML"}),
        },
        validities=VALIDITIES.sent,  # commodities: only DAY, which orders.py checks
        after_market=True,
        disclosed_quantity=True,
        modifiable=frozenset({"price", "trigger_price", "quantity", "order_type", "validity", "disclosed_quantity"}),
        asked_by_token=False,
    ),
    order_windows=wire.ORDER_WINDOWS,
    call_windows=wire.CALL_WINDOWS,
    kind_windows={CallKind.HISTORY: wire.HISTORY_WINDOWS},
    cadence=Cadence(orders=2.0, trades=4.0, positions=4.0, funds=10.0, holdings=60.0),
    profile_seconds=None,  # read at each login, whose answer carries it
    login=login,
    orders=orders,
    books=books,
    portfolio=portfolio,
    # Whether actId is the UCC of the login is not documented.
    account_field=AccountField(name="actId", own=lambda access: None),
    instruments=LateInstruments("kotakneo"),
    quotes=quotes,
    quotes_in_service=True,
    quotes_first_on=frozenset({"ncdex"}),
    candles=candles,
    candles_with_interest=False,
    books_tell_expiry=False,
    feed=feed,
    order_feed=order_feed,
    feed_carries_orders=False,
    address_rule="takes orders only in a session that was logged in from a registered address, of which two can be registered",
    margins=margins,
)
