"""How a part ended: by its own legs, with what hangs on it, as a group (order-engine 2.1, 2.2)."""

from collections.abc import Sequence

import attrs

from onebroker.actors.engine.orders.part_state import PartState
from onebroker.actors.engine.orders.records import LegState
from onebroker.actors.engine.plan.executions import AllAtOnce, BookDepth, Daily, Ladder, TopUp
from onebroker.actors.engine.plan.machine.legs import Leg, Reason
from onebroker.actors.engine.plan.parts import OrderPart
from onebroker.actors.engine.plan.prices import Discretion


@attrs.frozen
class Verdict:
    """Why a part sends nothing more."""

    state: PartState
    message: str | None = None


def stopped(part: OrderPart, legs: Sequence[Leg]) -> Verdict | None:
    """Return what the ends of its legs make of the part, before it is filled; None = it goes on."""
    accepted = any(leg.accepted for leg in legs)
    for leg in legs:
        verdict = _of_leg(part, leg, legs, accepted=accepted)
        if verdict is not None:
            return verdict
    return None


def goes_again(part: OrderPart, leg: Leg) -> bool:
    """Whether another order goes in the place of one that its broker certainly never had: an exit is never given up for that."""
    return part.is_exit and leg.never_reached


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
            # An exit goes on with what its broker still holds; of anything else it is not known what is missing.
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
        return None  # the others go on; a piece at a beat gives its rest back (3.2, 3.24)
    if leg.cancel_reason == Reason.CALLER:  # its only leg ends the part (row 28); else the piece is not sent again
        return Verdict(PartState.CANCELLED) if len(legs) == 1 or not isinstance(part.execution, AllAtOnce) else None
    if leg.immediate:  # row 15b
        gives_back = isinstance(part.execution, BookDepth) or isinstance(part.price, Discretion)
        return None if gives_back else Verdict(PartState.EXPIRED)
    return Verdict(PartState.CANCELLED, leg.status_message)  # row 16


def is_independent(part: OrderPart) -> bool:
    """Whether each of its orders lives on its own: the rungs of a ladder (3.24)."""
    return isinstance(part.execution, Ladder) and not part.execution.one_at_a_time


def forgone(part: OrderPart, legs: Sequence[Leg]) -> int:
    """Return the units of pieces that a caller cancelled, of rungs that anybody did: they are not sent again."""
    if is_independent(part):
        ours = (*Reason.GIVES_BACK, Reason.LATE, Reason.PLAN)
        cancelled = [leg for leg in legs if leg.state is LegState.CANCELLED and leg.cancel_reason not in ours]
        return sum(leg.quantity - leg.filled for leg in cancelled)
    if len(legs) == 1 or isinstance(part.execution, TopUp):
        return 0
    return sum(
        leg.quantity - leg.filled
        for leg in legs
        if leg.state is LegState.CANCELLED and leg.cancel_reason == Reason.CALLER
    )


def together(states: Sequence[PartState], *, one_is_enough: bool = False) -> PartState:
    """Put the ends of several parts together, the first that applies (2.1); `one_is_enough` in one_cancels_others."""
    if one_is_enough and PartState.COMPLETED in states:
        return PartState.COMPLETED
    rejected = states.count(PartState.REJECTED)
    if PartState.FAILED in states or 0 < rejected < len(states):
        return PartState.FAILED
    for state in (PartState.REJECTED, PartState.EXPIRED, PartState.COMPLETED):
        if state in states:
            return state
    return PartState.CANCELLED
