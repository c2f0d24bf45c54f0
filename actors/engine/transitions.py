"""The state machine of a leg and of a simple parent: what a broker's row or answer makes of them. Pure, by table.

Rows of the table are numbered as in order-engine 2.2.
"""

import attrs

from onebroker.actors.engine.records import LegRecord, LegState, ParentRecord, ParentState
from onebroker.brokers.broker import OrderAnswer
from onebroker.brokers.records import OrderRow
from onebroker.config.vocabulary import OrderStatus, Outcome

LEG_AFTER_SEND: dict[Outcome, LegState] = {
    Outcome.ACCEPTED: LegState.OPEN,  # row 7
    Outcome.REJECTED: LegState.REJECTED,  # rows 8, 11
    Outcome.UNKNOWN: LegState.UNKNOWN,  # row 10
}

LEG_BY_STATUS: dict[str, LegState] = {
    OrderStatus.PENDING: LegState.PENDING,
    OrderStatus.OPEN: LegState.OPEN,
    OrderStatus.COMPLETE: LegState.COMPLETE,  # row 15
    OrderStatus.CANCELLED: LegState.CANCELLED,  # rows 15b, 16, 31
    OrderStatus.REJECTED: LegState.REJECTED,  # row 17
    OrderStatus.EXPIRED: LegState.EXPIRED,  # row 18
}
"""A status that maps to nothing counts as open (order-engine 2.3)."""

SIMPLE_PARENT_BY_LEG: dict[LegState, ParentState] = {
    LegState.SENDING: ParentState.WORKING,
    LegState.UNKNOWN: ParentState.WORKING,
    LegState.PENDING: ParentState.WORKING,
    LegState.OPEN: ParentState.WORKING,
    LegState.CANCELLING: ParentState.WORKING,
    LegState.COMPLETE: ParentState.COMPLETED,
    LegState.CANCELLED: ParentState.CANCELLED,
    LegState.REJECTED: ParentState.REJECTED,
    LegState.EXPIRED: ParentState.EXPIRED,
    LegState.NOT_SENT: ParentState.REJECTED,
}

NEVER_SHOWN = "the broker never showed this order"


def leg_sent(leg: LegRecord, answer: OrderAnswer, now: float) -> LegRecord:
    """Return the leg after the broker's answer to its place (rows 7, 8, 10, 11)."""
    return attrs.evolve(
        leg,
        state=LEG_AFTER_SEND[answer.outcome],
        order_id=answer.order_id,
        status_message=answer.status_message,
        broker_response=answer.broker_response,
        updated_at=now,
    )


def leg_seen(leg: LegRecord, row: OrderRow, now: float) -> LegRecord:
    """Return the leg after the broker showed its order (rows 12, 14-18, 31, 34, 43).

    The filled quantity only grows; a final leg keeps its state; a leg whose cancel is under way stays so until the order has
    ended. The very object `leg` is returned when nothing changes.
    """
    state = LEG_BY_STATUS.get(row.status, LegState.OPEN)
    if leg.state.final and leg.state is not LegState.NOT_SENT:
        state = leg.state
    elif leg.state is LegState.CANCELLING and not state.final:
        state = LegState.CANCELLING
    grown = row.filled_quantity > leg.filled_quantity
    seen = attrs.evolve(
        leg,
        state=state,
        order_id=row.order_id,
        status_message=row.status_message or leg.status_message,
        filled_quantity=row.filled_quantity if grown else leg.filled_quantity,
        average_price=(row.average_price or None) if grown else leg.average_price,
        quantity=row.quantity or leg.quantity,
    )
    return leg if seen == leg else attrs.evolve(seen, updated_at=now)


def leg_never_shown(leg: LegRecord, now: float) -> LegRecord:
    """Return an unsettled leg after 60 s of fresh books without it (row 13)."""
    return attrs.evolve(leg, state=LegState.NOT_SENT, status_message=NEVER_SHOWN, updated_at=now)


def simple_parent(record: ParentRecord, leg: LegRecord, now: float) -> ParentRecord:
    """Return a simple parent with its one leg as given; a cancelled or halted parent keeps its state (row 43)."""
    state = SIMPLE_PARENT_BY_LEG[leg.state]
    if record.state is ParentState.CANCELLING:
        state = ParentState.CANCELLED if leg.state.final else ParentState.CANCELLING
    elif record.state.final and record.state is not ParentState.REJECTED:
        state = record.state
    over = max(0, leg.filled_quantity - leg.quantity)
    return attrs.evolve(
        record.with_leg(leg),
        state=state,
        status_message=leg.status_message if leg.state.final else record.status_message,
        over_filled_quantity=over,
        updated_at=now,
    )
