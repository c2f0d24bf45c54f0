"""One order part in one look: its turn, its condition, its legs, its link, its end (order-engine 2.2)."""

from onebroker.actors.engine.orders.parent_records import LegState
from onebroker.actors.engine.orders.part_state import Ending, PartState
from onebroker.actors.engine.plan.execution_kinds import Daily
from onebroker.actors.engine.plan.machine.close_filled import close_filled, takes_away, units_to_close
from onebroker.actors.engine.plan.machine.conditions import fired, judged_by, too_late
from onebroker.actors.engine.plan.machine.executions import send
from onebroker.actors.engine.plan.machine.exposure import work_exposure
from onebroker.actors.engine.plan.machine.held_units import arm, has_lost, held_for, limit_of
from onebroker.actors.engine.plan.machine.jumped_stops import note_jumped, note_passed, note_unmatched
from onebroker.actors.engine.plan.machine.leg_actions import Reason
from onebroker.actors.engine.plan.machine.leg_changes import end, is_at_holders, move, shrink
from onebroker.actors.engine.plan.machine.lifetimes import (
    applies,
    day_is_over,
    days_are_over,
    ending_of,
    lives_on,
    over,
    session_closed,
)
from onebroker.actors.engine.plan.machine.look import Look, side_of
from onebroker.actors.engine.plan.machine.new_legs import Sending
from onebroker.actors.engine.plan.machine.overdue import guards
from onebroker.actors.engine.plan.machine.part_context import Context
from onebroker.actors.engine.plan.machine.position_closes import work_positions
from onebroker.actors.engine.plan.machine.share_actions import judge_action, waits_for_action
from onebroker.actors.engine.plan.machine.standing import judge_standing
from onebroker.actors.engine.plan.machine.swaps import tries_again
from onebroker.actors.engine.plan.machine.target_quantities import final_target, target
from onebroker.actors.engine.plan.machine.verdicts import Verdict, forgone, stopped, taken_off
from onebroker.actors.engine.plan.machine.wanted_prices import observe
from onebroker.actors.engine.plan.parts import FromExposure, FromPosition, Lifetime, OnEnd, OrderPart, Part, TimeOfDay
from onebroker.actors.engine.plan.price_kinds import Marketable, Trail, is_stop, uncapped
from onebroker.config.messages import plan_life as texts


def work_order(look: Look, part: OrderPart, context: Context) -> None:
    """Look at the part once. The calling function then looks at the part that hangs on it, and sets the part's state."""
    record = look.record(part)
    if record.state.final and record.own is None:
        return
    judge_standing(look, part)
    judge_action(look, part, above=context.outlives)
    record = look.record(part)
    if context.ending is not None and record.ending is None and record.own is None:
        record = look.note(part, ending=context.ending)
    if context.base_closes and record.ending is None and record.own is None and takes_away(look, part):
        record = look.note(part, ending=Ending(state=PartState.CANCELLED))
    if record.due_at is None and not _becomes_due(look, part, context):
        return
    _lifetimes(look, part, context)
    if look.record(part).own is not None:
        _after_the_end(look, part, context)
    elif look.record(part).ending is not None:
        _wind_down(look, part, context)
    else:
        _work(look, part, context)


def _becomes_due(look: Look, part: OrderPart, context: Context) -> bool:
    record = look.record(part)
    if record.ending is None and _missed_its_turn(look, part, context):
        record = look.note(part, ending=Ending(state=PartState.EXPIRED))
    if record.ending is not None:
        look.note(part, own=record.ending.state, status_message=record.ending.message)
        return False
    if context.turn:
        look.note(part, due_at=look.now)
        arm(look, part)
    return context.turn


def _missed_its_turn(look: Look, part: OrderPart, context: Context) -> bool:
    """Whether the part waited with a group until its day was over (1.8), or is an entry whose time passed without a look (2.5)."""
    if context.late and not part.is_exit:
        return True
    if context.waiting_since is None or context.lives_on or context.waits_on:
        return False
    return session_closed(look, part, context.waiting_since)


