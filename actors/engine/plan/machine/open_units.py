"""What a parent has opened and not closed, and which of its orders guard it, from its record alone (order-engine 1.11, 2.2). Pure.

A running plan looks at itself (`unprotected_units.py`). This module answers for whoever has only the record: the answer of a cancel, the
view of a parent, a parent that a caller has ended and that nobody looks at any more. It counts every fill, whenever it came. So a fill in the
very moment of the cancel is in the number, and so is what had filled before.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from onebroker.actors.engine.orders.parent_records import LegRecord, ParentRecord
from onebroker.actors.engine.orders.part_state import PartRecord, PartState, RowToClose
from onebroker.actors.engine.plan.machine.leg_actions import CLOSING, Reason
from onebroker.actors.engine.plan.machine.over_fills import closed_by_base, exits_by_base
from onebroker.actors.engine.plan.parts import (
    Direction,
    OneCancelsOthersPart,
    OrderPart,
    Part,
    PriceAt,
    Rule,
    TimeOfDay,
    own_orders_of,
    walk,
)
from onebroker.actors.engine.plan.price_kinds import is_stop
from onebroker.actors.engine.plan.stored_tree import decode_plan
from onebroker.config.messages import plan_life as texts
from onebroker.config.vocabulary import Side

NO_OPEN_UNITS: Mapping[str, int] = {}


def open_units(record: ParentRecord, root: Part | None = None) -> Mapping[str, int]:
    """Return instrument -> units that the plan's entries have filled and its exits have not closed; empty for an order without a plan.

    Only entries on which exits hang count, and entries whose fills the end of a lifetime closes, and positions whose stop a close of this plan has
    taken away. Any other order was never meant to be closed by this parent. `root`: the plan's tree, where the caller has decoded it already.
    """
    if record.plan is None:
        return NO_OPEN_UNITS
    found = _left_by_closes(record)
    for base, exits in closed_by_base(decode_plan(record.plan) if root is None else root):
        own = list(own_orders_of(base))
        entries, closers = {order.path for order in own}, {order.path for order in exits}
        opened = sum(leg.filled_quantity for leg in record.legs if leg.part in entries and leg.instance != CLOSING)
        closed = sum(leg.filled_quantity for leg in record.legs if _takes(leg, entries, closers))
        found[own[0].instrument_id] += opened - closed
    return {instrument_id: units for instrument_id, units in found.items() if units > 0}


def _left_by_closes(record: ParentRecord) -> Counter[str]:
    """Return instrument -> units of positions that a close of the plan has cleared and not closed: it has taken away what guarded them."""
    found: Counter[str] = Counter()
    for path, part in record.parts.items():
        for row in cleared_rows(part):
            filled = sum(leg.filled_quantity for leg in record.legs if (leg.part, leg.instance) == (path, row.key))
            found[row.instrument_id] += max(0, min(row.units, abs(row.quantity)) - filled)
    return found


def cleared_rows(part: PartRecord) -> Iterator[RowToClose]:
    """Yield the positions for which a close has ended what guarded them."""
    yield from part.cleared_first
    yield from (row for row in part.rows or () if row.cleared)


def _takes(leg: LegRecord, entries: set[str], closers: set[str]) -> bool:
    return leg.part in closers or (leg.part in entries and leg.instance == CLOSING)


def is_guard(order: OrderPart, record: PartRecord | None = None) -> bool:
    """Whether an exit limits a loss: a stop, or an exit that waits for a figure, or for a price on the side of the loss. A target limits none, nor does a
    time. `record` knows the side that was taken when the exit was armed, where its caller has given none."""
    if not order.is_exit or is_stop(order.price) or order.when is None:
        return order.is_exit and is_stop(order.price)
    if isinstance(order.when, PriceAt) and order.when.instrument_id == order.instrument_id:
        direction = order.when.direction or (None if record is None else record.directions.get(""))
        if direction is not None:
            return direction == (Direction.BELOW if order.transaction_type == Side.SELL else Direction.ABOVE)
    return not isinstance(order.when, TimeOfDay) and not order.hold


def warnings_of(record: ParentRecord, *, path: str | None = None, leg_id: str | None = None) -> tuple[str, ...]:
    """Return what a caller must know before he ends one order (`leg_id`), a part (`path`) or the whole parent: the units that stay open without
    their stop. Nothing for a stop that has nothing to guard yet."""
    if record.plan is None:
        return ()
    name, root = record.routed_from or record.synthetic_type, decode_plan(record.plan)
    ended, every = list(_guards_at(record, root, path)), list(_guards_at(record, root, None))
    units = 0
    for place in dict.fromkeys(_triggered_at(root, order) for order in ended):
        own = [_guarded(record, root, order, leg_id) for order in ended if _triggered_at(root, order) == place]
        stays = [order for order in every if order not in ended and _triggered_at(root, order) == place]
        units += max(0, max(own) - max((_guarded(record, root, order, None) for order in stays), default=0))
    return (texts.stop_taken_away(name, record.parent_order_id, units),) if units > 0 else ()


def _triggered_at(root: Part, order: OrderPart) -> str:
    """Return the path of the group of which one fires and ends the others, and that has the order: a hidden stop and its backstop are for the same units.
    The order's own path if there is none."""
    for part in walk(root):
        is_group = isinstance(part, OneCancelsOthersPart) and part.rule is Rule.TRIGGER
        if is_group and any(one is order for one in own_orders_of(part)):
            return part.path
    return order.path


