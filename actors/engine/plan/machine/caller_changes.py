"""A caller's changes to a running plan: a part's numbers or its end, a resting leg's numbers (order-engine 2.6, rows 24-28). The prices
that another hand gave an order at its broker are such numbers too (row 24b).

All functions are pure: they return the parts' changed records, or raise Refusal. The next look finds what follows from a change.
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import TypeAlias

import attrs

from onebroker.actors.engine.orders.parent_records import LegChange
from onebroker.actors.engine.orders.part_state import Ending, PartRecord, PartState
from onebroker.actors.engine.plan.execution_kinds import AllAtOnce, Daily, Ladder
from onebroker.actors.engine.plan.machine.leg_actions import CLOSING, Leg
from onebroker.actors.engine.plan.machine.look import Inputs, Look, side_of
from onebroker.actors.engine.plan.machine.over_fills import asked_of
from onebroker.actors.engine.plan.machine.part_context import Context
from onebroker.actors.engine.plan.machine.share_actions import day_of
from onebroker.actors.engine.plan.machine.wanted_prices import Asked, price_of, wanted
from onebroker.actors.engine.plan.parts import (
    FromFill,
    FromPosition,
    OneCancelsOthersPart,
    OrderPart,
    Part,
    Rule,
    Share,
    Units,
    children_of,
    orders_of,
    walk,
)
from onebroker.actors.engine.plan.price_kinds import (
    Cap,
    Chase,
    Discretion,
    Fixed,
    FollowInstrument,
    NativeStop,
    OptionModel,
    Peg,
    Price,
    Stages,
    Trail,
)
from onebroker.actors.engine.plan.pricing.moving_stops import continue_from
from onebroker.config.messages import order_changes as shared
from onebroker.config.messages import plan_life as texts
from onebroker.config.messages import presets_exits as exit_texts
from onebroker.config.refusal import Refusal

Parts: TypeAlias = Mapping[str, PartRecord]


# --- parts ---------------------------------------------------------------------------------------------------------------


def find(root: Part, inputs: Inputs, path: str, doing: str) -> Part:
    """Return the part at a path that a caller may act on; `doing` is `cancelled` or `changed`.

    Refused: 404 when there is no such part; 409 when the part is over, or belongs to a preset that is kept whole until it starts.
    """
    part = next((part for part in walk(root) if part.path == path), None)
    if part is None:
        raise Refusal(404, shared.no_order_at(path))
    for above in _line(root, path):
        if above.preset is not None and above.path != root.path and inputs.parts[above.path].due_at is None:
            raise Refusal(409, texts.kept_whole(path, doing))
    state = inputs.parts[path].state
    if state.final:
        raise Refusal(409, texts.part_already(path, state.value))
    return part


def _line(root: Part, path: str) -> list[Part]:
    """Return the parts from the root down to a path."""
    line = [root]
    while line[-1].path != path:
        below = (child for child in children_of(line[-1]) if path == child.path or path.startswith(f"{child.path}."))
        line.append(next(below))
    return line


def cancel_part(root: Part, inputs: Inputs, path: str) -> Parts:
    """End a part as cancelled: at once if it has sent nothing, else once its brokers confirm (rows 26-28)."""
    part = find(root, inputs, path, "cancelled")
    _check_compulsory(root, inputs, part)
    record = inputs.parts[path]
    return {**inputs.parts, part.path: attrs.evolve(record, ending=Ending(state=PartState.CANCELLED, by_caller=True))}


def _check_compulsory(root: Part, inputs: Inputs, part: Part) -> None:
    """Refuse (409) to end a compulsory part while its entry can still fill, unless the entry is ended with it (3.11)."""
    entries = [entry for entry in walk(root) if isinstance(entry, OrderPart) and entry.each_fill is not None]
    for entry in entries:
        within = entry.path == part.path or entry.path.startswith(f"{part.path}.")
        ended = [order for order in orders_of(part) if order.compulsory and _hangs_on(entry, order)]
        if ended and not within and inputs.parts[entry.path].own is None:
            raise Refusal(409, exit_texts.COVER_STOP_STAYS)


def check_leg_cancel(root: Part, inputs: Inputs, leg: Leg) -> None:
    """Refuse to cancel a compulsory order by its own id, as `cancel_part` does."""
    _check_compulsory(root, inputs, next(part for part in walk(root) if part.path == leg.part))


def the_held_part(root: Part, inputs: Inputs) -> OrderPart:
    """Return the one part that is held; 409 when no part or more than one part is held (5.6)."""
    held = [
        part for part in walk(root) if isinstance(part, OrderPart) and inputs.parts[part.path].state is PartState.HELD
    ]
    if not held:
        raise Refusal(409, shared.NONE_HELD)
    if len(held) > 1:
        raise Refusal(409, shared.SEVERAL_HELD)
    return held[0]


def modify_part(root: Part, inputs: Inputs, path: str | None, change: LegChange) -> tuple[OrderPart, Parts]:
    """Change the numbers of a part that has sent nothing; return the part and the changed records (row 25)."""
    part = the_held_part(root, inputs) if path is None else find(root, inputs, path, "changed")
    if not isinstance(part, OrderPart):
        raise Refusal(404, shared.no_order_at(part.path))
    if any(leg.part == part.path for leg in inputs.legs):
        raise Refusal(409, shared.PART_HAS_SENT)
    record = inputs.parts[part.path]
    if change.quantity is not None:
        _check_reduces(part, Look(root, inputs), change.quantity)
        record = attrs.evolve(record, quantity=change.quantity)
    if change.price is not None:
        if not isinstance(part.price, Fixed | NativeStop) or isinstance(part.execution, Ladder):
            raise Refusal(409, texts.no_price_of_its_own(part.path))
        record = attrs.evolve(record, price=change.price)
    if change.trigger_price is not None:
        if not isinstance(part.price, NativeStop):
            raise Refusal(409, texts.no_trigger_of_its_own(part.path))
        record = attrs.evolve(record, trigger_price=change.trigger_price)
    record = attrs.evolve(record, changed_day=day_of(inputs.market.now).isoformat())
    return part, {**inputs.parts, part.path: record}


def _check_reduces(part: OrderPart, look: Look, quantity: int) -> None:
    """Refuse to make an exit larger (1.7)."""
    if not isinstance(part.quantity, FromFill):
        return
    base = next((entry for entry in walk(look.root) if isinstance(entry, OrderPart) and _hangs_on(entry, part)), None)
    now = 0 if base is None else look.filled(base)
    if quantity > now:
        raise Refusal(409, texts.only_reduced(now))


def _hangs_on(base: OrderPart, part: OrderPart) -> bool:
    return base.each_fill is not None and part.path.startswith(f"{base.path}.each_fill")


# --- legs ----------------------------------------------------------------------------------------------------------------


def check_leg_change(root: Part, leg: Leg, change: LegChange) -> None:
    """Refuse changes that a caller may not make to a leg: any field but three numbers, or a larger exit."""
    if set(change.given()) - {"price", "trigger_price", "quantity"}:
        raise Refusal(409, shared.ONLY_THREE)
    if change.quantity is None or change.quantity <= leg.quantity:
        return
    part = next(part for part in walk(root) if part.path == leg.part)
    assert isinstance(part, OrderPart)
    if isinstance(part.quantity, FromFill | FromPosition) or _group_of(root, part) is not None:
        raise Refusal(409, texts.only_reduced(leg.quantity))


def leg_changed(root: Part, inputs: Inputs, leg: Leg, change: LegChange) -> Parts:
    """Return the records after a broker accepted a caller's change of a leg. The part's rule goes on from the change (2.6)."""
    look = Look(root, inputs)
    part = look.by_path[leg.part]
    assert isinstance(part, OrderPart)
    if change.quantity is not None:
        _new_quantity(look, root, part, leg, change.quantity)
    if change.price is not None or change.trigger_price is not None:
        _new_price(look, part, leg, change)
    look.note(part, changed_day=day_of(look.now).isoformat())
    return look.parts


def changed_elsewhere(root: Part, inputs: Inputs, leg: Leg, change: LegChange) -> Parts:
    """Return the records after another hand changed a leg at its broker; `leg` as it was before. The part's rule goes on from the prices, as it
    does from a caller's (2.6). Units that were taken off or added stand in the leg itself (`Leg.taken_off`), because they hold for every way
    of sending: the part's total stays what its caller asked for."""
    look = Look(root, inputs)
    part = look.by_path[leg.part]
    assert isinstance(part, OrderPart)
    if leg.instance != CLOSING and (change.price is not None or change.trigger_price is not None):
        _new_price(look, part, leg, change)
        look.note(part, changed_day=day_of(look.now).isoformat())
    return look.parts