def _lifetimes(look: Look, part: OrderPart, context: Context) -> None:
    """Apply the end of the part's own lifetime, or of a lifetime above."""
    own = part.lifetime
    waits = waits_for_action(look, part, above=context.outlives)
    ended = (*context.over, own) if own is not None and not waits and over(look, part) else context.over
    for lifetime in ended:
        record = look.record(part)
        if is_to_close(look, part, context, lifetime):
            look.note(part, state=PartState.WORKING, own=None, ending=ending_of(lifetime))
            return
        if record.ending is not None or record.own is not None or record.marketable:
            return
        if applies(lifetime, has_sent=bool(look.legs(part))):
            ending = ending_of(lifetime)
            if ending.marketable:
                look.note(part, marketable=True, fired=True)
            elif ending.close and lifetime is not own and takes_away(look, part):
                look.note(part, ending=Ending(state=PartState.EXPIRED))
            else:
                look.note(part, ending=ending)


def waits_to_close(look: Look, part: OrderPart, context: Context) -> bool:
    """Whether a part whose own legs have ended goes on, because its fills are to be closed at the end of its lifetime (1.8)."""
    return part.lifetime is not None and is_to_close(look, part, context, part.lifetime)


def is_to_close(look: Look, part: OrderPart, context: Context, lifetime: Lifetime) -> bool:
    """Whether the fills of a part whose own legs have ended must be closed at the end of `lifetime`, its own or one above. Their price is then looked
    after, so that the close does not go out by a price of long ago."""
    record = look.record(part)
    if lifetime.on_end is not OnEnd.CLOSE_FILLED or record.own is None or (record.ending or context.ending) is not None:
        return False
    if not applies(lifetime, has_sent=True) or units_to_close(look, part) <= 0:
        return False
    look.guarded.add(part.instrument_id)
    return lives_on(look, part, context) or not day_is_over(look, part, context)


# --- working -------------------------------------------------------------------------------------------------------------


ARMED_SECONDS = 0.05
"""How long a part that is due at once stays armed. The caller is told that it is armed before anything is sent."""


def _is_being_armed(look: Look, part: Part) -> bool:
    """Whether a part that waits for a price, the account or a morning has only just become due (rules 2.7, first answers).

    Such a part is armed first, even when it has nothing left to wait for, and sends a moment later.
    """
    waits = not isinstance(part.when, TimeOfDay | None) or (isinstance(part, OrderPart) and _begins_armed(part))
    due_at = look.record(part).due_at
    # By the clock, not by the number of looks: two looks in the same moment must ask for the same actions.
    if not waits or due_at is None or look.now >= due_at + ARMED_SECONDS:
        return False
    look.wake(due_at + ARMED_SECONDS)
    return True


def _begins_armed(part: OrderPart) -> bool:
    activated = isinstance(part.price, Trail) and part.price.activate_at is not None
    return activated or isinstance(part.execution, Daily)


def _work(look: Look, part: OrderPart, context: Context) -> None:
    if waits_for_action(look, part, above=context.outlives):
        return
    observe(look, part, context)
    arm(look, part)
    if not part.is_exit and too_late(look, part):
        look.note(part, ending=Ending(state=PartState.EXPIRED))
        return
    if not fires(look, part) or context.held_back or _is_being_armed(look, part):
        if _day_over(look, part, context):
            look.note(part, own=PartState.EXPIRED)
        return
    if guards(part):
        look.guarded.add(part.instrument_id)
    verdict = _verdict(look, part, context)
    if isinstance(part.quantity, FromPosition | FromExposure):
        _work_holdings(look, part, context, verdict)
        return
    wanted_units = _wanted_units(look, part, context)
    if wanted_units is None:
        return
    units = wanted_units - forgone(part, look.legs(part))
    if context.lent:
        units = max(look.filled(part), units - context.lent)
    refused = 0 if verdict is None else _refused_by_a_holder(look, part)
    if refused and units - refused > look.committed(part):
        units, verdict = units - refused, None  # the other holders sell theirs first
    sending = Sending(look=look, part=part, context=context, target=units)
    _size(sending, sends=verdict is None and not _day_over(look, part, context))
    if verdict is None:
        move(sending)
        note_jumped(look, part)
        note_passed(look, part)
        note_unmatched(look, part, look.live(part))
        _fill_in_time(look, part)
    _conclude(look, part, context, verdict, wanted_units)


