"""Turns `price_reference` and `quantity_reference` of a place body into typed values, in the order of rules 2.6. Pure; raises Refusal 400.

A JSON null counts as absent; booleans are not numbers, and numeric text is not a number (order-engine 3.0).
"""

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from onebroker.actors.engine.orders.reference_values import (
    MOST_LEVEL,
    PriceKind,
    PriceReference,
    QuantityKind,
    QuantityReference,
    References,
)
from onebroker.config.converters import nearest
from onebroker.config.messages import orders as order_texts
from onebroker.config.messages import references as texts
from onebroker.config.money import as_meant
from onebroker.config.refusal import Refusal
from onebroker.config.vocabulary import POSITION_PRODUCTS

_KEYS = {
    "price_reference": frozenset({"kind", "price", "level", "buffer_percent", "offset_percent", "offset_ticks"}),
    "quantity_reference": frozenset({"kind", "product"}),
}
"""All keys that each may hold: a misspelt offset, if ignored, would give another price."""
_MOST_SHOWN = 64
"""How many letters of an unknown key a refusal repeats."""


def parse_references(body: Mapping[str, Any], quantity: int | None) -> References | None:
    """Return the references in the body; None = none. `quantity` is the body's own, checked; None when left out."""
    price = _object(body, "price_reference", texts.PRICE_OBJECT)
    sizing = _object(body, "quantity_reference", texts.QUANTITY_OBJECT)
    if price is None and sizing is None:
        return None
    return References(
        price=None if price is None else _price_reference(price),
        quantity=None if sizing is None else _quantity_reference(sizing, quantity),
        typed_quantity=quantity,
    )


def _object(body: Mapping[str, Any], name: str, sentence: str) -> Mapping[str, Any] | None:
    value = body.get(name)
    if value is not None and not isinstance(value, Mapping):
        raise Refusal(400, sentence)
    for key in value or ():
        if key not in _KEYS[name]:
            raise Refusal(
                400, order_texts.takes_no(f"a {name}", key[:_MOST_SHOWN]) + nearest(key[:_MOST_SHOWN], _KEYS[name])
            )
    return value


def _price_reference(given: Mapping[str, Any]) -> PriceReference:
    kind = PriceKind(_word(given, "kind", tuple(PriceKind), texts.price_kind(PriceKind)))
    price: Any = given.get("price")
    if kind is PriceKind.ABSOLUTE and not (is_finite_number(price) and price > 0):
        raise Refusal(400, texts.ABSOLUTE_PRICE)
    return PriceReference(
        kind=kind,
        price=as_meant(price) if kind is PriceKind.ABSOLUTE else None,
        level=_level(given) if kind in (PriceKind.BID_LEVEL, PriceKind.OFFER_LEVEL) else 1,
        buffer_percent=_number(given, "buffer_percent"),
        offset_percent=_number(given, "offset_percent"),
        offset_ticks=_offset_ticks(given),
    )


def _quantity_reference(given: Mapping[str, Any], quantity: int | None) -> QuantityReference:
    kind = QuantityKind(_word(given, "kind", tuple(QuantityKind), texts.quantity_kind(QuantityKind)))
    product = None
    if given.get("product") is not None:
        words = tuple(POSITION_PRODUCTS.values())
        product = _word(given, "product", words, texts.quantity_product(words))
    if not kind.closes and (quantity is None or quantity < 1):
        raise Refusal(400, texts.needs_quantity(kind))
    if quantity is not None and quantity < 1:
        raise Refusal(400, order_texts.QUANTITY_WHOLE)
    return QuantityReference(kind=kind, product=product)


def _word(given: Mapping[str, Any], name: str, choices: tuple[str, ...], sentence: str) -> str:
    """Return a word of `choices`, matched in any case and with spaces anywhere in it."""
    value = given.get(name)
    # Only ASCII: a few foreign letters turn into ours when lower-cased.
    word = "".join(value.split()).lower() if isinstance(value, str) and value.isascii() else ""
    if word not in choices:
        raise Refusal(400, sentence)
    return word


def _level(given: Mapping[str, Any]) -> int:
    value = given.get("level")
    if value is None:
        return 1
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise Refusal(400, texts.LEVEL_WHOLE)
    if value > MOST_LEVEL:
        raise Refusal(400, texts.level_too_deep(MOST_LEVEL))
    return value


def _number(given: Mapping[str, Any], name: str) -> Decimal:
    value = given.get(name)
    if value is None:
        return Decimal(0)
    if not is_finite_number(value):
        raise Refusal(400, texts.must_be_number(name))
    return as_meant(value)


def _offset_ticks(given: Mapping[str, Any]) -> int:
    value = given.get("offset_ticks")
    if value is None:
        return 0
    if not is_finite_number(value):
        raise Refusal(400, texts.must_be_number("offset_ticks"))
    if not isinstance(value, int):
        raise Refusal(400, texts.OFFSET_TICKS_WHOLE)
    return value


def is_finite_number(value: object) -> bool:
    """Tell whether this is a number that a float can hold."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False