def _guards_at(record: ParentRecord, root: Part, path: str | None) -> Iterator[OrderPart]:
    """Yield the guards that end with a part (None: with the whole parent). What hangs on the fills of an entry stays when the entry's rest is cancelled."""
    for part in walk(root):
        if part.path != path and path is not None:
            continue
        orders = walk(root) if path is None else own_orders_of(part)
        for order in orders:
            if isinstance(order, OrderPart) and is_guard(order, record.parts.get(order.path)):
                yield order
        return


def _guarded(record: ParentRecord, root: Part, order: OrderPart, leg_id: str | None) -> int:
    """Return the units of a guard's live orders; of a guard that waits unsent, the units that it would send."""
    legs = [leg for leg in record.legs if leg.part == order.path]
    if leg_id is not None:
        legs = [leg for leg in legs if leg.leg_id == leg_id]
    live = sum(leg.quantity - leg.filled_quantity for leg in legs if not leg.state.final)
    now = record.parts.get(order.path, PartRecord())
    waits = leg_id is None and not legs and order.when is not None and now.due_at is not None and now.own is None
    if not waits or now.ending is not None:
        return live
    size = getattr(order.quantity, "quantity", None)
    return size if isinstance(size, int) else _open_above(record, root, order)


def _open_above(record: ParentRecord, root: Part, order: OrderPart) -> int:
    """Return the units that the entry above an exit has open, as far as the exit is for them."""
    for base, exits in closed_by_base(root):
        if any(one.path == order.path for one in exits):
            own, closers = {one.path for one in own_orders_of(base)}, {one.path for one in exits}
            opened = sum(leg.filled_quantity for leg in record.legs if leg.part in own and leg.instance != CLOSING)
            units = opened - sum(leg.filled_quantity for leg in record.legs if _takes(leg, own, closers))
            share = getattr(order.quantity, "ratio", getattr(order.quantity, "share", 1))
            return max(0, min(units, int(opened * share)))
    return 0


def left_by_caller(record: ParentRecord) -> Mapping[str, int]:
    """Return instrument -> units that were open, with a guard, when a caller ended the whole parent, and that its fills still leave open.

    For a guard without an entry: the units that it had still to close.
    """
    if record.plan is None:
        return NO_OPEN_UNITS
    root = decode_plan(record.plan)
    guards = list(_guards_at(record, root, None))
    found = Counter(open_units(record, root)) if guards else _left_by_closes(record)
    return _with_alone(record, root, found, guards)


