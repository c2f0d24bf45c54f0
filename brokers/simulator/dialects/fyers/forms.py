"""Reads what a client sends: JSON bodies become orders and changes. Refusals are in Fyers' words."""

from collections.abc import Mapping
from decimal import Decimal
from typing import TypeVar

from onebroker.brokers.simulator.dialects.fyers.naming import Name
from onebroker.brokers.simulator.world.model import NewOrder
from onebroker.config.vocabulary import OrderType, Product, Side, Validity

_TYPES: Mapping[object, OrderType] = {1: OrderType.LIMIT, 2: OrderType.MARKET, 3: OrderType.SL_M, 4: OrderType.SL}
_SIDES: Mapping[object, Side] = {1: Side.BUY, -1: Side.SELL}
_PRODUCTS: Mapping[object, Product] = {"CNC": Product.CNC, "INTRADAY": Product.MIS, "MARGIN": Product.NRML}
"""MTF, cover and bracket orders are not offered here."""
_VALIDITIES: Mapping[object, Validity] = {"DAY": Validity.DAY, "IOC": Validity.IOC}
_TAG_LENGTH = 30
_LARGEST = 2**53
_Word = TypeVar("_Word")


class BadField(Exception):
    """A field that Fyers refuses with its code for a bad parameter."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


def new_order(body: Mapping[str, object], name: Name) -> NewOrder:
    """Return the order that a place body asks for, in units. Raise `BadField`."""
    order_type = _word(body, "type", _TYPES)
    product = _word(body, "productType", _PRODUCTS)
    tag = body.get("orderTag") or None
    if tag is not None and not (isinstance(tag, str) and tag.isalnum() and len(tag) <= _TAG_LENGTH):
        raise BadField("orderTag should be alphanumeric and of at most 30 characters")
    return NewOrder(
        instrument_id=name.contract.instrument_id,
        side=_word(body, "side", _SIDES),
        product=product,
        order_type=order_type,
        validity=_word(body, "validity", _VALIDITIES),
        quantity=_quantity(body, "qty") * name.units,
        disclosed_quantity=_quantity(body, "disclosedQty") * name.units,
        price=_price(body, "limitPrice") if order_type.takes_price else None,
        trigger_price=_price(body, "stopPrice") if order_type.takes_trigger else None,
        after_market=body.get("offlineOrder") is True,
        tag=tag,
    )


def margin_bodies(body: Mapping[str, object]) -> list[dict[str, object]]:
    """Return the orders of a margin body. Raise `BadField`."""
    rows = body.get("data")
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise BadField("data is invalid")
    return rows


def margin_order(body: Mapping[str, object], name: Name) -> NewOrder:
    """Return one order of a margin body, in units. It is a place body without validity and tag. Raise `BadField`."""
    return new_order({**body, "validity": "DAY", "disclosedQty": 0, "offlineOrder": False, "orderTag": None}, name)


def changes(body: Mapping[str, object], name: Name) -> dict[str, object]:
    """Return the new values of a modify body, quantities in units. Fields that are left out keep their values. Raise `BadField`."""
    wanted: dict[str, object] = {}
    if body.get("type") is not None:
        wanted["order_type"] = _word(body, "type", _TYPES)
    if body.get("qty"):
        wanted["quantity"] = _quantity(body, "qty") * name.units
    if body.get("disclosedQty"):
        wanted["disclosed_quantity"] = _quantity(body, "disclosedQty") * name.units
    for field, ours in (("limitPrice", "price"), ("stopPrice", "trigger_price")):
        if body.get(field):
            wanted[ours] = _price(body, field)
    return wanted


def _word(body: Mapping[str, object], field: str, words: Mapping[object, _Word]) -> _Word:
    sent = body.get(field)
    for word, ours in words.items():
        if type(word) is type(sent) and word == sent:
            return ours
    raise BadField(f"{field} is required" if sent in (None, "") else f"{field} is invalid")


def _quantity(body: Mapping[str, object], field: str) -> int:
    value = body.get(field) or 0
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < _LARGEST:
        raise BadField(f"{field} is invalid")
    return value


def _price(body: Mapping[str, object], field: str) -> Decimal:
    value = body.get(field) or 0
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < _LARGEST:
        raise BadField(f"{field} is invalid")
    return Decimal(repr(value))
