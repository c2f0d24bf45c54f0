"""What Kite places and changes, and how often it is read.

Source: kite.trade/docs/connect/v3/orders, read 2026-11-20; cadence from architecture 13.
"""

from onebroker.brokers.broker import Cadence, Capabilities
from onebroker.brokers.zerodha.values import ORDER_TYPE_TO_WIRE, VALIDITY_TO_WIRE
from onebroker.config.instruments import prefixed_segment

_CASH = ("equities", "exchange_traded_funds", "investment_trusts", "fixed_income")
_EQUITY = ("equity_futures", "equity_index_futures", "equity_options", "equity_index_options")
_CURRENCY = ("currency_futures", "currency_options", "fixed_income_futures", "fixed_income_options")
_COMMODITY = ("commodity_futures", "commodity_options", "commodity_index_futures", "commodity_index_options")

_SEGMENTS = {"nse": (*_CASH, *_EQUITY, *_CURRENCY), "bse": (*_CASH, *_EQUITY, *_CURRENCY), "mcx": _COMMODITY}
"""Mutual funds are a separate service of Kite's; NSE commodities are left out because their quantity unit is not known."""

_ORDER_TYPES = frozenset(str(each) for each in ORDER_TYPE_TO_WIRE)

CAPABILITIES = Capabilities(
    segments=frozenset(prefixed_segment(exchange, bare) for exchange, bares in _SEGMENTS.items() for bare in bares),
    order_types={"equity": _ORDER_TYPES, "currency": _ORDER_TYPES, "commodity": _ORDER_TYPES},
    products={
        "equity": frozenset({"CNC", "MIS", "NRML"}),
        "currency": frozenset({"MIS", "NRML"}),
        "commodity": frozenset({"MIS", "NRML"}),
    },
    validities=frozenset(str(each) for each in VALIDITY_TO_WIRE),
    after_market=True,
    disclosed_quantity=True,
    modifiable=frozenset({"price", "trigger_price", "quantity", "order_type", "validity", "disclosed_quantity"}),
    asked_by_token=False,
)

CADENCE = Cadence(orders=1.0, trades=2.0, positions=2.0, funds=5.0, holdings=60.0)
PROFILE_SECONDS = 60.0
