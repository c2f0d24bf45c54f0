"""The parts above order parts in one look: whose turn it is, how siblings affect each other, how they end (order-engine 1.2, 1.7)."""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import assert_never

import attrs

from onebroker.actors.engine.orders.parent_records import LegState
from onebroker.actors.engine.orders.part_state import Ending, PartState
from onebroker.actors.engine.plan.machine.conditions import too_late
from onebroker.actors.engine.plan.machine.group_units import guard_of, less_taken, shares_apart, shares_of, unfilled
from onebroker.actors.engine.plan.machine.held_units import limit_of_group
from onebroker.actors.engine.plan.machine.leg_actions import Reason
from onebroker.actors.engine.plan.machine.leg_changes import end
from onebroker.actors.engine.plan.machine.lifetimes import applies, counts_days, ending_of, over, waits_days
from onebroker.actors.engine.plan.machine.look import Look, side_of
from onebroker.actors.engine.plan.machine.order_parts import fires, is_to_close, state_now, waits_to_close, work_order
from onebroker.actors.engine.plan.machine.over_fills import goes_on
from onebroker.actors.engine.plan.machine.overdue import block, cannot_leave, has_no_price, has_not_left, is_overdue
from onebroker.actors.engine.plan.machine.part_context import Context
from onebroker.actors.engine.plan.machine.share_actions import judge_action, outlives_day, waits_for_action
from onebroker.actors.engine.plan.machine.swaps import (
    Group,
    is_group,
    is_pair,
    left_behind,
    lent,
    reorder,
    swaps,
    waits_for_stop,
)
from onebroker.actors.engine.plan.machine.swaps import room as room_of
from onebroker.actors.engine.plan.machine.unprotected_units import is_lost, left_open, unprotected
from onebroker.actors.engine.plan.machine.verdicts import goes_again, together
from onebroker.actors.engine.plan.machine.wanted_prices import entry_average, trigger_of
from onebroker.actors.engine.plan.parts import (
    FromFill,
    Lifetime,
    OneCancelsOthersPart,
    OnEnd,
    OrderPart,
    Part,
    Rule,
    SequencePart,
    Share,
    StartThen,
    TogetherPart,
    children_of,
    links_of,
    own_orders_of,
    walk,
)
from onebroker.actors.engine.plan.price_kinds import Marketable, NativeStop, is_stop, uncapped
from onebroker.actors.engine.plan.pricing.moving_stops import better
from onebroker.config.messages import plan_life as texts

DROPPED = Ending(state=PartState.CANCELLED)
"""Cancelled by the plan's own logic."""
UNFILLED = Ending(state=PartState.CANCELLED, unfilled=True)
"""Cancelled because the part it hangs on ended without a fill. If a fill comes late, the part begins after all."""
_SHOWN_FIRST = (PartState.WORKING, PartState.SENDING, PartState.CANCELLING, PartState.HELD, PartState.WAITING)


def work(look: Look, part: Part, context: Context) -> None:
    """Look once at a part and all parts below it."""
    if isinstance(part, OrderPart):
        _order(look, part, context)
    else:
        _group(look, part, context)


# --- an order part with its link -----------------------------------------------------------------------------------------


def _order(look: Look, part: OrderPart, context: Context) -> None:
    work_order(look, part, context)
    record = look.record(part)
    link = part.each_fill
    if link is not None:
        dropped = record.own is not None and not look.filled(part)
        closing = record.ending is not None and record.ending.close
        # Then the part that hangs on this one is closed by the same lifetime.
        by_group = any(lifetime.on_end is OnEnd.CLOSE_FILLED for lifetime in context.over)
        below = Context(
            turn=look.filled(part) > 0,
            base=part,
            base_done=record.own is not None,
            entry=part,
            entry_done=record.own is not None,
            base_closes=closing,
            ending=UNFILLED if dropped else DROPPED if closing and not by_group else None,
            over=context.over,
            lives_on=context.lives_on or context.waits_on or counts_days(part),
            outlives=outlives_day(part, context.outlives),
        )
        if look.filled(part):
            _take_up(look, link, part)
        work(look, link, below)
        _without_stop(look, part, link)
        _uncovered(look, part, link)
    record = look.record(part)
    if record.own is None:
        state = state_now(look, part)
    elif waits_to_close(look, part, context):
        state = PartState.WORKING
    elif link is None:
        state = record.own
    else:
        below_state = look.record(link).state
        counted = [record.own, *([below_state] if look.record(link).due_at is not None else [])]
        state = _ended_together(look, part, counted) if below_state.final else PartState.WORKING
    if state is not record.state:
        look.note(part, state=state)


