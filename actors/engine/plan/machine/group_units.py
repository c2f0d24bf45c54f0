"""How many units a group of orders is for: the shares of siblings, and what a group in which one order cancels the others guards (order-engine 1.3, 1.7).
Pure.

A group guards what its children name, or what its entry has filled, less what they have done. The units of a share are those of its siblings together;
a stop for half and a target for half are for the same half, so stops and targets are counted apart.
"""

from collections.abc import Callable, Mapping

import attrs

from onebroker.actors.engine.plan.machine.held_units import limit_of_group
from onebroker.actors.engine.plan.machine.look import Look
from onebroker.actors.engine.plan.machine.over_fills import goes_on, is_stop_like
from onebroker.actors.engine.plan.machine.part_context import Context
from onebroker.actors.engine.plan.machine.target_quantities import from_fill
from onebroker.actors.engine.plan.parts import (
    FromFill,
    OneCancelsOthersPart,
    OrderPart,
    Part,
    SequencePart,
    Share,
    TogetherPart,
    Units,
)
from onebroker.actors.engine.plan.pieces.cutting import shared


def guarded(look: Look, part: OneCancelsOthersPart, context: Context) -> int:
    """Return the units that a shrink group guards: its quantity, or the filled quantity of the entry, less the fills of its children."""
    total = _total(look, part, context)
    limit = look.record(part).quantity
    if limit is not None:
        total = min(total, limit)
    total -= look.record(part).taken_by_caller
    return max(0, total - sum(_done(look, child) for child in part.children))


def guard_of(look: Look, part: OneCancelsOthersPart, context: Context) -> int:
    """Return the same, no more than the position and the parts above leave to the group."""
    guard = guarded(look, part, context)
    for limit in (context.guard, limit_of_group(look, part)):
        guard = guard if limit is None else min(guard, limit)
    return guard


def _done(look: Look, part: Part) -> int:
    """Return the units that a child has filled of those its group guards, without the fills of parts that hang on it."""
    if isinstance(part, SequencePart):
        return _done(look, part.first) + (_done(look, part.then) if goes_on(part) else 0)
    if isinstance(part, OrderPart):
        return look.filled(part)
    return sum(_done(look, child) for child in part.children)


def unfilled(look: Look, part: Part, context: Context, most: int, share: int | None) -> int:
    """Return the unfilled units of the quantity that a part itself names (`share`: the units of its share), at most `most`; `most` when it names none."""
    says = _says(look, part, context) if share is None else share
    return most if says is None else min(most, max(0, says - _done(look, part)))


def shares_apart(look: Look, part: OneCancelsOthersPart, context: Context) -> tuple[dict[int, int], dict[int, int]]:
    """Return the units of a group's stops that have a share, and of its targets. A stop for half and a target for half are for the same half."""
    stops = shares_of(look, part.children, context, is_stop_like)
    return stops, shares_of(look, part.children, context, lambda child: not is_stop_like(child))


def _total(look: Look, part: OneCancelsOthersPart, context: Context) -> int:
    base = context.base
    shares = [sum(units.values()) for units in shares_apart(look, part, context)]
    own = max([*shares, *(_says(look, child, context) or 0 for child in part.children)])
    if base is None:
        return own
    # The children may be for only a part of the filled units (two groups of half the entry each). Together they never trade more than that part.
    filled = look.filled(base)
    forms = [child.quantity if isinstance(child, OrderPart) else None for child in part.children]
    return min(filled, own) if all(isinstance(form, Units | Share | FromFill) for form in forms) else filled


def _says(look: Look, child: Part, context: Context) -> int | None:
    """Return the quantity that a child itself names; for a group, that of its children. None when one of them names none, as a share alone does."""
    match child:
        case OrderPart(quantity=FromFill() as form):
            return from_fill(look, child, form, context)
        case OrderPart():
            return child.quantity.quantity if isinstance(child.quantity, Units) else None
        case SequencePart():
            first = _says(look, child.first, context)
            if not goes_on(child):
                return first
            then = _says(look, child.then, attrs.evolve(context, base=child.first))
            return None if first is None or then is None else first + then
        case TogetherPart() | OneCancelsOthersPart():
            shares = shares_of(look, child.children, context)
            own = [
                shares.get(number, _says(look, grandchild, context)) for number, grandchild in enumerate(child.children)
            ]
            named = [units for units in own if units is not None]
            if len(named) < len(own):
                return None
            return sum(named) if isinstance(child, TogetherPart) else max(named)


def shares_of(
    look: Look, children: tuple[Part, ...], context: Context, counts: Callable[[OrderPart], bool] = lambda _: True
) -> dict[int, int]:
    """Return the units of the siblings that have a share and that `counts` says count together, by child number (1.3)."""
    sharing = [
        (number, child.quantity, child)
        for number, child in enumerate(children)
        if isinstance(child, OrderPart) and isinstance(child.quantity, Share) and counts(child)
    ]
    if not sharing:
        return {}
    _, first, order = sharing[0]
    units = first.of if first.of is not None else (0 if context.entry is None else look.filled(context.entry))
    parts = shared(units, [form.share for _, form, _ in sharing], look.terms(order))
    return {number: part for (number, _, _), part in zip(sharing, parts, strict=True)}


def less_taken(look: Look, children: tuple[Part, ...], shares: Mapping[int, int]) -> dict[int, int]:
    """Return the shares without the units that callers have taken off their orders."""
    return {number: max(0, units - look.record(children[number]).taken_by_caller) for number, units in shares.items()}
