"""How exits that stand side by side share what is left of a position (order-engine 1.13). Pure.

Exits of one group (`one_cancels_others`) guard the same units, so each of them may have all that is left. The parts of a `together` guard units beside
each other: two groups of half an entry each. When a person takes units off the position, each part gives its share of them.

    claim    the units that a part may still close: its own, less what it has filled; of a group no more than the group still guards
    left     the units of the entry that are open and have not gone
    limit    claim x left / all claims, where the claims are more than what is left; rounded so that the limits sum up to what is left

Stops and targets are reckoned apart, since the market cannot be at both. So where a caller puts a whole stop beside two half targets without a group, the
stop still guards all that is left. In a group, too, a stop for half and a target for half are for the same half.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction

import attrs

from onebroker.actors.engine.plan.machine.look import Look
from onebroker.actors.engine.plan.machine.over_fills import asked_of, goes_on, is_stop_like
from onebroker.actors.engine.plan.parts import (
    FromFill,
    OneCancelsOthersPart,
    OrderPart,
    Part,
    Rule,
    SequencePart,
    Share,
    TogetherPart,
    own_orders_of,
)


def limit_within(look: Look, link: Part, exits: Sequence[OrderPart], fills: int, *, within: Part, left: int) -> int:
    """Return the units that a part below `link` may have unfilled, when `left` are left to all `exits`. What else hangs on the entry (a hedge in another
    instrument) claims nothing. `fills`: the filled units of the entry."""
    node, paths = link, frozenset(order.path for order in exits)
    while node is not within:
        below = next((one for one in _children(node) if f"{within.path}.".startswith(f"{one.path}.")), None)
        if below is None:
            break
        if isinstance(node, TogetherPart):
            left = max(_limit(look, node.children, below, fills, left, _Kind(stops, paths)) for stops in _kinds(within))
        node = below
    return left


def _children(part: Part) -> Iterator[Part]:
    match part:
        case TogetherPart() | OneCancelsOthersPart():
            yield from part.children
        case SequencePart():
            yield from (part.first, part.then)


def _kinds(part: Part) -> set[bool]:
    return {is_stop_like(order) for order in own_orders_of(part)}


@attrs.frozen
class _Kind:
    """The exits whose claims are summed up."""

    stops: bool
    """Stops, or targets."""
    paths: frozenset[str]
    """All exits of the entry."""

    def has(self, order: OrderPart) -> bool:
        return order.path in self.paths and is_stop_like(order) is self.stops


def _limit(look: Look, children: Sequence[Part], child: Part, fills: int, left: int, kind: _Kind) -> int:
    """Return the limit of one of the parts of a `together`, for its stops or for its targets."""
    claims = [int(_claim(look, one, fills, kind)) for one in children]
    number, total = children.index(child), sum(claims)
    if total <= left:
        return claims[number]
    lot = look.terms(next(own_orders_of(child))).lot

    def cut(units: int) -> int:
        return units * left // total // lot * lot

    before = sum(claims[:number])
    return cut(before + claims[number]) - cut(before)


def _claim(look: Look, part: Part, fills: int, kind: _Kind, first: int | None = None) -> Fraction:
    """Return the units that the stops, or the targets, of a part may still close. `first`: the units of the part's own `first`, if it is a `then`."""
    match part:
        case OrderPart():
            return _rest(look, part, fills, first) if kind.has(part) else Fraction(0)
        case TogetherPart():
            return sum((_claim(look, one, fills, kind, first) for one in part.children), Fraction(0))
        case OneCancelsOthersPart(rule=Rule.SHRINK):
            own = [(_is_share(one), _claim(look, one, fills, kind, first)) for one in part.children]
            shares = sum((claim for is_share, claim in own if is_share), Fraction(0))
            return min(
                _rest(look, part, fills, first), max([shares, *(claim for is_share, claim in own if not is_share)])
            )
        case OneCancelsOthersPart():
            return max(_claim(look, one, fills, kind, first) for one in part.children)
        case SequencePart():
            own_claim = _claim(look, part.first, fills, kind, first)
            if not goes_on(part):
                return own_claim
            return own_claim + _claim(look, part.then, fills, kind, int(_units(look, part.first, fills, first)))


def _rest(look: Look, part: Part, fills: int, first: int | None) -> Fraction:
    return max(Fraction(0), _units(look, part, fills, first) - look.filled(part))


def _units(look: Look, part: Part, fills: int, first: int | None = None) -> Fraction:
    """Return the units of the entry that an order or a group closes, before anything of it has filled; arguments as for `_claim`."""
    match part:
        case OrderPart(quantity=FromFill(ratio=ratio)):
            return Fraction(fills if first is None else first) * Fraction(ratio)
        case OrderPart(quantity=Share(share=share, of=None)):
            return Fraction(fills) * Fraction(share)
        case OrderPart():
            return Fraction(asked_of(look, part) or 0)
        case OneCancelsOthersPart(rule=Rule.SHRINK):
            apart = {True: Fraction(0), False: Fraction(0)}
            for one in part.children:
                if isinstance(one, OrderPart) and _is_share(one):
                    apart[is_stop_like(one)] += _units(look, one, fills, first)
            return max(
                [*apart.values(), *(_units(look, one, fills, first) for one in part.children if not _is_share(one))]
            )
        case SequencePart():
            own = _units(look, part.first, fills, first)
            return own + (_units(look, part.then, fills, int(own)) if goes_on(part) else 0)
        case TogetherPart():
            return sum((_units(look, one, fills, first) for one in part.children), Fraction(0))
        case OneCancelsOthersPart():
            return max(_units(look, one, fills, first) for one in part.children)


def _is_share(part: Part) -> bool:
    return isinstance(part, OrderPart) and isinstance(part.quantity, Share)