def _without_stop(look: Look, part: OrderPart, link: Part) -> None:
    """Open no more units where a stop of the link was lost or never reached its broker (1.7).

    The unfilled rest of the entry is cancelled. The filled units stay, and the root's status message says that they have no stop.
    """
    stops = [order for order in own_orders_of(link) if is_stop(order.price)]
    lost = [stop for stop in stops if is_lost(look, stop)]
    if not lost and not any(_never_reached(look, stop) for stop in stops):
        return
    record = look.record(part)
    if record.own is None and record.ending is None:
        look.note(part, ending=DROPPED)
    units = left_open(look, part)
    if units > 0 and any(look.record(stop).own in (PartState.REJECTED, PartState.FAILED) for stop in lost):
        look.note(look.root, status_message=texts.without_stop(units))
    elif texts.is_without_stop(look.record(look.root).status_message) and not unprotected(look):
        look.note(look.root, status_message=None)  # closed since then, by another exit


def _never_reached(look: Look, stop: OrderPart) -> bool:
    return not look.live(stop) and any(goes_again(stop, leg) for leg in look.legs(stop))


def _ended_together(look: Look, part: Part, states: Sequence[PartState]) -> PartState:
    """Return how a part and the parts that hang on it have ended. Not COMPLETED but FAILED where units were left open without their stop."""
    state = together(states)
    return PartState.FAILED if state is PartState.COMPLETED and left_open(look, part) > 0 else state


# --- a fill that comes late ----------------------------------------------------------------------------------------------


def _fills_late(look: Look, part: Part) -> bool:
    """Whether a part below has filled after the part that hangs on it was dropped because there was no fill (row 13c)."""
    return any(look.record(then).ending == UNFILLED and look.kept(base) > 0 for base, then in links_of(part))


def _take_up(look: Look, link: Part, base: Part) -> None:
    """Let parts begin after all that were dropped because there was no fill. Unguarded units are worse than a late stop."""
    if look.record(link).ending != UNFILLED:
        return
    for part in walk(link):
        if look.record(part).ending == UNFILLED:
            look.note(part, state=PartState.PENDING, own=None, ending=None)
    for order in own_orders_of(base):
        if look.record(order).own in (PartState.REJECTED, PartState.FAILED) and look.filled(order):
            whole = not any(leg.unfilled for leg in look.legs(order))
            look.note(order, own=PartState.COMPLETED if whole else PartState.CANCELLED, status_message=None)


def _uncovered(look: Look, part: Part, link: Part) -> None:
    """Tell the units that filled without the order that follows them (a hedge, a second leg, the second order of a sequence): it was refused, or it is
    overdue (3.4, 3.25, 3.33). The entry goes on."""
    if not isinstance(link, OrderPart) or link.uncovered is None or not isinstance(link.quantity, FromFill):
        return
    failed = look.record(link).own in (PartState.REJECTED, PartState.FAILED)
    overdue = (link.path in look.blocked and is_overdue(look, link)) or has_not_left(look, link)
    if not failed and not overdue:
        return
    units = look.kept(part) - int(look.filled(link) / link.quantity.ratio)
    if units > 0 and failed:
        look.note(look.root, status_message=texts.units_without(units, link.uncovered))
    elif units > 0:
        look.untold.add(texts.units_without(units, link.uncovered))


