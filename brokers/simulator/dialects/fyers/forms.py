"""Reads what a client sends: JSON bodies become orders and changes. Refusals are in Fyers' words."""

from collections.abc import Mapping
from decimal import Decimal

from onebroker.brokers.simulator.dialects.form import VALIDITIES, Form
from onebroker.brokers.simulator.dialects.fyers.envelope import BAD_INPUT, refused
from onebroker.brokers.simulator.dialects.fyers.naming import Name
from onebroker.brokers.simulator.dialects.fyers.rows import PRODUCTS, SIDES, TYPES
from onebroker.brokers.simulator.dialects.rest import Refused
from onebroker.brokers.simulator.world.model import NewOrder

_TYPES = {number: kind for kind, number in TYPES.items()}
_SIDES = {number: side for side, number in SIDES.items()}
_PRODUCTS = {word: product for product, word in PRODUCTS.items()}
"""MTF, cover and bracket orders are not offered here."""
_TAG_LENGTH = 30
_MOST = Decimal(2**53 - 1)


def new_order(body: Mapping[str, object], name: Name) -> NewOrder:
    """Return the order that a place body asks for, in units. Raise `Refused`."""
    form = _form(body)
    order_type = form.one_of("type", _TYPES)
    product = form.one_of("productType", _PRODUCTS)
    tag = body.get("orderTag") or None
    if tag is not None and not (isinstance(tag, str) and tag.isalnum() and len(tag) <= _TAG_LENGTH):
        raise refused(BAD_INPUT, "orderTag should be alphanumeric and of at most 30 characters")
    return NewOrder(
        instrument_id=name.contract.instrument_id,
        side=form.one_of("side", _SIDES),
        product=product,
        order_type=order_type,
        validity=form.one_of("validity", VALIDITIES),
        quantity=form.count_or_zero("qty") * name.units,
        disclosed_quantity=form.count_or_zero("disclosedQty") * name.units,
        price=form.number_or_zero("limitPrice") if order_type.takes_price else None,
        trigger_price=form.number_or_zero("stopPrice") if order_type.takes_trigger else None,
        after_market=body.get("offlineOrder") is True,
        tag=tag,
    )


def margin_bodies(body: Mapping[str, object]) -> list[dict[str, object]]:
    """Return the orders of a margin body. Raise `Refused`."""
    asked = body.get("data")
    if not isinstance(asked, list) or not asked or not all(isinstance(order, dict) for order in asked):
        raise refused(BAD_INPUT, "data is invalid")
    return asked


def margin_order(body: Mapping[str, object], name: Name) -> NewOrder:
    """Return one order of a margin body, in units. It is a place body without validity and tag. Raise `Refused`."""
    return new_order({**body, "validity": "DAY", "disclosedQty": 0, "offlineOrder": False, "orderTag": None}, name)


def changes(body: Mapping[str, object], name: Name) -> dict[str, object]:
    """Return the new values of a modify body, quantities in units. Fields that are left out keep their values. Raise `Refused`."""
    form = _form(body)
    wanted: dict[str, object] = {}
    if body.get("type") is not None:
        wanted["order_type"] = form.one_of("type", _TYPES)
    if body.get("qty"):
        wanted["quantity"] = form.count("qty") * name.units
    if body.get("disclosedQty"):
        wanted["disclosed_quantity"] = form.count("disclosedQty") * name.units
    for field, ours in (("limitPrice", "price"), ("stopPrice", "trigger_price")):
        if body.get(field):
            wanted[ours] = form.number(field)
    return wanted


def _form(body: Mapping[str, object]) -> Form:
    return Form(body.get, _refuse, most=_MOST)


def _refuse(field: str, sent: object) -> Refused:
    return refused(BAD_INPUT, f"{field} is required" if sent in (None, "") else f"{field} is invalid")