def _refused_by_a_holder(look: Look, part: OrderPart) -> int:
    """Return the units of an exit without a broker that one of their holders has refused for good, while another holds units of it too. 0 for an exit
    whose caller heard of the refusal in his answer, before anything of it was sent elsewhere."""
    if not part.is_exit or part.known_exit or part.broker is not None or not look.record(part).armed_over:
        return 0
    refused = [
        leg
        for leg in look.legs(part)
        if leg.state is LegState.REJECTED and leg.unfilled > 0 and not tries_again(look, part, leg)
    ]
    is_heard = part.when is None and not any(leg.accepted for leg in look.legs(part))
    brokers = {leg.broker for leg in refused}
    held = held_for(look, part)
    theirs = [look.market.held(code, part.instrument_id, part.product, side_of(part)) for code in brokers]
    if is_heard or held is None or held <= sum(units or 0 for units in theirs):
        return 0
    return sum(leg.unfilled for leg in refused)


def _size(sending: Sending, *, sends: bool) -> None:
    """Take off the part's orders what is too much, or send what is missing."""
    look, part = sending.look, sending.part
    if sending.missing < 0:
        look.excess[part.path] = -sending.missing
    if sending.missing < 0 or is_at_holders(look, part):
        shrink(sending)
    if sending.missing >= 0 and sends:
        send(sending)


def _wanted_units(look: Look, part: OrderPart, context: Context) -> int | None:
    """Return the part's target; of an exit no more than there is left to exit (1.13)."""
    wanted_units, limit = target(look, part, context), limit_of(look, part)
    if wanted_units is None or limit is None:
        return wanted_units
    if limit == 0 and (wanted_units > look.filled(part) or (look.live(part) and has_lost(look, part))):
        sent = any(not leg.never_reached for leg in look.legs(part))
        look.note(part, status_message=texts.nothing_to_exit(part.broker, sent=sent))
    return min(wanted_units, look.filled(part) + limit)


def fires(look: Look, part: Part) -> bool:
    """Whether the part's `when` has come true, or it has none. This is noted in the part's record."""
    if look.record(part).fired:
        return True
    if part.when is not None:
        # A `when` that comes true while the part is being armed stays true: a touch is not taken back.
        if look.record(part).fired_at is None and fired(look, part, part.when):
            look.note(part, fired_at=look.now)
        if look.record(part).fired_at is None or _is_being_armed(look, part):
            if guards(part):
                look.guarded.update(judged_by(part.when))
            return False
    look.note(part, fired=True, fired_at=look.now)
    return True


def _day_over(look: Look, part: OrderPart, context: Context) -> bool:
    if isinstance(part.execution, Daily):
        return days_are_over(look, part, part.execution)
    return not lives_on(look, part, context) and day_is_over(look, part, context)


def _work_holdings(look: Look, part: OrderPart, context: Context, verdict: Verdict | None) -> None:
    """Work a part whose quantity comes from positions: each row separately, or one hedge after the other."""
    over = _day_over(look, part, context)
    if isinstance(part.quantity, FromPosition):
        ended = work_positions(look, part, context, over=over)
    else:
        ended = work_exposure(look, part, context, over=over) if verdict is None else _once_quiet(look, part, verdict)
    if ended is not None:
        look.note(part, own=ended.state, status_message=ended.message or look.record(part).status_message)
    else:
        _fill_in_time(look, part)


def _once_quiet(look: Look, part: OrderPart, verdict: Verdict) -> Verdict | None:
    return verdict if look.quiet(part) else None


def _fill_in_time(look: Look, part: OrderPart) -> None:
    """Cancel a marketable order that has not filled within its `fill_within_seconds`, and end the part (3.29)."""
    price = uncapped(part.price)
    if not isinstance(price, Marketable) or price.fill_within_seconds is None or look.record(part).marketable:
        return
    started_at = look.record(part).started_at
    if started_at is None:
        return
    due = started_at + float(price.fill_within_seconds)
    look.wake(due)
    if look.now >= due and look.live(part):
        look.note(part, ending=Ending(state=PartState.EXPIRED))
        _wind_down(look, part, Context())


def _verdict(look: Look, part: OrderPart, context: Context) -> Verdict | None:
    refusal = look.record(part).refusal
    if refusal is not None and not isinstance(part.execution, Daily):
        accepted = any(leg.accepted for leg in look.legs(part))
        return Verdict(PartState.FAILED if accepted else PartState.REJECTED, refusal)
    return stopped(part, [leg for leg in look.legs(part) if not tries_again(look, part, leg)])