def left_uncovered(look: Look) -> Iterator[str]:
    """Yield a sentence for the units that filled without the order that follows them, because that order has failed. It stays true after the plan's end."""
    for part, link in links_of(look.root):
        if not isinstance(link, OrderPart) or link.uncovered is None or not isinstance(link.quantity, FromFill):
            continue
        units = look.kept(part) - int(look.filled(link) / link.quantity.ratio)
        if units > 0 and look.record(link).own in (PartState.REJECTED, PartState.FAILED):
            yield texts.units_without(units, link.uncovered)


# --- groups --------------------------------------------------------------------------------------------------------------


def _group(look: Look, part: Part, context: Context) -> None:
    record = look.record(part)
    closes = record.ending is None and any(_is_to_close(look, part, context, lifetime) for lifetime in context.over)
    if record.state.final and not closes and not look.came_back(part) and not _fills_late(look, part):
        return
    judge_action(look, part, above=context.outlives)
    record = look.record(part)
    if context.ending is not None and record.ending is None:
        record = look.note(part, ending=context.ending)
    if context.turn and record.due_at is None and record.ending is None:
        record = look.note(part, due_at=look.now)
    context = _with_lifetime(look, part, context)
    waits = record.due_at is not None and not _has_begun(look, part)
    if waits:
        _end_waiting(look, part, context)
        since = record.due_at if context.waiting_since is None else context.waiting_since
        late = context.late or too_late(look, part)
        context = attrs.evolve(context, waiting_since=since, late=late)
    elif record.due_at is not None:
        context = attrs.evolve(context, waiting_since=None)
    record = look.record(part)
    if record.ending is not None:
        context = attrs.evolve(context, ending=record.ending)
    context = attrs.evolve(context, turn=_starts(look, part, context), held_back=False)
    match part:
        case SequencePart():
            _sequence(look, part, context)
        case TogetherPart():
            _together(look, part, context)
        case OneCancelsOthersPart():
            _one_cancels_others(look, part, context)
        case OrderPart():
            raise AssertionError(part)
        case _:
            assert_never(part)
    _settle(look, part, context)


def _has_begun(look: Look, part: Part) -> bool:
    """Whether a part directly below has had its turn."""
    return any(look.record(child).due_at is not None for child in children_of(part))


def _end_waiting(look: Look, part: Part, context: Context) -> None:
    """End a waiting group, or let it begin, where a lifetime says so: the group's own or one above (1.8)."""
    for lifetime in context.over:
        if look.record(part).ending is None and applies(lifetime, has_sent=False):
            ending = ending_of(lifetime)
            look.note(part, fired=True) if ending.marketable else look.note(part, ending=ending)


def _is_to_close(look: Look, part: Part, context: Context, lifetime: Lifetime) -> bool:
    """Whether ended order parts of a group have fills that must be closed at the end of a lifetime."""
    to_close = [order for order in own_orders_of(part) if is_to_close(look, order, context, lifetime)]
    return bool(to_close)


def _starts(look: Look, part: Part, context: Context) -> bool:
    """Whether the group's children have their turn: the group's own turn has come, and its `when` is true."""
    record = look.record(part)
    if record.due_at is None:
        return False
    if record.ending is not None or waits_for_action(look, part, above=context.outlives):
        return False
    return fires(look, part) and not context.held_back


def _with_lifetime(look: Look, part: Part, context: Context) -> Context:
    lifetime = part.lifetime
    context = attrs.evolve(context, outlives=outlives_day(part, context.outlives))
    if lifetime is None:
        return context
    if waits_days(part):
        context = attrs.evolve(context, waits_on=True)
    elif counts_days(part):
        context = attrs.evolve(context, lives_on=True)
    if not look.record(part).over:
        if waits_for_action(look, part, above=context.outlives) or not over(look, part):
            return context
        if _has_begun(look, part) or applies(lifetime, has_sent=False):
            look.note(part, over=True)
    return attrs.evolve(context, over=(*context.over, lifetime))


