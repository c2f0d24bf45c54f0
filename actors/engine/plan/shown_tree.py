"""A plan's tree as callers see it: `plan` of a dry run (order-engine 5.4), and each part's price, execution, condition and lifetime
in `parts` of a parent's record (5.5). It uses the words of the grammar, so that what is shown reads as what is sent.

A field that is not set is left out. Numbers are Decimal; the edge writes them as JSON numbers.
"""

from datetime import time
from enum import StrEnum
from typing import Any

import attrs

from onebroker.actors.engine.plan.execution_kinds import Execution
from onebroker.actors.engine.plan.kinds import WORDS
from onebroker.actors.engine.plan.parts import (
    AllOf,
    AnyOf,
    Condition,
    FromExposure,
    FromFill,
    FromPosition,
    JointPnl,
    Lifetime,
    OneCancelsOthersPart,
    OrderPart,
    Part,
    Quantity,
    SequencePart,
    Share,
    TimeOfDay,
    TogetherPart,
    Units,
)
from onebroker.actors.engine.plan.price_kinds import Price


def shown_plan(part: Part) -> dict[str, Any]:
    """Return the tree. Every part carries its path, and `preset` when it was expanded from a preset."""
    head: dict[str, Any] = {"part": WORDS[type(part)], "path": part.path, "preset": part.preset}
    tail = {
        "when": None if part.when is None else shown_condition(part.when),
        "lifetime": None if part.lifetime is None else shown_lifetime(part.lifetime),
    }
    return _there({**head, **_own_fields(part), **tail})


def _own_fields(part: Part) -> dict[str, Any]:
    match part:
        case OrderPart():
            return _order(part)
        case SequencePart():
            first, then = shown_plan(part.first), shown_plan(part.then)
            return {"first": first, "then": then, "start_then": part.start_then.value}
        case TogetherPart():
            return {"children": [shown_plan(child) for child in part.children], "most_inventory": part.most_inventory}
        case OneCancelsOthersPart():
            children = [shown_plan(child) for child in part.children]
            return {"rule": part.rule.value, "breakeven_after": part.breakeven_after, "children": children}


def _order(part: OrderPart) -> dict[str, Any]:
    return {
        "instrument_id": part.instrument_id,
        "transaction_type": part.transaction_type,
        "product": part.product,
        "validity": part.validity,
        "tag": part.tag,
        "broker": part.broker,
        "quantity": shown_quantity(part.quantity),
        "price": shown_price(part.price),
        "execution": shown_execution(part.execution),
        "hold": part.hold,
        "closes": part.is_exit,
        "each_fill": None if part.each_fill is None else shown_plan(part.each_fill),
    }


def shown_quantity(quantity: Quantity) -> int | dict[str, Any]:
    """Return `Units` as a number, and every other form as its object."""
    match quantity:
        case Units():
            return quantity.quantity
        case Share():
            return {"share": quantity.share}
        case FromFill():
            form = {"ratio": quantity.ratio, "round": quantity.rounding}
            return _there({"from_fill": form, "most": quantity.most})
        case FromPosition():
            form = _of_instruments(_fields(attrs.evolve(quantity, most=None)))
            return _there({"position": form, "most": quantity.most})
        case FromExposure():
            return {"exposure": _fields(quantity)}


def shown_price(price: Price) -> dict[str, Any]:
    return {"kind": WORDS[type(price)], **_fields(price)}


def shown_execution(execution: Execution) -> dict[str, Any]:
    return {"kind": WORDS[type(execution)], **_fields(execution)}


def shown_condition(condition: Condition) -> dict[str, Any]:
    """Return a condition as `{price: {..}}`, `{time: '14:30'}`, `{all: [..]}`."""
    word = WORDS[type(condition)]
    match condition:
        case TimeOfDay():
            return _there({word: _shown(condition.at), "day": condition.day})
        case AllOf() | AnyOf():
            return {word: [shown_condition(inner) for inner in condition.conditions]}
    fields = _fields(condition)
    return {word: _of_instruments(fields) if isinstance(condition, JointPnl) else fields}


def shown_lifetime(lifetime: Lifetime) -> dict[str, Any]:
    fields = _fields(attrs.evolve(lifetime, when=None))
    return fields if lifetime.when is None else {**fields, "when": shown_condition(lifetime.when)}


def _of_instruments(fields: dict[str, Any]) -> dict[str, Any]:
    """Keep either `instrument_ids` or `every_instrument`, and drop the one that is not used."""
    unused = "instrument_ids" if fields["every_instrument"] else "every_instrument"
    return {name: value for name, value in fields.items() if name != unused}


def _fields(value: attrs.AttrsInstance) -> dict[str, Any]:
    return _there({field.name: _shown(getattr(value, field.name)) for field in attrs.fields(type(value))})


def _shown(value: object) -> object:
    match value:
        case StrEnum():
            return value.value
        case time():
            return value.isoformat("seconds" if value.second else "minutes")
        case tuple():
            return [_shown(item) for item in value]
    cls = type(value)
    if attrs.has(cls):
        tag = {"kind": WORDS[cls]} if cls in WORDS else {}
        return {**tag, **_there({field.name: _shown(getattr(value, field.name)) for field in attrs.fields(cls)})}
    return value


def _there(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
