"""The values of a modify (rules 2.4.4; order-engine 5.6): the rules and messages of place that do not depend on the
order. Pure; raises Refusal. A null counts as absent."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from onebroker.actors.engine.intake.place_body import MOST_UNITS
from onebroker.actors.engine.orders.parent_records import LegChange
from onebroker.actors.engine.references.parsing import is_finite_number
from onebroker.config.messages import order_changes as texts
from onebroker.config.messages import orders as place_texts
from onebroker.config.messages import shared
from onebroker.config.money import as_meant
from onebroker.config.refusal import Refusal
from onebroker.config.vocabulary import SENDABLE_VALIDITIES, OrderType
from onebroker.http.orders.named_orders import Named, ParentNamed

OF_ENGINE = frozenset({"price", "trigger_price", "quantity"})
"""The only fields that can be changed on an engine order (rules 2.4.4)."""


def read_change(body: Mapping[str, Any], named: Named) -> LegChange:
    """Return the new values. Raises Refusal 400; 409 for a field that cannot be changed on an engine order."""
    change = LegChange(
        price=_price(body, "price"),
        trigger_price=_price(body, "trigger_price"),
        quantity=_units(body, "quantity", 1, place_texts.QUANTITY_WHOLE),
        order_type=_word(body, "order_type", tuple(OrderType)),
        validity=_word(body, "validity", SENDABLE_VALIDITIES),
        disclosed_quantity=_units(body, "disclosed_quantity", 0, place_texts.DISCLOSED_WHOLE),
    )
    given = change.given()
    if not given:
        raise Refusal(400, texts.GIVE_ONE)
    if change.quantity is not None and (change.disclosed_quantity or 0) > change.quantity:
        raise Refusal(400, place_texts.DISCLOSED_ABOVE)
    if isinstance(named, ParentNamed) and not given.keys() <= OF_ENGINE:
        raise Refusal(409, texts.ONLY_THREE)
    return change


def _price(body: Mapping[str, Any], name: str) -> Decimal | None:
    value = body.get(name)
    if value is None:
        return None
    if not is_finite_number(value) or value < 0:
        raise Refusal(400, place_texts.price_number(name))
    return as_meant(value).copy_abs()  # JSON has a -0.0


def _units(body: Mapping[str, Any], name: str, least: int, sentence: str) -> int | None:
    value = body.get(name)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise Refusal(400, sentence)
    if value > MOST_UNITS:
        raise Refusal(400, shared.must_be_between(name, least, MOST_UNITS))
    return value


def _word(body: Mapping[str, Any], name: str, choices: tuple[str, ...]) -> str | None:
    value = body.get(name)
    if value is None:
        return None
    # Only ASCII: some foreign letters become ASCII letters when upper-cased.
    word = value.strip().upper() if isinstance(value, str) and value.isascii() else None
    if word not in choices:
        raise Refusal(400, place_texts.must_be_one_of(name, choices))
    return word