def _settle(look: Look, part: Part, context: Context) -> None:
    record = look.record(part)
    children = [look.record(child) for child in children_of(part)]
    states = [child.state for child in children]
    lifetime = part.lifetime if record.ending is None else None
    closes = lifetime is not None and _is_to_close(look, part, context, lifetime)
    if all(state.final for state in states):
        # A child that never had its turn does not count, unless it waited until its time was over.
        begun = [child.state for child in children if child.due_at is not None or child.state is PartState.EXPIRED]
        if isinstance(part, OneCancelsOthersPart):
            state = together(begun or states, one_is_enough=True)
        else:
            state = _ended_together(look, part, begun or states)
        if isinstance(part, TogetherPart) and part.inseparable and _was_refused(look, part, states):
            state = PartState.REJECTED
        if closes:
            state = PartState.WORKING
    else:
        state = next((state for state in _SHOWN_FIRST if state in states), PartState.PENDING)
        if state is PartState.PENDING and record.due_at is not None and not record.fired:
            state = PartState.WAITING
        if state in (PartState.SENDING, PartState.CANCELLING):
            state = PartState.WORKING
    if state is not record.state:
        look.note(part, state=state)
    if part is look.root and state in (PartState.REJECTED, PartState.FAILED):
        _say_why(look, part)


def _say_why(look: Look, root: Part) -> None:
    """Say at the root of a plan that has failed why an order of it did, where nothing else is said."""
    if look.record(root).status_message is not None:
        return
    failed = (look.record(order) for order in own_orders_of(root))
    words = [one.status_message for one in failed if one.own in (PartState.REJECTED, PartState.FAILED)]
    why = next(filter(None, words), None)
    if why is not None:
        look.note(root, status_message=why)


def _was_refused(look: Look, part: TogetherPart, states: Sequence[PartState]) -> bool:
    """Whether a child was refused and no broker ever took an order of any child."""
    legs = (leg for order in own_orders_of(part) for leg in look.legs(order))
    return PartState.REJECTED in states and not any(leg.accepted for leg in legs)


def _together(look: Look, part: TogetherPart, context: Context) -> None:
    shares = less_taken(look, part.children, shares_of(look, part.children, context))
    ending = context.ending or (DROPPED if part.inseparable and _is_broken(look, part) else None)
    room = context.guard
    left = limit_of_group(look, part) if context.base is not None and is_group(part) else None
    pair = _pair_of(look, part, context, left) if is_group(part) or context.pair is not None else None
    for number, child in enumerate(part.children):
        guard = room if room is None else min(room, unfilled(look, child, context, room, shares.get(number)))
        room = room if room is None or guard is None else room - guard
        below = attrs.evolve(context, guard=guard, share=shares.get(number), ending=ending)
        work(look, child, _in_pair(look, pair, child, below))


def _is_broken(look: Look, part: TogetherPart) -> bool:
    """Whether an order of a child was refused, or its fate is not known. The root's status message says why."""
    records = [look.record(child) for child in part.children]
    broken = [record for record in records if record.own in (PartState.REJECTED, PartState.FAILED)]
    if broken and look.record(look.root).status_message is None:
        look.note(look.root, status_message=broken[0].status_message)
    return bool(broken)


# --- sequence ------------------------------------------------------------------------------------------------------------


def _sequence(look: Look, part: SequencePart, context: Context) -> None:
    pair = context.pair if goes_on(part) else None
    work(look, part.first, _in_pair(look, pair, part.first, attrs.evolve(context, pair=None)))
    first, kept = look.record(part.first), look.kept(part.first)
    own_orders = [look.record(order) for order in own_orders_of(part.first)]
    own_done = first.state.final or all(order.own is not None for order in own_orders)
    if kept:
        _take_up(look, part.then, part.first)
    starts = first.state.final if part.start_then is StartThen.DONE else own_done
    entry = (context.entry, context.entry_done) if goes_on(part) else (part.first, own_done)
    below = attrs.evolve(
        context,
        turn=context.turn and starts and kept > 0,
        base=part.first,
        base_done=own_done,
        entry=entry[0],
        entry_done=entry[1],
        guard=_left_to_then(look, part, context),
        waiting_since=None,
        base_closes=any(order.ending is not None and order.ending.close for order in own_orders),
        ending=UNFILLED if first.state.final and not kept else context.ending,
    )
    work(look, part.then, _in_pair(look, pair, part.then, attrs.evolve(below, pair=None)))
    if kept:
        _uncovered(look, part.first, part.then)


