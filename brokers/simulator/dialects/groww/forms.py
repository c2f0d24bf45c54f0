"""Reads and checks orders in Groww's JSON."""

import re
from collections.abc import Mapping
from decimal import Decimal

from onebroker.brokers.simulator.dialects.form import SIDES, VALIDITIES, Form, by_value
from onebroker.brokers.simulator.dialects.groww.envelope import bad_request
from onebroker.brokers.simulator.dialects.groww.naming import Name
from onebroker.brokers.simulator.dialects.groww.rows import ORDER_TYPES
from onebroker.brokers.simulator.dialects.rest import Refused
from onebroker.brokers.simulator.world.model import NewOrder
from onebroker.config.vocabulary import OrderType, Product, Validity

_PRODUCTS = by_value(Product.CNC, Product.MIS, Product.NRML)
_ORDER_TYPES = {word: order_type for order_type, word in ORDER_TYPES.items()}
_REFERENCE = re.compile(r"(?=.{8,20}$)[A-Za-z0-9]+(-[A-Za-z0-9]+){0,2}")
_TOO_HIGH = Decimal(10) ** 12
"""₹. Prices lie below it."""


def new_order(body: Mapping[str, object], name: Name) -> NewOrder:
    """Return the order of a place body. Raise `Refused`."""
    form = _form(body)
    order_type = form.one_of("order_type", _ORDER_TYPES)
    return NewOrder(
        instrument_id=name.contract.instrument_id,
        side=form.one_of("transaction_type", SIDES),
        product=form.one_of("product", _PRODUCTS),
        order_type=order_type,
        validity=form.one_of("validity", VALIDITIES),
        quantity=_quantity(form),
        price=_price(form, "price") if order_type.takes_price else None,
        trigger_price=_price(form, "trigger_price") if order_type.takes_trigger else None,
        tag=_reference(body),
    )


def margin_order(body: Mapping[str, object], name: Name) -> NewOrder:
    """Return one order of a margin body. The body has no trigger, so a stop becomes a limit or market order. Raise `Refused`."""
    form = _form(body)
    takes_price = form.one_of("order_type", _ORDER_TYPES).takes_price
    return NewOrder(
        instrument_id=name.contract.instrument_id,
        side=form.one_of("transaction_type", SIDES),
        product=form.one_of("product", _PRODUCTS),
        order_type=OrderType.LIMIT if takes_price else OrderType.MARKET,
        validity=Validity.DAY,
        quantity=_quantity(form),
        price=_price(form, "price") if takes_price else None,
    )


def changes(body: Mapping[str, object]) -> dict[str, object]:
    """Return the new values of a modify body. A price that is null keeps its value. Raise `Refused`."""
    form = _form(body)
    order_type = form.one_of("order_type", _ORDER_TYPES)
    wanted: dict[str, object] = {"order_type": order_type, "quantity": _quantity(form)}
    if order_type.takes_price and body.get("price") is not None:
        wanted["price"] = _price(form, "price")
    if order_type.takes_trigger and body.get("trigger_price") is not None:
        wanted["trigger_price"] = _price(form, "trigger_price")
    return wanted


def text_of(body: Mapping[str, object], field: str) -> str:
    """Return a field that must be a text. Raise `Refused`."""
    value = body.get(field)
    if not isinstance(value, str) or not value:
        raise _invalid(field)
    return value


def _form(body: Mapping[str, object]) -> Form:
    return Form(body.get, lambda field, _: _invalid(field))


def _invalid(field: str) -> Refused:
    return bad_request(f"Invalid {field}.")


def _quantity(form: Form) -> int:
    quantity = form.count("quantity")
    if not quantity:
        raise _invalid("quantity")
    return quantity


def _price(form: Form, field: str) -> Decimal:
    price = form.number(field)
    if not 0 < price < _TOO_HIGH:
        raise _invalid(field)
    return price


def _reference(body: Mapping[str, object]) -> str:
    reference = text_of(body, "order_reference_id")
    if _REFERENCE.fullmatch(reference) is None:
        raise _invalid("order_reference_id")
    return reference
