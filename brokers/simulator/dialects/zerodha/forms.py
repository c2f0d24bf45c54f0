"""Reads what a client sends: form fields become orders and changes. Refusals are in Kite's words."""

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import TypeVar

import msgspec

from onebroker.brokers.simulator.dialects.zerodha.naming import Name
from onebroker.brokers.simulator.world.model import NewOrder
from onebroker.config.vocabulary import OrderType, Product, Side, Validity

VARIETIES = ("regular", "amo")
"""Cover, iceberg and auction orders are not offered here."""
_PRODUCTS = (Product.CNC, Product.MIS, Product.NRML)
_VALIDITIES = (Validity.DAY, Validity.IOC)
_TAG_LENGTH = 20
_Word = TypeVar("_Word", bound=str)


class BadField(Exception):
    """A field that Kite refuses with an InputException."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


def order_list(body: bytes) -> list[dict[str, str]]:
    """Return the orders of a JSON body, with values as a form writes them. Raise `BadField`."""
    try:
        rows = msgspec.json.decode(body, type=list[dict[str, str | int | float]])
    except msgspec.DecodeError as error:
        raise BadField("Invalid JSON in request body") from error
    return [{name: str(value) for name, value in row.items()} for row in rows]


def new_order(form: Mapping[str, str], name: Name, variety: str) -> NewOrder:
    """Return the order that a place form asks for, in units. Raise `BadField`."""
    order_type = _word(form, "order_type", tuple(OrderType))
    tag = form.get("tag") or None
    if tag is not None and (len(tag) > _TAG_LENGTH or not tag.isalnum()):
        raise BadField("Invalid `tag`. It should be alphanumeric and at most 20 characters.")
    return NewOrder(
        instrument_id=name.contract.instrument_id,
        side=_word(form, "transaction_type", tuple(Side)),
        product=_word(form, "product", _PRODUCTS),
        order_type=order_type,
        validity=_word({"validity": "DAY", **form}, "validity", _VALIDITIES),
        quantity=_quantity(form, "quantity") * name.units,
        disclosed_quantity=_quantity({"disclosed_quantity": "0", **form}, "disclosed_quantity") * name.units,
        price=_price(form, "price") if order_type.takes_price else None,
        trigger_price=_price(form, "trigger_price") if order_type.takes_trigger else None,
        after_market=variety == "amo",
        tag=tag,
    )


def changes(form: Mapping[str, str], name: Name) -> dict[str, object]:
    """Return the new values of a modify form, quantities in units. Raise `BadField`."""
    wanted: dict[str, object] = {}
    if form.get("order_type"):
        wanted["order_type"] = _word(form, "order_type", tuple(OrderType))
    if form.get("validity"):
        wanted["validity"] = _word(form, "validity", _VALIDITIES)
    for field in ("quantity", "disclosed_quantity"):
        if form.get(field):
            wanted[field] = _quantity(form, field) * name.units
    for field in ("price", "trigger_price"):
        # Clients send zero for a price that the order type does not have.
        if form.get(field) and _price(form, field):
            wanted[field] = _price(form, field)
    return wanted


def _word(form: Mapping[str, str], field: str, words: tuple[_Word, ...]) -> _Word:
    for word in words:
        if word == form.get(field):
            return word
    raise BadField(f"Invalid `{field}`." if form.get(field) else f"Missing or empty field `{field}`")


def _quantity(form: Mapping[str, str], field: str) -> int:
    text = form.get(field, "")
    if not text.isdecimal():
        raise BadField(f"Invalid `{field}`." if text else f"Missing or empty field `{field}`")
    return int(text)


def _price(form: Mapping[str, str], field: str) -> Decimal:
    try:
        value = Decimal(form.get(field, ""))
    except InvalidOperation as error:
        raise BadField(f"Invalid `{field}`.") from error
    if not value.is_finite() or value < 0:
        raise BadField(f"Invalid `{field}`.")
    return value