def _left_to_then(look: Look, part: SequencePart, context: Context) -> int | None:
    """Return the units that `then` may have unfilled where it goes on with what `first` does: what its group guards, less what `first` has out."""
    if context.guard is None or not goes_on(part):
        return None
    out = sum(leg.unfilled for order in own_orders_of(part.first) for leg in look.live(order))
    return max(0, context.guard - out)


# --- one cancels others --------------------------------------------------------------------------------------------------


def _one_cancels_others(look: Look, part: OneCancelsOthersPart, context: Context) -> None:
    match part.rule:
        case Rule.CANCEL:
            _cancel_rule(look, part, context)
        case Rule.SHRINK:
            _shrink_rule(look, part, context)
        case Rule.TRIGGER:
            _trigger_rule(look, part, context)


def _cancel_rule(look: Look, part: OneCancelsOthersPart, context: Context) -> None:
    """The first fill of any size ends all others."""
    taken = [child for child in part.children if look.filled(child)]
    pair = _pair_of(look, part, context, guard_of(look, part, context))
    for child in part.children:
        ending = DROPPED if taken and child not in taken else context.ending
        work(look, child, _in_pair(look, pair, child, attrs.evolve(context, ending=ending)))


def _shrink_rule(look: Look, part: OneCancelsOthersPart, context: Context) -> None:
    guard = guard_of(look, part, context)
    apart = [less_taken(look, part.children, shares) for shares in shares_apart(look, part, context)]
    pair = _pair_of(look, part, context, guard)
    rooms = [guard, guard]
    for number, child in enumerate(part.children):
        own, share = guard, None
        for kind, shares in enumerate(apart):
            if number in shares:  # trimmed from the last child backwards
                share = shares[number]
                own = min(rooms[kind], max(0, share - look.filled(child)))
                rooms[kind] -= own
        ending = DROPPED if not guard and _nothing_more(look, part, child, context) else context.ending
        work(look, child, _in_pair(look, pair, child, attrs.evolve(context, guard=own, share=share, ending=ending)))
    if part.breakeven_after is not None:
        _break_even(look, part, part.breakeven_after, context)


def _make_room(look: Look, part: Group) -> None:
    """End the targets' orders that rest in the way of a refused stop, and those that the market has left."""
    for leg in (*reorder(look, part), *left_behind(look, part)):
        end(look, leg, Reason.SHRINK)


def _pair_of(look: Look, part: Group, context: Context, guard: int | None) -> tuple[Group, int] | None:
    """Return the group whose stops and targets may take units from each other (1.12), and the units that it guards: the outermost one above, or the group
    itself, whose targets then make room here. None where there is none."""
    if context.pair is not None:
        return context.pair
    if not is_pair(part):
        return None
    _make_room(look, part)
    return None if guard is None else (part, guard)


def _in_pair(look: Look, pair: tuple[Group, int] | None, child: Part, below: Context) -> Context:
    """Return the context of a child of such a group, or of a group in it."""
    if pair is None:
        return below
    if isinstance(child, OrderPart):
        return _of_pair(look, pair[0], child, attrs.evolve(below, pair=None), pair[1])
    return attrs.evolve(below, pair=pair)


def _of_pair(look: Look, part: Group, child: OrderPart, context: Context, guard: int) -> Context:
    """Return the context of a stop or target of a group whose sales may take units from each other (1.12)."""
    if is_stop(child.price):
        return attrs.evolve(context, lent=min(guard, lent(look, part)))
    if swaps(look, child):
        return attrs.evolve(context, room=room_of(look, part, guard, child))
    return attrs.evolve(context, held_back=context.held_back or waits_for_stop(look, part, child))


def _nothing_more(look: Look, part: OneCancelsOthersPart, child: Part, context: Context) -> bool:
    """Whether a child has nothing more to do because the other children did the group's work."""
    others = sum(look.filled(other) for other in part.children if other is not child)
    grows = isinstance(child, OrderPart) and isinstance(child.quantity, FromFill | Share) and not context.base_done
    return others > 0 and not grows