def _group_of(root: Part, part: OrderPart) -> OneCancelsOthersPart | None:
    """Return the shrink group that guards the part's quantity; None when there is none."""
    line = _line(root, part.path)
    above = line[-2] if len(line) > 1 else None
    return above if isinstance(above, OneCancelsOthersPart) and above.rule is Rule.SHRINK else None


def _new_quantity(look: Look, root: Part, part: OrderPart, leg: Leg, quantity: int) -> None:
    """Note the new quantity of a leg. What is taken off an exit in a group is taken off the group too, once: its siblings become as much smaller, and an
    exit with a quantity of its own has so much less of it. What is taken off an exit of fills stays off, and later fills are guarded all the same. A
    plain order's target changes with the leg; a split order keeps its total."""
    group, less = _group_of(root, part), leg.quantity - quantity
    if group is not None:
        _take(look, group, less)
        look.note(group, changed_day=day_of(look.now).isoformat())
    if isinstance(part.quantity, FromPosition):
        _new_row_quantity(look, part, leg, quantity)
    elif isinstance(part.quantity, Share) or (isinstance(part.quantity, FromFill) and group is None):
        _take(look, part, less)
    elif (
        isinstance(part.quantity, Units)
        and isinstance(part.execution, AllAtOnce | Daily)
        and not _is_whole(look, group, part)
    ):
        # The inputs may show the leg with its old or with its new quantity: it is left out, and counted by what the caller gave it.
        others = sum(other.spoken_for for other in look.legs(part) if other.leg_id != leg.leg_id)
        given_back = min(max(0, leg.taken_off), max(0, quantity - leg.quantity))
        own = quantity + leg.taken_off - given_back
        look.note(part, quantity=others + sum(order.quantity for order in look.on_the_way(part)) + own)


