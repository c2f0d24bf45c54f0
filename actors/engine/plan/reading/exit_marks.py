"""Marks which order parts of a tree are exits, and of which exits the engine itself knows that they close (order-engine 0). Pure."""

from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import partial

import attrs

from onebroker.actors.engine.plan.parts import (
    Direction,
    FromFill,
    FromPosition,
    OneCancelsOthersPart,
    OrderPart,
    Part,
    PriceAt,
    SequencePart,
    Share,
    TogetherPart,
    own_orders_of,
)
from onebroker.actors.engine.plan.price_kinds import is_stop
from onebroker.config.messages import presets_entries as texts
from onebroker.config.vocabulary import Side


def marked(
    part: Part,
    *,
    closes_position: bool,
    closing: tuple[str, Side] | None = None,
    above: tuple["_Above", ...] = (),
) -> Part:
    """Return the tree with `is_exit` and `known_exit` set as section 0 says. A flag that is already set stays.

    `closes_position` is the caller's word. `closing` is what the engine itself knows: the instrument whose position is closed, and the
    closing side. A part with another instrument or the other side may open something. `above` are the order parts whose links are above
    this part, the outermost first.
    """
    below = partial(marked, closes_position=closes_position, closing=closing)
    match part:
        case OrderPart():
            side = Side(part.transaction_type)
            link = None if part.each_fill is None else below(part.each_fill, above=(*above, _above(part, above)))
            told = closing == (part.instrument_id, side)
            known = part.known_exit or told or _closes(part, above) or isinstance(part.quantity, FromPosition)
            against = any(order.side is side.opposite for order in above)
            exits = part.is_exit or closes_position or known or against
            by_type = part.exit_by_type and not (closes_position or known or against)
            return attrs.evolve(part, is_exit=exits, known_exit=known, exit_by_type=by_type, each_fill=link)
        case SequencePart():
            followers = list(own_orders_of(part.then))
            opened = _opened(part.first, above) if any(map(_stop_like(followers), followers)) else ()
            then = below(part.then, above=(*above, *opened))
            if isinstance(then, OrderPart) and not then.known_exit and then.uncovered is None:
                then = attrs.evolve(then, uncovered=texts.WITHOUT_SECOND_ORDER)
            return attrs.evolve(part, first=below(part.first, above=above), then=then)
        case TogetherPart() | OneCancelsOthersPart():
            is_pair = not above and _is_stop_and_target(part)
            children = tuple(map(_as_exits, part.children)) if is_pair else part.children
            return attrs.evolve(part, children=tuple(below(child, above=above) for child in children))


@attrs.frozen
class _Above:
    """An order part whose link is above another part."""

    instrument_id: str
    product: str
    side: Side
    units: Decimal
    """For each unit of the outermost order, as far as the tree says."""


def _is_stop_and_target(part: Part) -> bool:
    """Whether a caller has put a stop and a target of the same units into a group by hand, or into groups within it, as an `oco` and a `gtt` pair do. They
    are exits of what is held when they are armed; over nothing they are his entry (1.13)."""
    if not isinstance(part, OneCancelsOthersPart) or part.preset is not None:
        return False
    orders = list(own_orders_of(part))
    about = {(order.instrument_id, order.product, order.transaction_type) for order in orders}
    return len(about) == 1 and len(set(map(_stop_like(orders), orders))) == 2


def _stop_like(orders: Sequence[OrderPart]) -> Callable[[OrderPart], bool]:
    """Return a function that says whether one of the orders of a group limits a loss: a stop, or an order that waits for a price on the side of the loss.
    Where no order says on which side it waits, the one that is further on the side of the loss does."""
    levels = [price.level for price in map(_awaited_price, orders) if price is not None]

    def stop_like(order: OrderPart) -> bool:
        price, sells = _awaited_price(order), order.transaction_type == Side.SELL
        if price is None:
            return is_stop(order.price)
        if price.direction is not None:
            return price.direction is (Direction.BELOW if sells else Direction.ABOVE)
        return price.level == (min(levels) if sells else max(levels))

    return stop_like


def _awaited_price(order: OrderPart) -> PriceAt | None:
    """Return the price of its own instrument for which an order waits."""
    when = order.when
    return when if isinstance(when, PriceAt) and when.instrument_id == order.instrument_id else None


def _as_exits(part: Part) -> Part:
    """Return a part with all its own orders marked as exits."""
    match part:
        case OrderPart():
            return attrs.evolve(part, is_exit=True, exit_by_type=not part.is_exit)
        case SequencePart():
            return attrs.evolve(part, first=_as_exits(part.first), then=_as_exits(part.then))
        case TogetherPart() | OneCancelsOthersPart():
            return attrs.evolve(part, children=tuple(map(_as_exits, part.children)))


def _opened(first: Part, above: tuple[_Above, ...]) -> tuple[_Above, ...]:
    """Return what a sequence's first part opens, where all its orders open the same. A stop that follows guards it, and so do the orders beside the
    stop. (Without a stop, the second order of a sequence is an order of its own.)"""
    opened = [attrs.evolve(_above(order, above), units=Decimal(1)) for order in own_orders_of(first)]
    return (opened[0],) if opened and all(one == opened[0] for one in opened) else ()


def _above(part: OrderPart, above: tuple[_Above, ...]) -> _Above:
    units = above[-1].units if above else Decimal(1)
    match part.quantity:
        case FromFill(ratio=ratio):
            units *= ratio
        case Share(share=share) if above:
            units *= share
    return _Above(part.instrument_id, part.product, Side(part.transaction_type), units)


def _closes(part: OrderPart, above: tuple[_Above, ...]) -> bool:
    """Whether the fills above a part leave a position that its side closes. An order in another instrument or product closes nothing of
    them, nor does an order after an exit that has already closed it."""
    own = [order for order in above if (order.instrument_id, order.product) == (part.instrument_id, part.product)]
    return sum((order.side.sign * order.units for order in own), Decimal(0)) * Side(part.transaction_type).sign < 0
