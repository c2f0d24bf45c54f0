"""Reads what a client sends: JSON bodies become orders and changes. Numbers may be texts; an absent number may be an empty text."""

import re
from collections.abc import Mapping
from decimal import Decimal

from onebroker.brokers.simulator.dialects.dhan.envelope import bad_input
from onebroker.brokers.simulator.dialects.dhan.naming import Name
from onebroker.brokers.simulator.dialects.dhan.rows import ORDER_TYPES, PRODUCTS
from onebroker.brokers.simulator.dialects.form import SIDES, VALIDITIES, Form
from onebroker.brokers.simulator.world.model import NewOrder
from onebroker.config.vocabulary import OrderType, Validity

_AFTER_MARKET_TIMES = ("PRE_OPEN", "OPEN", "OPEN_30", "OPEN_60")
_LEGS = ("", "ENTRY_LEG", "TARGET_LEG", "STOP_LOSS_LEG")
_CORRELATION = re.compile(r"[A-Za-z0-9 _-]{0,30}")
_PRODUCTS = {word: product for product, word in PRODUCTS.items()}
_ORDER_TYPES = {word: kind for kind, word in ORDER_TYPES.items()}
_LEAST_DISCLOSED = Decimal("0.3")
_MOST = Decimal(10) ** 12


def new_order(body: Mapping[str, object], name: Name) -> NewOrder:
    """Return the order that a place body asks for, in units. Raise `Refused`."""
    form = _form(body)
    order_type = form.one_of("orderType", _ORDER_TYPES)
    after_market = body.get("afterMarketOrder") is True
    if after_market and body.get("amoTime") not in _AFTER_MARKET_TIMES:
        raise bad_input("amoTime is invalid")
    quantity, disclosed = _quantities(form)
    return NewOrder(
        instrument_id=name.contract.instrument_id,
        side=form.one_of("transactionType", SIDES),
        product=form.one_of("productType", _PRODUCTS),
        order_type=order_type,
        validity=form.one_of("validity", VALIDITIES),
        quantity=quantity * name.units,
        disclosed_quantity=disclosed * name.units,
        price=form.decimal_or_zero("price") if order_type.takes_price else None,
        trigger_price=form.decimal_or_zero("triggerPrice") if order_type.takes_trigger else None,
        after_market=after_market,
        tag=_correlation(body),
    )


def margin_order(body: Mapping[str, object], name: Name) -> NewOrder:
    """Return the order that a margin body asks about, in units. The body has no order type, and its price may be off the tick grid. Raise
    `Refused`."""
    form = _form(body)
    quantity, _ = _quantities(form)
    return NewOrder(
        instrument_id=name.contract.instrument_id,
        side=form.one_of("transactionType", SIDES),
        product=form.one_of("productType", _PRODUCTS),
        order_type=OrderType.MARKET,
        validity=Validity.DAY,
        quantity=quantity * name.units,
        price=abs(form.decimal_or_zero("price")) or None,
        trigger_price=abs(form.decimal_or_zero("triggerPrice")) or None,
    )


def changes(body: Mapping[str, object], name: Name) -> dict[str, object]:
    """Return the order's fields as a modify body wants them, quantities in units. Raise `Refused`."""
    if (body.get("legName") or "") not in _LEGS:
        raise bad_input("legName is invalid")
    form = _form(body)
    order_type = form.one_of("orderType", _ORDER_TYPES)
    quantity, disclosed = _quantities(form)
    wanted: dict[str, object] = {
        "order_type": order_type,
        "validity": form.one_of("validity", VALIDITIES),
        "quantity": quantity * name.units,
        "disclosed_quantity": disclosed * name.units,
    }
    if order_type.takes_price:
        wanted["price"] = form.decimal_or_zero("price")
    if order_type.takes_trigger:
        wanted["trigger_price"] = form.decimal_or_zero("triggerPrice")
    return wanted


def _quantities(form: Form) -> tuple[int, int]:
    quantity, disclosed = form.whole_or_zero("quantity"), form.whole_or_zero("disclosedQuantity")
    if quantity <= 0:
        raise bad_input("quantity is required and must be greater than zero")
    if disclosed and disclosed < quantity * _LEAST_DISCLOSED:
        raise bad_input("disclosedQuantity must be at least 30% of quantity")
    return quantity, disclosed


def _form(body: Mapping[str, object]) -> Form:
    """Return the reader of a body. Numbers may be negative here; the exchange refuses them."""
    return Form(body.get, lambda field, _: bad_input(f"{field} is invalid"), least=-_MOST, most=_MOST)


def _correlation(body: Mapping[str, object]) -> str | None:
    value = body.get("correlationId")
    if value in (None, ""):
        return None
    if not isinstance(value, str) or not _CORRELATION.fullmatch(value):
        raise bad_input("correlationId is invalid")
    return value