def _take(look: Look, part: Part, units: int) -> None:
    look.note(part, taken_by_caller=look.record(part).taken_by_caller + units)


def _is_whole(look: Look, group: OneCancelsOthersPart | None, part: OrderPart) -> bool:
    """Whether an order of a group is for all of the group's units: what is taken off it is taken off the group alone."""
    own = None if group is None else [asked_of(look, child) for child in group.children]
    return own is not None and asked_of(look, part) == max((units for units in own if units is not None), default=None)


def _new_row_quantity(look: Look, part: OrderPart, leg: Leg, quantity: int) -> None:
    """Close fewer units of a position: as many fewer as the caller took off the leg."""
    rows = look.record(part).rows or ()
    less = leg.quantity - quantity
    look.note(
        part, rows=tuple(attrs.evolve(row, units=row.units - less) if row.key == leg.instance else row for row in rows)
    )


def _new_price(look: Look, part: OrderPart, leg: Leg, change: LegChange) -> None:
    """Let the rule go on from the caller's prices. They hold for the whole part, so its later orders have them too.

    The rungs of a ladder have prices of their own, so a moved rung moves no other rung.
    """
    if isinstance(part.execution, Ladder):
        return
    record, price = look.record(part), _inner(price_of(look, part))
    memory, side = record.memory, side_of(part)
    match price:
        case Trail() if change.trigger_price is not None:
            look.remember(part, continue_from(price, memory, change.trigger_price, side))
        case Stages() if change.trigger_price is not None:
            look.remember(part, attrs.evolve(memory, stop=change.trigger_price, own_price=change.trigger_price))
        case Chase() if change.price is not None:
            look.remember(part, attrs.evolve(memory, base=change.price, since=look.now))
        case NativeStop() if memory.stop is not None:  # moved to break even: goes on from its present prices
            look.remember(part, attrs.evolve(memory, stop=None))
            look.note(
                part,
                price=leg.price if change.price is None else change.price,
                trigger_price=leg.trigger if change.trigger_price is None else change.trigger_price,
            )
        case Fixed() | NativeStop() | Discretion():
            look.note(
                part,
                price=record.price if change.price is None else change.price,
                trigger_price=record.trigger_price if change.trigger_price is None else change.trigger_price,
            )
            if isinstance(price, Discretion):  # the order has left the touch now
                look.remember(part, attrs.evolve(memory, base=None, since=look.now))
        case Peg() | FollowInstrument() | OptionModel() if change.price is not None:
            look.remember(part, attrs.evolve(memory, own_price=change.price))
            wanted(
                look, part, Context(), Asked(quantity=leg.quantity, leg=leg)
            )  # measures the caller's price against the market now
        case _:
            look.remember(part, attrs.evolve(memory, shift=memory.shift + _moved_by(leg, change)))


def _inner(price: Price) -> Price:
    return price.of if isinstance(price, Cap) else price


def _moved_by(leg: Leg, change: LegChange) -> Decimal:
    """Return by how many rupees the caller moved the order: the trigger of a stop, else the price."""
    new, old = (change.trigger_price, leg.trigger) if leg.trigger is not None else (change.price, leg.price)
    return Decimal(0) if new is None or old is None else new - old