def left_unguarded(record: ParentRecord) -> Mapping[str, int]:
    """Return those units of `left_by_caller` that no guard guarded any more when the caller ended the parent: the plan itself had ended each of them, or
    their broker had. The caller has ended no stop then."""
    if record.plan is None:
        return NO_OPEN_UNITS
    guards = list(_guards_at(record, decode_plan(record.plan), None))
    guarded = {order.instrument_id for order in guards if not _had_ended(record, order)}
    ended = {order.instrument_id for order in guards} - guarded
    return {one: units for one, units in left_by_caller(record).items() if one in ended} if ended else NO_OPEN_UNITS


def still_guarded(record: ParentRecord) -> Mapping[str, int]:
    """Return instrument -> units of guards that may still be at a broker: their cancel is not confirmed."""
    if record.plan is None:
        return NO_OPEN_UNITS
    found: Counter[str] = Counter()
    for order in _guards_at(record, decode_plan(record.plan), None):
        legs = (leg for leg in record.legs if leg.part == order.path and not leg.state.final)
        found[order.instrument_id] += sum(leg.quantity - leg.filled_quantity for leg in legs)
    return found


def why_unguarded(root: Part, parts: Mapping[str, PartRecord], instrument_ids: Iterable[str]) -> Mapping[str, str]:
    """Return instrument -> what its exits say, where units of it are open without a stop and an exit says why."""
    said: dict[str, list[str]] = {instrument_id: [] for instrument_id in instrument_ids}
    for part in walk(root):
        if isinstance(part, OrderPart) and part.instrument_id in said:
            now = parts.get(part.path, PartRecord())
            closes = part.is_exit or (now.ending is not None and now.ending.close)
            reason = None if now.state is PartState.COMPLETED or not closes else now.held_up or now.status_message
            if reason is not None and reason not in said[part.instrument_id]:
                said[part.instrument_id].append(reason)
    return {instrument_id: "; ".join(reasons) for instrument_id, reasons in said.items() if reasons}


def _had_ended(record: ParentRecord, order: OrderPart) -> bool:
    now = record.parts.get(order.path, PartRecord())
    by_hand = any(leg.part == order.path and leg.cancel_reason == Reason.CALLER for leg in record.legs)
    by_hand = by_hand or (now.ending is not None and now.ending.by_caller)
    return (now.own is not None or now.ending is not None) and not by_hand


def left_by_halt(record: ParentRecord) -> Mapping[str, int]:
    """Return instrument -> units that were open when a flatten or a close halted the parent: what its fills leave open, guarded or not, and what
    its exits without an entry had still to close of the units over which they were armed."""
    if record.plan is None:
        return NO_OPEN_UNITS
    root = decode_plan(record.plan)
    exits = (order for order in walk(root) if isinstance(order, OrderPart) and order.is_exit)
    armed = [order for order in exits if record.parts.get(order.path, PartRecord()).armed_over != 0]
    return _with_alone(record, root, Counter(open_units(record, root)), armed)


def _with_alone(record: ParentRecord, root: Part, found: Counter[str], exits: Iterable[OrderPart]) -> Mapping[str, int]:
    """Return the units found, with those that these exits, as far as they have no entry, had still to close; exits in one instrument close the same."""
    hanging = {order.path for _, taken in exits_by_base(root) for order in taken}
    alone: dict[str, int] = {}
    for order in exits:
        if order.path not in hanging:
            alone[order.instrument_id] = max(alone.get(order.instrument_id, 0), _unclosed(record, order))
    return {instrument_id: units for instrument_id, units in (found + Counter(alone)).items() if units > 0}


def _unclosed(record: ParentRecord, order: OrderPart) -> int:
    """Return the units that a guard without an entry has not closed: of an order that a broker took, or of a condition that was armed."""
    legs = [leg for leg in record.legs if leg.part == order.path]
    size, now = getattr(order.quantity, "quantity", None), record.parts.get(order.path, PartRecord())
    armed = order.when is not None and now.due_at is not None
    if not isinstance(size, int) or not (armed or any(leg.order_id is not None for leg in legs)):
        return 0
    over = size if now.armed_over is None else min(size, now.armed_over)
    return (over or size) - sum(leg.filled_quantity for leg in legs)
