"""The state machine of a leg and of a simple parent: what a broker's row or answer makes of them. Pure, by table.

Rows of the table are numbered as in order-engine 2.2.
"""

import attrs

from onebroker.actors.engine.orders.records import LegChange, LegRecord, LegState, ParentRecord, ParentState
from onebroker.brokers.broker import OrderAnswer
from onebroker.brokers.records import OrderRow
from onebroker.config.clock import from_epoch, local_text
from onebroker.config.messages import unknown_orders as texts
from onebroker.config.money import exact
from onebroker.config.vocabulary import OrderStatus, OrderType, Outcome, Validity, is_finished

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

LATE = "late"
"""`LegRecord.cancel_reason` of an order that turned up after it had been taken as never sent and is cancelled (row 13c)."""
AFTER_HALT = "after_halt"
"""Of one that its broker did not show yet when a flatten halted its parent (row 35): it is cancelled when it appears."""
FLATTENED = "flattened"
"""Of one that stood at its broker when a flatten halted its parent: it is cancelled where the flatten's own cancel has not ended it."""
UNASKED = frozenset({LATE, AFTER_HALT, FLATTENED})
"""Reasons of cancels that are sent, and tried again, without anybody asking."""


def leg_sent(leg: LegRecord, answer: OrderAnswer, now: float) -> LegRecord:
    """Return the leg after the broker's answer to its place (rows 7, 8, 10, 11).

    Where the order stream was faster than the answer, what it said stays; the answer's own words are kept beside it.
    """
    if not leg.state.unsettled:
        return attrs.evolve(leg, broker_response=answer.broker_response)
    return attrs.evolve(
        leg,
        state=LEG_AFTER_SEND[answer.outcome],
        order_id=answer.order_id or leg.order_id,
        status_message=answer.status_message,
        broker_response=answer.broker_response,
        updated_at=now,
    )


def turns_up(before: LegRecord, after: LegRecord) -> bool:
    """Whether an order taken as not sent, or given up, is there after all (row 13c)."""
    lost = before.state is LegState.NOT_SENT and after.state is not LegState.NOT_SENT
    return lost or (before.given_up and not after.given_up)


def leg_seen(leg: LegRecord, row: OrderRow, now: float, *, confirmed: bool, adopted: bool = False) -> LegRecord:
    """Return the leg after the broker showed its order (rows 12, 13c, 14-18, 31, 34, 43).

    The filled quantity only grows; a final leg keeps its state; a leg whose cancel is under way stays so until the order has
    ended. An end other than COMPLETE counts when it is `confirmed`, by a book read begun after it was first heard of: a
    stream's CANCELLED can run ahead of the last fill (order-engine 2.3). A leg that had been given up as not sent is one to
    be cancelled, unless it is `adopted`. The very object `leg` is returned when nothing changes.
    """
    state = _state_seen(leg.state, LEG_BY_STATUS.get(row.status, LegState.OPEN), confirmed)
    settled = leg.state.unsettled or leg.state is LegState.NOT_SENT
    late = leg.given_up or (leg.state is LegState.NOT_SENT and state is not LegState.NOT_SENT)
    grown = row.filled_quantity > leg.filled_quantity
    seen = attrs.evolve(
        leg,
        state=state,
        order_id=row.order_id,
        status_message=row.status_message or (None if settled and state is not leg.state else leg.status_message),
        filled_quantity=row.filled_quantity if grown else leg.filled_quantity,
        average_price=_average(leg, row),
        quantity=_quantity(leg, row),
        cancel_reason=LATE if late and not adopted else leg.cancel_reason,
        given_up=False,
        fills_unknown=False,
    )
    return leg if seen == leg else attrs.evolve(seen, updated_at=now)


def _state_seen(before: LegState, shown: LegState, confirmed: bool) -> LegState:
    if before.final and before is not LegState.NOT_SENT:
        return before
    if shown.final and shown is not LegState.COMPLETE and not confirmed:
        return LegState.OPEN if before.unsettled else before
    if before is LegState.CANCELLING and not shown.final:
        return before
    return shown


