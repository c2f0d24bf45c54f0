"""How a part ended: by its own legs, together with the parts that hang on it, or as a group (order-engine 2.1, 2.2)."""

from collections.abc import Iterable, Sequence

import attrs

from onebroker.actors.engine.orders.parent_records import LegState
from onebroker.actors.engine.orders.part_state import PartState
from onebroker.actors.engine.plan.execution_kinds import AllAtOnce, BookDepth, Daily, Ladder, TopUp
from onebroker.actors.engine.plan.machine.leg_actions import Leg, Reason
from onebroker.actors.engine.plan.parts import OrderPart
from onebroker.actors.engine.plan.price_kinds import Discretion


@attrs.frozen
class Verdict:
    """Why a part sends nothing more."""

    state: PartState
    message: str | None = None


def stopped(part: OrderPart, legs: Sequence[Leg]) -> Verdict | None:
    """Return how the part ends because of how its legs ended, before it is filled; None = the part goes on."""
    accepted = any(leg.accepted for leg in legs)
    for leg in legs:
        verdict = _of_leg(part, leg, legs, accepted=accepted)
        if verdict is not None:
            return verdict
    return None


def goes_again(part: OrderPart, leg: Leg) -> bool:
    """Whether another order replaces a leg that its broker certainly never had. An exit is never given up for that reason, nor is an order
    that its plan owes (a hedge, a second order), or that took the place of an order which the plan itself had cancelled (`LegRecord.unsent`)."""
    return ((part.is_exit or part.uncovered is not None) and leg.never_reached) or leg.unsent


def _of_leg(part: OrderPart, leg: Leg, legs: Sequence[Leg], *, accepted: bool) -> Verdict | None:
    if leg.given_up:
        return Verdict(PartState.FAILED, leg.status_message)  # row 13b
    if goes_again(part, leg):
        return None
    match leg.state:
        case LegState.REJECTED | LegState.NOT_SENT if isinstance(part.execution, Daily):
            return None  # tried again next morning (3.13)
        case LegState.REJECTED | LegState.NOT_SENT:
            return Verdict(
                PartState.FAILED if accepted else PartState.REJECTED, leg.status_message
            )  # rows 8, 9, 13, 17
        case LegState.EXPIRED:
            # An exit goes on with the position that its broker still holds. For an entry the missing units are not known.
            goes_on = isinstance(part.execution, Daily) and (part.is_exit or not leg.fills_unknown)
            return None if goes_on else Verdict(PartState.EXPIRED, leg.status_message)  # row 18, K15
        case LegState.CANCELLED if leg.filled < leg.quantity:
            return _cancelled(part, leg, legs)
    return None


def _cancelled(part: OrderPart, leg: Leg, legs: Sequence[Leg]) -> Verdict | None:
    if leg.cancel_reason in Reason.GIVES_BACK or leg.cancel_reason == Reason.LATE:
        return None
    if leg.cancel_reason == Reason.PLAN:
        return None  # the part is being ended anyway
    if is_independent(part) or isinstance(part.execution, TopUp):
        return None  # the other orders go on (3.2, 3.24)
    # It ends the part (row 28). Only of several all_at_once legs the others go on, and its units are not sent again.
    if leg.cancel_reason in Reason.BY_OTHERS:
        return Verdict(PartState.CANCELLED) if len(legs) == 1 or not isinstance(part.execution, AllAtOnce) else None
    if leg.immediate:  # row 15b
        gives_back = isinstance(part.execution, BookDepth) or isinstance(part.price, Discretion)
        return None if gives_back else Verdict(PartState.EXPIRED)
    return Verdict(PartState.CANCELLED, leg.status_message)  # row 16


def is_independent(part: OrderPart) -> bool:
    """Whether the part's orders are independent of each other: the rungs of a ladder (3.24)."""
    return isinstance(part.execution, Ladder) and not part.execution.one_at_a_time


def forgone(part: OrderPart, legs: Sequence[Leg]) -> int:
    """Return the units that are not sent again: of pieces that a caller cancelled, or of rungs, top_up pieces and standing quotes that anyone outside the
    engine cancelled (row 16)."""
    if is_independent(part):
        ours = (*Reason.GIVES_BACK, Reason.LATE, Reason.PLAN)
        cancelled = [leg for leg in legs if leg.state is LegState.CANCELLED and leg.cancel_reason not in ours]
        return sum(map(_own_unfilled, cancelled))
    if isinstance(part.execution, TopUp):
        by_hand = [leg for leg in legs if leg.state is LegState.CANCELLED and leg.cancel_reason is None]
        return sum(_own_unfilled(leg) for leg in by_hand if not leg.immediate)
    if len(legs) == 1:
        return 0
    return sum(
        _own_unfilled(leg) for leg in legs if leg.state is LegState.CANCELLED and leg.cancel_reason in Reason.BY_OTHERS
    )


def _own_unfilled(leg: Leg) -> int:
    """Return the units of the part's sum that an order left unfilled: without those that another hand had added."""
    return leg.unfilled - (max(0, -leg.taken_off) - leg.added)


def taken_off(legs: Iterable[Leg]) -> int:
    """Return the units that another hand took off orders, and that are not sent again."""
    return sum(max(0, leg.taken_off) for leg in legs)


def together(states: Sequence[PartState], *, one_is_enough: bool = False) -> PartState:
    """Combine the ends of several parts into one state: the first rule that applies (2.1). `one_is_enough` is for one_cancels_others."""
    if one_is_enough and PartState.COMPLETED in states:
        return PartState.COMPLETED
    rejected = states.count(PartState.REJECTED)
    if PartState.FAILED in states or 0 < rejected < len(states):
        return PartState.FAILED
    for state in (PartState.REJECTED, PartState.EXPIRED, PartState.COMPLETED):
        if state in states:
            return state
    return PartState.CANCELLED
