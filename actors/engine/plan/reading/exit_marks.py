"""Marks which order parts of a tree are exits, and of which exits the engine itself knows that they close (order-engine 0). Pure."""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from decimal import Decimal
from functools import partial

import attrs

from onebroker.actors.engine.orders.part_state import PartRecord
from onebroker.actors.engine.plan.parts import (
    AllOf,
    AnyOf,
    BarClosed,
    Condition,
    Direction,
    FromFill,
    FromPosition,
    OneCancelsOthersPart,
    OrderPart,
    Part,
    PriceAt,
    QuoteField,
    SequencePart,
    Share,
    TogetherPart,
    own_orders_of,
    walk,
)
from onebroker.actors.engine.plan.price_kinds import is_stop
from onebroker.config.messages import presets_entries as texts
from onebroker.config.vocabulary import Side

_PRICES = frozenset({QuoteField.LAST_PRICE, QuoteField.BID, QuoteField.OFFER, QuoteField.MID})


def marked(
    part: Part,
    *,
    closes_position: bool,
    closing: tuple[str, Side] | None = None,
) -> Part:
    """Return the tree with `is_exit` and `known_exit` set as section 0 says. A flag that is already set stays.

    `closes_position` is the caller's word. `closing` is what the engine itself knows: the instrument whose position is closed, and the
    closing side. A part with another instrument or the other side may open something.
    """
    return _marked(part, closes_position=closes_position, closing=closing)


def with_lone_exits(root: Part) -> Part:
    """Return a plan of a caller in which the stops and targets that hang on nothing are marked: a `native_stop`, or an order that waits for a price,
    that is the whole plan or stands in its groups; and a limit beside a stop. Over units that are held when it is armed it is an exit of them, over
    nothing its caller's entry (1.13). Orders on both sides of one instrument (a breakout) are entries, a limit without a stop is a plain order, and a
    preset knows itself what it is."""
    sides: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    stopped: set[tuple[str, str]] = set()
    for order in own_orders_of(root):
        sides[order.instrument_id, order.product].add(order.transaction_type)
        if is_stop(order.price):
            stopped.add((order.instrument_id, order.product))

    def with_exits(part: Part) -> Part:
        match part:
            case OrderPart(each_fill=None, preset=None) if len(sides[part.instrument_id, part.product]) == 1:
                lone = (part.instrument_id, part.product) in stopped or _awaited_price(part) is not None
                return as_lone_exit(part) if lone and not part.is_exit else part
            case TogetherPart(preset=None) | OneCancelsOthersPart(preset=None):
                return attrs.evolve(part, children=tuple(map(with_exits, part.children)))
        return part

    return with_exits(root)


def as_lone_exit(part: OrderPart) -> OrderPart:
    """Return an order part that closes what is held when it is armed, and is an entry otherwise."""
    return attrs.evolve(part, is_exit=True, exit_by_type=True, exit_if_held=True)


def with_entries(root: Part, parts: Mapping[str, PartRecord]) -> Part:
    """Return the tree in which a stop or target that was armed over nothing has become its caller's entry; the same object where none has. `parts` are the
    records of the parts, by path."""
    paths = {
        part.path
        for part in walk(root)
        if isinstance(part, OrderPart) and part.exit_if_held and parts.get(part.path, PartRecord()).armed_over == 0
    }
    return _as_entries(root, paths) if paths else root


def _as_entries(part: Part, paths: Collection[str]) -> Part:
    match part:
        case OrderPart():
            link = None if part.each_fill is None else _as_entries(part.each_fill, paths)
            entry = attrs.evolve(part, is_exit=False, exit_by_type=False, exit_if_held=False)
            return attrs.evolve(entry if part.path in paths else part, each_fill=link)
        case SequencePart():
            return attrs.evolve(part, first=_as_entries(part.first, paths), then=_as_entries(part.then, paths))
        case TogetherPart() | OneCancelsOthersPart():
            return attrs.evolve(part, children=tuple(_as_entries(child, paths) for child in part.children))


def _marked(
    part: Part,
    *,
    closes_position: bool,
    closing: tuple[str, Side] | None,
    above: tuple["_Above", ...] = (),
) -> Part:
    """`above` are the order parts whose links are above this part, the outermost first."""
    below = partial(_marked, closes_position=closes_position, closing=closing)
    match part:
        case OrderPart():
            side = Side(part.transaction_type)
            link = None if part.each_fill is None else below(part.each_fill, above=(*above, _above(part, above)))
            told = closing == (part.instrument_id, side)
            known = part.known_exit or told or _closes(part, above) or isinstance(part.quantity, FromPosition)
            against = any(order.side is side.opposite for order in above)
            exits = part.is_exit or closes_position or known or against
            surely = closes_position or known or against
            by_type, if_held = part.exit_by_type and not surely, part.exit_if_held and not surely
            return attrs.evolve(
                part, is_exit=exits, known_exit=known, exit_by_type=by_type, exit_if_held=if_held, each_fill=link
            )
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


def _awaited_price(order: OrderPart) -> PriceAt | BarClosed | None:
    """Return the price of its own instrument for which an order waits, alone or together with other conditions."""
    return None if order.when is None else _price_of(order.when, order.instrument_id)


def _price_of(condition: Condition, instrument_id: str) -> PriceAt | BarClosed | None:
    match condition:
        case BarClosed() if condition.instrument_id == instrument_id:
            return condition
        case PriceAt(field=field) if condition.instrument_id == instrument_id and field in _PRICES:
            return condition
        case AllOf() | AnyOf():
            prices = (_price_of(inner, instrument_id) for inner in condition.conditions)
            return next((price for price in prices if price is not None), None)
    return None


def _as_exits(part: Part) -> Part:
    """Return a part with all its own orders marked as exits."""
    match part:
        case OrderPart():
            return attrs.evolve(part, is_exit=True, exit_by_type=not part.is_exit, exit_if_held=False)
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
