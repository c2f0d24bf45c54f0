"""Reads and checks orders in Groww's JSON."""

import re
from collections.abc import Mapping
from decimal import Decimal
from enum import StrEnum
from typing import TypeVar

from onebroker.brokers.simulator.dialects.groww.answers import ORDER_TYPES
from onebroker.brokers.simulator.dialects.groww.envelopes import BAD_REQUEST, Refused
from onebroker.brokers.simulator.dialects.groww.naming import Name
from onebroker.brokers.simulator.world.model import NewOrder
from onebroker.config.vocabulary import OrderType, Product, Side, Validity

_PRODUCTS = {word.value: word for word in (Product.CNC, Product.MIS, Product.NRML)}
_SIDES = {word.value: word for word in Side}
_VALIDITIES = {word.value: word for word in (Validity.DAY, Validity.IOC)}
_TYPES = {word: order_type for order_type, word in ORDER_TYPES.items()}
_REFERENCE = re.compile(r"(?=.{8,20}$)[A-Za-z0-9]+(-[A-Za-z0-9]+){0,2}")
_MOST_PRICE = 1e12

_Word = TypeVar("_Word", bound=StrEnum)


def new_order(body: Mapping[str, object], name: Name) -> NewOrder:
    """Return the order of a place body. Raise `Refused`."""
    order_type = _word(body, "order_type", _TYPES)
    return NewOrder(
        instrument_id=name.contract.instrument_id,
        side=_word(body, "transaction_type", _SIDES),
        product=_word(body, "product", _PRODUCTS),
        order_type=order_type,
        validity=_word(body, "validity", _VALIDITIES),
        quantity=quantity_of(body),
        price=_price(body, "price") if order_type.takes_price else None,
        trigger_price=_price(body, "trigger_price") if order_type.takes_trigger else None,
        tag=_reference(body),
    )


def margin_order(body: Mapping[str, object], name: Name) -> NewOrder:
    """Return one order of a margin body. The body has no trigger, so a stop becomes a limit or market order. Raise `Refused`."""
    takes_price = _word(body, "order_type", _TYPES).takes_price
    return NewOrder(
        instrument_id=name.contract.instrument_id,
        side=_word(body, "transaction_type", _SIDES),
        product=_word(body, "product", _PRODUCTS),
        order_type=OrderType.LIMIT if takes_price else OrderType.MARKET,
        validity=Validity.DAY,
        quantity=quantity_of(body),
        price=_price(body, "price") if takes_price else None,
    )


def changes(body: Mapping[str, object]) -> dict[str, object]:
    """Return the new values of a modify body. A price that is null keeps its value."""
    order_type = _word(body, "order_type", _TYPES)
    wanted: dict[str, object] = {"order_type": order_type, "quantity": quantity_of(body)}
    if order_type.takes_price and body.get("price") is not None:
        wanted["price"] = _price(body, "price")
    if order_type.takes_trigger and body.get("trigger_price") is not None:
        wanted["trigger_price"] = _price(body, "trigger_price")
    return wanted


def text_of(body: Mapping[str, object], field: str) -> str:
    """Return a field that must be a text. Raise `Refused`."""
    value = body.get(field)
    if not isinstance(value, str) or not value:
        raise Refused(400, BAD_REQUEST, f"Invalid {field}.")
    return value


def quantity_of(body: Mapping[str, object]) -> int:
    value = body.get("quantity")
    if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
        raise Refused(400, BAD_REQUEST, "Invalid quantity.")
    return value


def _word(body: Mapping[str, object], field: str, words: Mapping[str, _Word]) -> _Word:
    word = words.get(text_of(body, field))
    if word is None:
        raise Refused(400, BAD_REQUEST, f"Invalid {field}.")
    return word


def _price(body: Mapping[str, object], field: str) -> Decimal:
    value = body.get(field)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < _MOST_PRICE:
        raise Refused(400, BAD_REQUEST, f"Invalid {field}.")
    return Decimal(repr(value))


def _reference(body: Mapping[str, object]) -> str:
    reference = text_of(body, "order_reference_id")
    if _REFERENCE.fullmatch(reference) is None:
        raise Refused(400, BAD_REQUEST, "Invalid order_reference_id.")
    return reference