def _quantity(leg: LegRecord, row: OrderRow) -> int:
    """What the row shows, but not that of a row which is older than what is known, nor while a modify of it is under way."""
    changing = leg.wanted is not None and leg.wanted.quantity is not None and not is_finished(row.status)
    older = row.filled_quantity < leg.filled_quantity or changing
    return leg.quantity if older or not row.quantity else row.quantity


def _average(leg: LegRecord, row: OrderRow) -> float | None:
    """The average of the larger fill; at equal fills the row's, where it has one (a feed may send it late)."""
    if row.filled_quantity < leg.filled_quantity or not row.filled_quantity:
        return leg.average_price
    return row.average_price or (None if row.filled_quantity > leg.filled_quantity else leg.average_price)


def leg_never_shown(leg: LegRecord, now: float) -> LegRecord:
    """Return an unsettled leg after 60 s of fresh books without it (row 13)."""
    return attrs.evolve(leg, state=LegState.NOT_SENT, status_message=texts.NEVER_SHOWN, updated_at=now)


def leg_given_up(leg: LegRecord, now: float) -> LegRecord:
    """Return an unsettled leg after 60 s of fresh books that show more orders which could be it than there are (row 13b)."""
    return attrs.evolve(leg, state=LegState.UNKNOWN, given_up=True, status_message=texts.MORE_THAN_ONE, updated_at=now)


def leg_no_longer_shown(leg: LegRecord, now: float) -> LegRecord:
    """Return a leg whose day is over and that today's book does not show (row 18, K15): expired at its last known fill."""
    sentence = texts.not_known_after(local_text(from_epoch(leg.updated_at)))
    return attrs.evolve(
        leg, state=LegState.EXPIRED, given_up=False, fills_unknown=True, status_message=sentence, updated_at=now
    )


def leg_modified(leg: LegRecord, change: LegChange, now: float) -> LegRecord:
    """Return the leg after the broker accepted a modify (row 20)."""
    order_type = change.order_type or leg.order_type
    known = order_type in tuple(OrderType)
    price = leg.price if change.price is None else change.price
    trigger_price = leg.trigger_price if change.trigger_price is None else change.trigger_price
    return attrs.evolve(
        leg,
        price=price if not known or OrderType(order_type).takes_price else None,
        trigger_price=trigger_price if not known or OrderType(order_type).takes_trigger else None,
        quantity=leg.quantity if change.quantity is None else change.quantity,
        order_type=order_type,
        validity=change.validity or leg.validity,
        wanted=None,
        updated_at=now,
    )


def leg_as_shown(leg: LegRecord, row: OrderRow, now: float) -> LegRecord:
    """Return a leg whose modify ended as unknown with the values that a fresh book shows (row 23)."""
    wanted = LegChange() if leg.wanted is None else leg.wanted
    shown = LegChange(
        price=None if wanted.price is None else exact(row.price),
        trigger_price=None if wanted.trigger_price is None else exact(row.trigger_price),
        quantity=None if wanted.quantity is None else row.quantity,
        order_type=None if wanted.order_type is None else row.order_type,
        validity=None if wanted.validity is None else row.validity,
    )
    return leg_modified(leg, shown, now)


def simple_parent(record: ParentRecord, leg: LegRecord, now: float) -> ParentRecord:
    """Return a simple parent with its one leg as given; a final parent keeps its state (row 43) unless it was rejected
    because its order was taken as never sent (row 13c)."""
    state = SIMPLE_PARENT_BY_LEG[leg.state]
    if leg.state is LegState.CANCELLED and leg.validity == Validity.IOC and leg.cancel_reason is None:
        state = ParentState.EXPIRED  # row 15b
    if leg.given_up:
        state = ParentState.FAILED  # row 13b
    if record.state is ParentState.CANCELLING:
        state = ParentState.CANCELLED if leg.state.final else ParentState.CANCELLING
    elif record.state.final and record.state is not ParentState.REJECTED:
        state = record.state
    message = leg.status_message if leg.state.final or leg.given_up else record.status_message
    return attrs.evolve(
        record.with_leg(leg),
        state=state,
        status_message=texts.turned_up(leg.broker) if leg.cancel_reason == LATE else message,
        over_filled_quantity=max(0, leg.filled_quantity - leg.quantity),
        updated_at=now,
    )