def _break_even(look: Look, part: OneCancelsOthersPart, after: int, context: Context) -> None:
    """Move the stop to the entry's average, once, when `after` targets have completed. The stop never moves back (3.38)."""
    stop, done = part.children[0], [look.record(child).own for child in part.children[1:]]
    if not isinstance(stop, OrderPart) or not isinstance(stop.price, NativeStop):
        return
    average = entry_average(look, stop, context.base)
    record, side = look.record(stop), side_of(stop)
    if average is None or done.count(PartState.COMPLETED) < after or record.memory.active:
        return
    entry: Decimal = look.terms(stop).towards(average, side)
    nearer = better(entry, trigger_of(record, stop.price), side)
    look.remember(stop, attrs.evolve(record.memory, active=True, stop=entry if nearer else None))


def _why_others_stay(look: Look, part: OneCancelsOthersPart, winner: Part) -> str | None:
    """Return why the resting orders of the others stay for now: the order of the exit that fired could not leave (1.11). Else None.

    An old stop at the exchange guards better than an order that cannot be sent.
    """
    live = [
        leg
        for child in part.children
        if child is not winner
        for order in own_orders_of(child)
        for leg in look.live(order)
    ]
    order = next(own_orders_of(winner))
    if not live or not order.is_exit or look.legs(order) or look.on_the_way(order):
        return None
    if any(leg.state is LegState.CANCELLING for leg in live):
        look.still_waits.add(winner.path)
        return None  # their end has begun
    why = cannot_leave(look, (leg.broker for leg in live))
    if why is None and isinstance(uncapped(order.price), Marketable):
        why = has_no_price(look, winner, order.instrument_id, side_of(order))
    if why is not None:
        block(look, winner, why, blind=order.instrument_id)
    return why


def _trigger_rule(look: Look, part: OneCancelsOthersPart, context: Context) -> None:
    """The first child whose `when` comes true ends the others before it sends. A child that fills completely ends the others too."""
    complete = [child for child in part.children if look.record(child).own is PartState.COMPLETED]
    fired = [child for child in part.children if child.when is not None and look.record(child).fired]
    winner = next((child for child in fired if not _is_refused(look, child)), None)
    stays = _why_others_stay(look, part, winner) if winner is not None and not complete else None
    waits_for_one = any(child.when is not None for child in part.children)
    pair = None if waits_for_one else _pair_of(look, part, context, guard_of(look, part, context))
    for child in part.children:
        others = [other for other in part.children if other is not child]
        beaten = winner is not None and child is not winner and (stays is None or child.when is not None)
        beaten = beaten or any(other in complete for other in others)
        waits = child.when is not None and not all(look.record(other).state.final for other in others)
        below = attrs.evolve(
            context,
            ending=DROPPED if beaten else context.ending,
            held_back=waits,
            less=sum(look.filled(other) for other in others),
        )
        work(look, child, _in_pair(look, pair, child, below))
        if winner is None and child.when is not None and look.record(child).fired and not _is_refused(look, child):
            winner = child
            stays = _why_others_stay(look, part, winner) if not complete else None
    refused = any(_is_refused(look, child) for child in part.children if child.when is not None)
    goes = complete or (
        winner is not None and not _is_refused(look, winner)
    )  # it may have been refused in this very look
    if refused and not goes and context.ending is None:
        _let_others_wait_again(look, part)


def _is_refused(look: Look, part: Part) -> bool:
    """Whether a fired exit was refused and has closed nothing."""
    own = look.record(part).own
    exits = isinstance(part, OrderPart) and part.is_exit
    return exits and own in (PartState.REJECTED, PartState.FAILED) and not look.filled(part)


def _let_others_wait_again(look: Look, group: OneCancelsOthersPart) -> None:
    """Let the exits wait again that ended for another's sake which its broker has refused: they are what is left to guard the units."""
    for child in group.children:
        ended = isinstance(child, OrderPart) and child.is_exit and look.record(child).own is PartState.CANCELLED
        if ended and look.record(child).ending == DROPPED and not look.filled(child):
            look.note(child, state=PartState.PENDING, own=None, ending=None)
            look.wake(look.now)
