"""How many units an exit of a plan may close: what the plan itself holds (order-engine 4.10). While entries are locked out, an exit of more is an
entry. Part of a plan parent's actor."""

from collections.abc import Callable, Iterable, Iterator
from itertools import takewhile

from onebroker.actors.engine.books.settled_positions import units_to_take
from onebroker.actors.engine.context.engine_context import EngineContext
from onebroker.actors.engine.orders.parent_records import LegRecord
from onebroker.actors.engine.plan.machine.leg_actions import CLOSING, NewLeg
from onebroker.actors.engine.plan.parts import FromPosition, OneCancelsOthersPart, OrderPart, Part, walk
from onebroker.actors.engine.plan_parent.open_plan import OpenPlan
from onebroker.config.vocabulary import Side

OwnUnits = Callable[[str, str | None], int]
"""(broker, leg id) -> units, as `LegOrder.own_units`."""


def of_order(plan: OpenPlan, new: NewLeg) -> OwnUnits | None:
    """Return the units that a new exit may close; None where nothing limits it, because the position that it closes was just read, and for an
    order that is no exit for certain."""
    if not new.known_exit or new.closing is not None or new.unseen is not None:
        return None
    part = plan.part_at(new.part)
    if isinstance(part.quantity, FromPosition) and new.instance != CLOSING:
        return _of_row(plan, part, new.instance)
    return _of_fills(plan, part, new.instrument_id, new.product, new.side, closes=new.instance == CLOSING)


def of_leg(plan: OpenPlan, leg: LegRecord) -> OwnUnits | None:
    """Return the same for a change of an exit's leg."""
    part, closes = plan.part_at(leg.part), leg.instance == CLOSING
    if part.closing is not None and not closes:
        return None
    if isinstance(part.quantity, FromPosition) and not closes:
        return _of_row(plan, part, leg.instance)
    return _of_fills(plan, part, leg.instrument_id, leg.product, Side(leg.transaction_type), closes=closes)


def alternatives_of(plan: OpenPlan, new: NewLeg) -> Callable[[], frozenset[str]]:
    """Return what tells the leg ids, order ids and tokens of the orders of which one cancels the others, `new` among them."""

    def alternatives() -> frozenset[str]:
        legs = [leg for leg in plan.record.legs if _is_alternative(plan.root, new.part, leg.part)]
        return frozenset(name for leg in legs for name in (leg.leg_id, leg.order_id, leg.token) if name is not None)

    return alternatives


def _of_row(plan: OpenPlan, part: OrderPart, key: str | None) -> OwnUnits | None:
    """Return the units of a position that is closed, or reversed: a reversal is larger than the position (3.44)."""
    rows = plan.parts[part.path].rows or ()
    units = next((abs(row.quantity) for row in rows if row.key == key and row.units > abs(row.quantity)), None)
    if units is None:
        return None

    def left(_: str, leg_id: str | None) -> int:
        before = (leg for leg in _before(plan, leg_id) if (leg.part, leg.instance) == (part.path, key))
        return units - sum(leg.filled_quantity + _unfilled(leg) for leg in before)

    return left


def _of_fills(
    plan: OpenPlan, part: OrderPart, instrument_id: str, product: str, side: Side, *, closes: bool
) -> OwnUnits:
    """Return the net of the plan's fills, less the units of its earlier exits that may still fill besides this one. The exits of which one
    ends the others close the same units."""

    def left(broker: str, leg_id: str | None) -> int:
        legs = [
            leg
            for leg in plan.record.legs
            if (leg.broker, leg.instrument_id, leg.product) == (broker, instrument_id, product)
        ]
        net = sum(Side(leg.transaction_type).sign * leg.filled_quantity for leg in legs)
        exits = (
            leg
            for leg in _before(plan, leg_id)
            if leg in legs
            and leg.transaction_type == side
            and (leg.instance == CLOSING or plan.part_at(leg.part).known_exit)
        )
        besides = (leg for leg in exits if closes or not _is_alternative(plan.root, part.path, leg.part))
        return -side.sign * net - sum(map(_unfilled, besides))

    return left


def held_now(leg: LegRecord, context: EngineContext) -> int | None:
    """Return the units that the leg's side may take from what its broker holds in its product; None where that is not settled."""
    return units_to_take(context, leg.broker, leg.instrument_token, leg.product, Side(leg.transaction_type))


def not_held(leg: LegRecord, legs: Iterable[LegRecord], held: int) -> int:
    """Return how many of the units that another hand took off an exit its broker does not hold. The part's other exits there guard their units
    first."""
    others = [
        other for other in legs if other.leg_id != leg.leg_id and (other.part, other.broker) == (leg.part, leg.broker)
    ]
    whole = leg.quantity + leg.taken_off
    return min(leg.taken_off, max(0, whole - leg.filled_quantity - (held - sum(map(_unfilled, others)))))


def _before(plan: OpenPlan, leg_id: str | None) -> Iterator[LegRecord]:
    """Yield the plan's legs before this one; all without one."""
    return takewhile(lambda leg: leg.leg_id != leg_id, plan.record.legs)


def _unfilled(leg: LegRecord) -> int:
    """Return the units that a leg may still fill."""
    if leg.state.final or leg.given_up or leg.unsent:
        return 0
    wanted = leg.wanted.quantity if leg.wanted is not None and leg.wanted.quantity is not None else leg.quantity
    return max(leg.quantity, wanted) - leg.filled_quantity


def _is_alternative(root: Part, path: str, other: str) -> bool:
    """Whether two parts are below different children of a group in which one cancels the others."""
    for group in walk(root):
        if isinstance(group, OneCancelsOthersPart):
            own, others = ({_child_of(group, place)} for place in (path, other))
            if None not in own | others and own != others:
                return True
    return False


def _child_of(group: OneCancelsOthersPart, path: str) -> str | None:
    return next((child.path for child in group.children if any(part.path == path for part in walk(child))), None)