def _conclude(look: Look, part: OrderPart, context: Context, verdict: Verdict | None, wanted_units: int) -> None:
    """Note how the part's own legs ended, once no order of the part is at a broker."""
    if not look.quiet(part):
        return
    if verdict is None and part.is_exit and any(leg.may_grow for leg in look.legs(part)):
        return  # what another hand took off may be exited after all: the end would leave it open without a word
    left_out = forgone(part, look.legs(part))
    wanted_units -= taken_off(look.legs(part))
    whole = look.filled(part) >= wanted_units - left_out and final_target(part, context)
    if verdict is not None:
        look.note(part, own=verdict.state, status_message=verdict.message or look.record(part).status_message)
    elif whole and not left_out and (wanted_units > 0 or look.filled(part) > 0):
        look.note(part, own=PartState.COMPLETED if look.filled(part) else PartState.CANCELLED)
    elif whole:
        look.note(part, own=PartState.CANCELLED)
    elif isinstance(part.execution, Daily) and is_stop(part.price) and look.filled(part):
        look.note(part, own=PartState.COMPLETED)  # the stop has traded: no order is sent on a further day (3.13)
    elif _day_over(look, part, context):
        look.note(part, own=PartState.EXPIRED)
        if part.hold and part.when is not None and not look.legs(part):
            look.note(part, status_message=texts.TRIGGERED_NOT_REACHED)
            look.note(look.root, status_message=look.record(look.root).status_message or texts.TRIGGERED_NOT_REACHED)


# --- ending --------------------------------------------------------------------------------------------------------------


def _wind_down(look: Look, part: OrderPart, context: Context) -> None:
    """Cancel the resting legs. Once none is left, close the fills where the ending asks for that, and note the end."""
    ending = look.record(part).ending
    assert ending is not None
    refused = [leg for leg in look.live(part) if not end(look, leg, Reason.PLAN)]
    if refused:
        look.note(part, status_message=texts.CANCEL_REFUSED)
    if look.live(part) or look.on_the_way(part):
        return
    # A part whose quantity comes from positions has no fills to close: its orders were the close.
    if ending.close and not isinstance(part.quantity, FromPosition | FromExposure):
        closed = close_filled(look, part)
        if closed is not None:
            look.note(part, own=closed.state, status_message=closed.message)
        return
    wanted_units = target(look, part, context)
    filled = look.filled(part)
    filled_up = wanted_units is not None and 0 < wanted_units - taken_off(look.legs(part)) <= filled
    filled_up = filled_up and final_target(part, context)
    state = PartState.COMPLETED if filled_up else ending.state
    look.note(part, own=state, status_message=ending.message or look.record(part).status_message)


def _after_the_end(look: Look, part: OrderPart, context: Context) -> None:
    """Work an ended part again where it must go on.

    Either one of its orders is at a broker after all (row 13c), or a completed linked part gets a late fill of the part it hangs on
    (row 43).
    """
    record = look.record(part)
    if any(leg.live and leg.cancel_reason != Reason.LATE for leg in look.legs(part)):
        look.note(part, own=None, state=PartState.WORKING, status_message=None)
        (_work if record.ending is None else _wind_down)(look, part, context)
        return
    if record.own is PartState.COMPLETED and record.ending is None and context.base is not None:
        wanted_units = target(look, part, context)
        if wanted_units is not None and wanted_units - taken_off(look.legs(part)) > look.filled(part):
            look.note(part, own=None, state=PartState.WORKING)
            _work(look, part, context)


# --- what is shown -------------------------------------------------------------------------------------------------------


def state_now(look: Look, part: OrderPart) -> PartState:
    """Return the state that an order part shows while it is open."""
    record = look.record(part)
    live = look.live(part) or look.closing_legs(part)
    if record.ending is not None and live:
        return PartState.CANCELLING
    if record.own is not None or any(leg.live or leg.filled for leg in look.legs(part)):
        return PartState.WORKING
    if look.on_the_way(part) or any(leg.state is LegState.SENDING for leg in look.legs(part)):
        return PartState.SENDING
    if record.due_at is None:
        return PartState.PENDING
    if record.fired and part.hold:
        return PartState.HELD
    return PartState.WAITING
