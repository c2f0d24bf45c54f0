"""Fills of a plan after its end (order-engine 2.2 rows 13c, 43). A plan that has ended is not looked at any more, but its units are still
counted, shown, and where possible guarded. Pure.
"""

from collections.abc import Mapping

import attrs

from onebroker.actors.engine.orders.parent_records import Flattened, LegRecord, ParentRecord, ParentState
from onebroker.actors.engine.orders.states import ParentEvent, moved_parent
from onebroker.actors.engine.orders.transitions import LATE
from onebroker.actors.engine.plan.machine.leg_actions import CLOSING
from onebroker.actors.engine.plan.machine.open_units import (
    left_by_caller,
    left_by_halt,
    left_unguarded,
    open_units,
    still_guarded,
)
from onebroker.actors.engine.plan.machine.over_fills import closed_by_base
from onebroker.actors.engine.plan.parts import Part, own_orders_of

_ENDED_BY_ITSELF = frozenset({ParentState.REJECTED, ParentState.FAILED})
_ENDED_BY_OTHERS = frozenset({ParentState.CANCELLING, ParentState.CANCELLED, ParentState.HALTED})


def is_ended_by_others(record: ParentRecord, root: Part) -> bool:
    """Whether a caller or a flatten has ended the plan. A plan whose last exit somebody cancelled at the broker is `cancelled` too, but it has
    ended by itself: its root has ended, and what its last look said of unguarded units stays true."""
    own = record.parts.get(root.path)
    by_itself = record.state is ParentState.CANCELLED and own is not None and own.state.final
    return record.state in _ENDED_BY_OTHERS and not by_itself


def with_late_fill(record: ParentRecord, root: Part, leg: LegRecord) -> ParentRecord:
    """Return the record of an ended plan after a leg has changed to `leg`, before the leg is in the record; the same object when no unit of an
    entry or exit has filled. If the plan ended by itself because the entry counted as not sent, it goes on, and the exits are placed. If a
    caller or a flatten ended it, the plan sends nothing more, and counts the units."""
    before = record.leg(leg.leg_id)
    grown = leg.filled_quantity - (0 if before is None else before.filled_quantity)
    if grown <= 0:
        return record
    for base, exits in closed_by_base(root):
        entries = {order.path for order in own_orders_of(base)}
        if exits and leg.part in entries and leg.cancel_reason == LATE and record.state in _ENDED_BY_ITSELF:
            return moved_parent(record, ParentEvent.TURNED_UP)
        sign = (leg.part in entries) - any(leg.part == order.path for order in exits)
        if sign and leg.instance != CLOSING:
            units = record.filled_after_end.get(leg.instrument_id, 0) + sign * grown
            return attrs.evolve(record, filled_after_end={**record.filled_after_end, leg.instrument_id: units})
    return record


def left_unprotected(record: ParentRecord) -> Mapping[str, int]:
    """Return the units that nothing closes, by instrument id: of instruments in which something filled after the end, of a plan whose units a flatten
    has left open, and of a plan that a caller has ended when its guards had ended before. All fills count, also those from before the end."""
    if record.flattened is Flattened.LEFT:
        return left_by_halt(record)
    late = late_units(record)
    every = open_units(record) if late else {}
    return {**_left_unguarded(record), **{one: max(every.get(one, 0), units) for one, units in late.items()}}


def _left_unguarded(record: ParentRecord) -> Mapping[str, int]:
    return left_unguarded(record) if record.state in (ParentState.CANCELLING, ParentState.CANCELLED) else {}


def late_units(record: ParentRecord) -> Mapping[str, int]:
    """Return the units that filled after a plan was ended or cancelled and that nothing closes, by instrument id."""
    if record.state not in _ENDED_BY_OTHERS:
        return {}
    return {instrument_id: units for instrument_id, units in record.filled_after_end.items() if units > 0}


def ended_by_caller(record: ParentRecord) -> Mapping[str, int]:
    """Return the units that a caller left open when he ended the parent, whose stop has ended with it. While the cancel of another order is under way,
    the stops that still rest guard their units; a flatten closes what it leaves. Not the units whose stop had ended before (`left_unprotected`)."""
    if record.state not in (ParentState.CANCELLING, ParentState.CANCELLED):
        return {}
    unguarded, guarded = left_unguarded(record), still_guarded(record)
    left = {one: units - guarded.get(one, 0) for one, units in left_by_caller(record).items() if one not in unguarded}
    return {one: units for one, units in left.items() if units > 0}
