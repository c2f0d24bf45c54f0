"""How many open units of a plan no stop guards, because an exit was lost or cannot leave (order-engine 1.7, 2.2). Pure.

This is the only source: the parent's message, `/api/health` and the log take the number from here. An exit is lost when its broker
refused it, when it expired, or when someone else cancelled it. It is not lost when its own plan or its caller cancelled it, or when its
caller was told directly how it ended.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping

from onebroker.actors.engine.orders.parent_records import LegState
from onebroker.actors.engine.orders.part_state import PartState
from onebroker.actors.engine.plan.execution_kinds import Daily
from onebroker.actors.engine.plan.machine.held_units import held_for, still_open
from onebroker.actors.engine.plan.machine.jumped_stops import is_jumped, nobody_takes
from onebroker.actors.engine.plan.machine.leg_actions import Leg, Reason
from onebroker.actors.engine.plan.machine.look import Look, side_of
from onebroker.actors.engine.plan.machine.open_units import is_guard
from onebroker.actors.engine.plan.machine.over_fills import asked_of, bases_of
from onebroker.actors.engine.plan.machine.overdue import is_of_earlier_day
from onebroker.actors.engine.plan.machine.position_closes import is_given_up
from onebroker.actors.engine.plan.machine.refused_exits import follows_refusal, stands
from onebroker.actors.engine.plan.machine.swaps import tries_again, was_refused_late
from onebroker.actors.engine.plan.machine.verdicts import goes_again
from onebroker.actors.engine.plan.parts import (
    FromFill,
    FromPosition,
    OneCancelsOthersPart,
    OrderPart,
    Part,
    Rule,
    SequencePart,
    TogetherPart,
    own_orders_of,
    walk,
)
from onebroker.actors.engine.plan.price_kinds import Marketable, is_stop, uncapped
from onebroker.config.messages import plan_life as texts


def ended_by_hand(look: Look) -> Mapping[str, int]:
    """Return instrument -> units that are open and whose stop a caller has ended: its order, its part, or a part above."""
    found: Counter[str] = Counter()
    for base, exits in bases_of(look):
        units = _ended_units(look, exits)
        if units:
            found[exits[0].instrument_id] += int(min(units, _unguarded(look, base, exits)))
    for part in _standing_alone(look.root):
        exits = list(own_orders_of(part))
        units = _ended_units(look, exits)
        if units:
            found[exits[0].instrument_id] += int(min(units, _unclosed(look, exits)))
    return {instrument_id: units for instrument_id, units in found.items() if units > 0}


def _ended_units(look: Look, exits: list[OrderPart]) -> float:
    """Return the units whose guard a caller has ended: infinity for a whole guard; of a guard that goes on with its other orders (one for each holder),
    the units of the orders that he cancelled."""
    if any(is_ended_by_hand(look, order) for order in exits):
        return math.inf
    goes_on = (
        order
        for order in exits
        if is_guard(order, look.record(order)) and look.record(order).own is None and look.live(order)
    )
    return sum(leg.unfilled for order in goes_on for leg in look.legs(order) if leg.cancel_reason == Reason.CALLER)


def is_ended_by_hand(look: Look, order: OrderPart) -> bool:
    """Whether a caller has ended a guard that a broker had taken, or that waited for its condition."""
    record = look.record(order)
    if record.own is None or not is_guard(order, look.record(order)):
        return False
    armed = order.when is not None and record.due_at is not None
    if record.ending is not None and record.ending.by_caller:
        return armed or any(leg.accepted for leg in look.legs(order))
    return any(
        leg.state is LegState.CANCELLED and leg.cancel_reason == Reason.CALLER and leg.unfilled > 0
        for leg in look.legs(order)
    )


def unprotected(look: Look) -> Mapping[str, int]:
    """Return instrument -> units that are open without a stop; empty while every exit is in place."""
    found: Counter[str] = Counter()
    for base, exits in bases_of(look):
        found[exits[0].instrument_id] += without_stop(look, base, exits)
    for part in _standing_alone(look.root):
        if isinstance(part, OrderPart) and isinstance(part.quantity, FromPosition):
            found.update(_rows_left(look, part))
        else:
            first = next(own_orders_of(part))
            found[first.instrument_id] += _left_of(look, part)
    for part in walk(look.root):
        if isinstance(part, OrderPart) and _closes_itself(look, part):
            found[part.instrument_id] += _kept(look, part)
    return {instrument_id: units for instrument_id, units in found.items() if units > 0}


def without_stop(look: Look, base: Part, exits: list[OrderPart]) -> int:
    """Return the filled units of `base` that its exits have not closed and that none of their stops guards.

    0 unless one of the exits is lost or held up; of an exit that goes on with its other orders, only the units of the lost order count.
    """
    if any(is_lost(look, order) or is_held_up(look, order) for order in exits):
        return _unguarded(look, base, exits)
    return min(_lost_units(look, exits), _left_by_lost(look, base, exits))


def _lost_units(look: Look, exits: list[OrderPart]) -> int:
    """Return the units of single orders that were lost, while their exit goes on with its others: it has an order for each rung, slice, fill or broker.
    Where there are stops, only these count."""
    guards = [order for order in exits if is_guard(order, look.record(order))]
    goes_on = [order for order in guards or exits if look.record(order).own is None and look.live(order)]
    return sum(leg.unfilled for order in goes_on for leg in look.legs(order) if _is_lost_order(leg))


def _is_lost_order(leg: Leg) -> bool:
    """Whether another hand has cancelled an order, or its broker has refused it. (What goes again is guarded again, and so does not count.)"""
    cancelled = leg.state is LegState.CANCELLED and leg.cancel_reason is None and leg.accepted
    return (cancelled or leg.state is LegState.REJECTED) and not leg.immediate


def _left_by_lost(look: Look, base: Part, exits: list[OrderPart]) -> int:
    resting = (
        0
        if any(is_guard(order, look.record(order)) for order in exits)
        else sum(leg.unfilled for order in exits for leg in look.live(order))
    )
    return max(0, _unguarded(look, base, exits) - resting)


def _unguarded(look: Look, base: Part, exits: list[OrderPart]) -> int:
    """Return the units that are still open, as far as their brokers hold them, less those that a stop guards."""
    open_units = look.kept(base) - sum(look.filled(order) for order in exits)
    return int(max(0, min(open_units, still_open(look, base, exits)) - _guarded(look, exits)))


def lost_targets(look: Look) -> Iterator[str]:
    """Yield a sentence for each target that its broker has refused while a stop still guards its units: no units are open without a stop, and yet what
    was due does not happen."""
    for base, exits in bases_of(look):
        if still_open(look, base, exits) and not without_stop(look, base, exits):
            yield from _lost_targets(look, exits)
    for part in _standing_alone(look.root):
        exits = list(own_orders_of(part))
        if len(exits) > 1 and not _left_of(look, part) and _open_alone(look, exits):
            yield from _lost_targets(look, [order for order in exits if not _is_told(look, order)])


def _lost_targets(look: Look, exits: list[OrderPart]) -> Iterator[str]:
    for order in exits:
        record = look.record(order)
        if is_guard(order, look.record(order)) or record.own not in (PartState.REJECTED, PartState.FAILED):
            continue
        refused = [leg for leg in look.legs(order) if leg.state is LegState.REJECTED]
        if refused:
            yield texts.target_refused(refused[-1].broker, refused[-1].unfilled, refused[-1].status_message)
        elif not look.legs(order) and record.status_message is not None:
            yield texts.target_not_sent(record.status_message)  # a check refused it, or no broker could take it


def left_open(look: Look, part: Part) -> int:
    """Return the units that a part, or the `first` of a sequence, has left open without a stop."""
    base = part.first if isinstance(part, SequencePart) else part
    found = (without_stop(look, entry, exits) for entry, exits in bases_of(look) if entry is base)
    return next(found, 0)


def is_lost(look: Look, order: OrderPart) -> bool:
    """Whether a stop, or any other exit, has ended for a reason other than its plan, its caller or its fills."""
    record = look.record(order)
    if not (order.is_exit or is_stop(order.price)) or record.own is None:
        return False
    if record.own in (PartState.REJECTED, PartState.FAILED):
        return True
    if _traded_in_part(look, order) or _ran_out_of_time(look, order):
        return True
    if record.ending is not None or record.own not in (PartState.CANCELLED, PartState.EXPIRED):
        return record.ending is not None and record.ending.lost
    ended = [
        leg for leg in look.legs(order) if leg.unfilled > 0 and leg.state in (LegState.CANCELLED, LegState.EXPIRED)
    ]
    return any(leg.cancel_reason is None for leg in ended)


def _traded_in_part(look: Look, order: OrderPart) -> bool:
    """Whether a daily stop is over because it has traded, and some of its units have not: a limit that the market passed, a holder that refused its
    order. No further day sends them (3.13)."""
    if not isinstance(order.execution, Daily) or look.record(order).own is not PartState.COMPLETED:
        return False
    return any(leg.unfilled > 0 and leg.cancel_reason is None and not leg.never_reached for leg in look.legs(order))


def _ran_out_of_time(look: Look, order: OrderPart) -> bool:
    """Whether an exit fired, nobody waited for its answer, and its time to fill is over (`fill_within_seconds`, 3.29)."""
    record = look.record(order)
    ending, fired = record.ending, order.when is not None and record.fired
    over = record.own is PartState.EXPIRED and ending is not None and not (ending.by_caller or ending.close)
    price = uncapped(order.price)
    return over and fired and isinstance(price, Marketable) and price.fill_within_seconds is not None


def is_held_up(look: Look, order: OrderPart) -> bool:
    """Whether an exit that is wanted now cannot leave, or has no live order after an order that certainly never reached its broker, or that filled at the
    smaller size that its holder gave it."""
    if look.record(order).own is not None:
        return False
    if order.path in look.held_up:
        return True
    live = look.live(order)
    if not live:
        fired = order.when is not None and look.record(order).fired
        return any(
            goes_again(order, leg)
            or ((is_guard(order, look.record(order)) or fired) and (leg.may_grow or tries_again(look, order, leg)))
            for leg in look.legs(order)
        )
    # A target that is swapped in follows the confirmed end of its stop, which had the shares: why it was refused is gone.
    return is_guard(order, look.record(order)) and not any(stands(look, leg, look.legs(order)) for leg in live)


def _guarded(look: Look, exits: list[OrderPart]) -> float:
    """Return the units that have a stop at a broker, on its way there, or in the engine."""
    units: float = sum(_awaited(look, stop) for stop in exits)
    for stop in exits:
        held_up = stop.path in look.held_up  # another attempt guards nothing until its broker has accepted it
        if is_stop(stop.price):
            standing = (
                leg
                for leg in look.live(stop)
                if not (held_up and (is_jumped(look, stop, leg) or _is_old(look, stop, leg)))
                and stands(look, leg, look.legs(stop))
            )
            units += sum(leg.unfilled for leg in standing if leg.accepted or not held_up)
            doubted = held_up or follows_refusal(look.legs(stop))
            units += 0 if doubted else sum(new.quantity for new in look.on_the_way(stop))
    return units


def _awaited(look: Look, stop: OrderPart) -> float:
    """Return the units of a guard that waits in the engine for its price, and can see it; infinity for all that its entry fills."""
    record = look.record(stop)
    waits = stop.when is not None and record.due_at is not None and record.own is None and not record.fired
    if not waits or not is_guard(stop, record) or stop.path in look.held_up:
        return 0
    if isinstance(stop.quantity, FromFill):
        return math.inf if stop.quantity.ratio >= 1 and stop.quantity.most is None else 0
    return max(0, (asked_of(look, stop) or 0) - look.filled(stop))


def _is_old(look: Look, stop: OrderPart, leg: Leg) -> bool:
    session = look.session(stop, look.now)
    return session is not None and is_of_earlier_day(leg, session)


# --- exits of positions that the plan has not opened itself ----------------------------------------------------------------


def _standing_alone(part: Part) -> Iterator[Part]:
    """Yield the exits that hang on no entry of the plan: single order parts, and groups that share units."""
    match part:
        case OrderPart(is_exit=True):
            yield part
        case OneCancelsOthersPart(rule=Rule.SHRINK | Rule.TRIGGER):
            if all(order.is_exit for order in own_orders_of(part)):
                yield part
        case OneCancelsOthersPart() | TogetherPart():
            for child in part.children:
                yield from _standing_alone(child)
        case SequencePart():
            yield from _standing_alone(part.first)


def _left_of(look: Look, part: Part) -> int:
    """Return the units that such an exit, or group of exits, should have closed but has not, less the units that a stop guards.

    An exit does not count as lost if its caller was told how it ended (`_is_told`).
    """
    exits = list(own_orders_of(part))
    goes_on = (
        len(exits) > 1 and not look.record(part).state.final
    )  # the others still act: a group without its stop is news to nobody else
    lost = [
        order
        for order in exits
        if is_lost(look, order) and (not _is_told(look, order) or (goes_on and is_stop(order.price)))
    ]
    if lost or any(is_held_up(look, order) for order in exits):
        return _unclosed(look, exits)
    untold = [order for order in exits if not _is_told(look, order)]
    return min(_lost_units(look, untold), _unclosed(look, exits)) if untold else 0


def _unclosed(look: Look, exits: list[OrderPart]) -> int:
    return int(max(0, _open_alone(look, exits) - _guarded(look, exits)))


def _open_alone(look: Look, exits: list[OrderPart]) -> int:
    """Return the units that such exits have still to close, as far as they are held, and no stop of another plan rests for them."""
    asked = max((asked_of(look, order) or 0 for order in exits), default=0)
    open_units = asked - sum(look.filled(order) for order in exits)
    for order in exits:
        held = held_for(look, order)
        if held is not None:
            elsewhere = look.market.stopped_by_others(order.broker, order.instrument_id, order.product, side_of(order))
            open_units = min(open_units, held - elsewhere)
    return max(0, open_units)


def _is_told(look: Look, order: OrderPart) -> bool:
    """Whether the caller of such an exit knows how it ended, or looks after it.

    Such an exit left as soon as its turn came. It was refused then, or it rested where the caller cancels it. An accepted stop is
    different: it was there to guard, so its loss counts no matter who cancelled it. Nor has he heard of a refusal in the broker's book, after
    the answer that the order was accepted; over nothing held, the order was his entry (1.13).
    """
    record = look.record(order)
    if was_refused_late(look, order) and record.armed_over != 0:
        return False
    if record.started_at is not None and record.due_at is not None and record.started_at > record.due_at:
        return False
    return not (is_stop(order.price) and any(leg.accepted for leg in look.legs(order)))


def _rows_left(look: Look, part: OrderPart) -> Mapping[str, int]:
    """Return instrument -> units of positions whose close cannot leave, or has ended without them after it took their stop away."""
    found: Counter[str] = Counter()
    record, has_ended = look.record(part), look.record(part).own is not None
    for row in (*record.cleared_first, *(record.rows or ())):
        legs = [leg for leg in look.legs(part) if leg.instance == row.key]
        rests = nobody_takes(look, row.instrument_id, row.closing_side, legs) is not None and part.path in look.held_up
        out = sum(leg.committed if stands(look, leg, legs) and not rests else leg.filled for leg in legs)
        left = min(row.units, abs(row.quantity)) - out
        if row.cleared and (has_ended or is_given_up(look, part, row)):
            held = look.market.held(row.broker, row.instrument_id, row.product, row.closing_side)
            found[row.instrument_id] += max(0, left if held is None else min(left, held))
        elif not has_ended and part.path in look.held_up and row.refusal is None:
            found[row.instrument_id] += left
    return found


# --- fills that a part closes itself at the end of its lifetime ------------------------------------------------------------


def _closes_itself(look: Look, part: OrderPart) -> bool:
    ending = look.record(part).ending
    return ending is not None and ending.close and look.record(part).own is None and part.path in look.held_up


def _kept(look: Look, part: OrderPart) -> int:
    exits = [] if part.each_fill is None else list(own_orders_of(part.each_fill))
    return min(look.kept(part) - sum(look.filled(order) for order in exits), still_open(look, part, exits))
