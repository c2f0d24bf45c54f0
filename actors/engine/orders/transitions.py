"""How a broker's row or answer changes a leg, and how a leg changes its simple parent. Pure; states come from the tables of `states.py`.

Rows are numbered as in order-engine 2.2.
"""

from typing import Any

import attrs

from onebroker.actors.engine.orders.parent_records import LegChange, LegRecord, LegState, ParentRecord, ParentState
from onebroker.actors.engine.orders.states import LegEvent, ParentEvent, leg_state, moved_leg, moved_parent
from onebroker.brokers.broker import OrderAnswer
from onebroker.brokers.records import OrderRow
from onebroker.config.clock import from_epoch, local_text
from onebroker.config.messages import unknown_orders as texts
from onebroker.config.money import exact
from onebroker.config.vocabulary import OrderStatus, OrderType, Outcome, Validity, is_finished

LEG_EVENT_BY_OUTCOME: dict[Outcome, LegEvent] = {
    Outcome.ACCEPTED: LegEvent.ACCEPTED,
    Outcome.REJECTED: LegEvent.REFUSED,
    Outcome.UNKNOWN: LegEvent.NO_CLEAR_ANSWER,
}

LEG_EVENT_BY_STATUS: dict[str, LegEvent] = {
    OrderStatus.PENDING: LegEvent.SHOWN_PENDING,
    OrderStatus.OPEN: LegEvent.SHOWN_OPEN,
    OrderStatus.COMPLETE: LegEvent.SHOWN_COMPLETE,
    OrderStatus.CANCELLED: LegEvent.SHOWN_CANCELLED,
    OrderStatus.REJECTED: LegEvent.SHOWN_REJECTED,
    OrderStatus.EXPIRED: LegEvent.SHOWN_EXPIRED,
}
"""A status that is not in this table counts as open (order-engine 2.3)."""

_TO_BE_CONFIRMED = frozenset({LegEvent.SHOWN_CANCELLED, LegEvent.SHOWN_REJECTED, LegEvent.SHOWN_EXPIRED})

SIMPLE_PARENT_EVENT_BY_LEG: dict[LegState, ParentEvent] = {
    LegState.SENDING: ParentEvent.SENT,
    LegState.UNKNOWN: ParentEvent.SENT,
    LegState.PENDING: ParentEvent.SENT,
    LegState.OPEN: ParentEvent.SENT,
    LegState.CANCELLING: ParentEvent.SENT,
    LegState.COMPLETE: ParentEvent.COMPLETED,
    LegState.CANCELLED: ParentEvent.CANCELLED,
    LegState.REJECTED: ParentEvent.REJECTED,
    LegState.EXPIRED: ParentEvent.EXPIRED,
    LegState.NOT_SENT: ParentEvent.REJECTED,
}

LATE = "late"
"""`LegRecord.cancel_reason` of an order that counted as never sent, turned up later and is cancelled (row 13c)."""
AFTER_HALT = "after_halt"
"""Cancel reason of an order that its broker did not show yet when a flatten halted the parent (row 35). It is cancelled when it appears."""
FLATTENED = "flattened"
"""Cancel reason of an order that its broker showed when a flatten halted the parent. It is cancelled if the flatten's cancel did not end it."""
UNASKED = frozenset({LATE, AFTER_HALT, FLATTENED})
"""Reasons of cancels that the engine sends and retries without a caller."""


def leg_sent(leg: LegRecord, answer: OrderAnswer, now: float) -> LegRecord:
    """Return the leg after the broker's answer to its place (rows 7, 8, 10, 11).

    Where the order stream was faster than the answer, the stream's report stays; of the answer only `broker_response` is kept.
    """
    if not leg.state.unsettled:
        return attrs.evolve(leg, broker_response=answer.broker_response)
    return moved_leg(
        leg,
        LEG_EVENT_BY_OUTCOME[answer.outcome],
        order_id=answer.order_id or leg.order_id,
        status_message=answer.status_message,
        broker_response=answer.broker_response,
        updated_at=now,
    )


def turns_up(before: LegRecord, after: LegRecord) -> bool:
    """Whether an order that counted as not sent, or was given up, exists after all (row 13c)."""
    lost = before.state is LegState.NOT_SENT and after.state is not LegState.NOT_SENT
    return lost or (before.given_up and not after.given_up)


def leg_seen(leg: LegRecord, row: OrderRow, now: float, *, confirmed: bool, adopted: bool = False) -> LegRecord:
    """Return the leg after the broker showed its order (rows 12, 13c, 14-18, 31, 34, 43).

    The filled quantity only grows. The order's own numbers are not taken from a row of an order that lives: only two whole books that agree
    say that they have changed (`another_hand.py`). A final leg keeps its state. A leg whose cancel is under way stays `cancelling` until the order has
    ended. An end other than COMPLETE counts only when `confirmed` by a book read that began after the end was first heard of: a
    stream's CANCELLED can run ahead of the last fill (order-engine 2.3). If the leg counted as not sent or was given up, it is marked
    to be cancelled, unless it is `adopted`. The same object `leg` is returned when nothing changes.
    """
    event = _event_seen(row, confirmed=confirmed)
    state = leg_state(leg.state, event)
    settled = leg.state.unsettled or leg.state is LegState.NOT_SENT
    late = leg.given_up or (leg.state is LegState.NOT_SENT and state is not LegState.NOT_SENT)
    grown = row.filled_quantity > leg.filled_quantity
    seen = moved_leg(
        leg,
        event,
        order_id=row.order_id,
        status_message=row.status_message or (None if settled and state is not leg.state else leg.status_message),
        filled_quantity=row.filled_quantity if grown else leg.filled_quantity,
        average_price=_average(leg, row),
        **_quantity(leg, row, now),
        cancel_reason=LATE if late and not adopted else leg.cancel_reason,
        given_up=False,
        fills_unknown=False,
    )
    return leg if seen == leg else attrs.evolve(seen, updated_at=now)


def _event_seen(row: OrderRow, *, confirmed: bool) -> LegEvent:
    event = LEG_EVENT_BY_STATUS.get(row.status, LegEvent.SHOWN_OPEN)
    return LegEvent.END_TOLD if event in _TO_BE_CONFIRMED and not confirmed else event


def _quantity(leg: LegRecord, row: OrderRow, now: float) -> dict[str, Any]:
    """Return the changed quantity of an order that has ended with another total than ours.

    Nothing of it comes any more, so this row is the last word on what another hand took off it or added. A row older than the known fills
    says nothing, nor does a row in lots. For an end that we asked for, the quantity counts and nobody took anything off: the
    unfilled units are the part's again anyway.
    """
    older = row.filled_quantity < leg.filled_quantity or row.contract_units is None
    if older or leg.state.final or not row.quantity or row.quantity == leg.quantity or not is_finished(row.status):
        return {}
    wanted = leg.wanted is not None and leg.wanted.quantity == row.quantity
    if wanted or leg.cancel_reason is not None:
        return {"quantity": row.quantity}
    return with_quantity_of_another(leg, row.quantity, now)


def with_quantity_of_another(leg: LegRecord, quantity: int, now: float) -> dict[str, Any]:
    """Return the changed fields of a leg whose total another hand has set."""
    return {"quantity": quantity, "taken_off": leg.taken_off + leg.quantity - quantity, "taken_off_at": now}


def leg_changed_elsewhere(leg: LegRecord, change: LegChange, now: float, *, by_another: bool) -> LegRecord:
    """Return the leg with the numbers that its broker shows and no message of ours explains (row 24b). Not `by_another`: the broker did not
    keep a change that it had accepted, so nobody has taken units off."""
    changed = attrs.evolve(
        leg,
        price=leg.price if change.price is None else change.price,
        trigger_price=leg.trigger_price if change.trigger_price is None else change.trigger_price,
        updated_at=now,
    )
    if change.quantity is None:
        return changed
    if not by_another:
        return attrs.evolve(changed, quantity=change.quantity)
    return attrs.evolve(changed, **with_quantity_of_another(leg, change.quantity, now))


def _average(leg: LegRecord, row: OrderRow) -> float | None:
    """The average price of the larger fill. At equal fills, the row's average where it has one (a feed may send it late)."""
    if row.filled_quantity < leg.filled_quantity or not row.filled_quantity:
        return leg.average_price
    return row.average_price or (None if row.filled_quantity > leg.filled_quantity else leg.average_price)


def leg_taken_back(leg: LegRecord, row: OrderRow, now: float, *, is_exit: bool) -> LegRecord:
    """Return the leg after its broker took back filled units; `row` shows what is left, and books and positions agree (2.3).

    Units of an entry are not bought again: the trade was the market's decision. Units of an exit are open again, so the exit covers them.
    """
    units = leg.filled_quantity - row.filled_quantity
    return attrs.evolve(
        leg,
        filled_quantity=row.filled_quantity,
        average_price=row.average_price or (leg.average_price if row.filled_quantity else None),
        taken_back=leg.taken_back + units,
        taken_off=leg.taken_off + (0 if is_exit else units),
        updated_at=now,
    )


def leg_never_shown(leg: LegRecord, now: float) -> LegRecord:
    """Return an unsettled leg after 60 s of fresh books that do not show it (row 13)."""
    return moved_leg(leg, LegEvent.NEVER_SHOWN, status_message=texts.NEVER_SHOWN, updated_at=now)


def leg_given_up(leg: LegRecord, now: float) -> LegRecord:
    """Return an unsettled leg after 60 s of fresh books that show more candidate orders than there are such legs (row 13b)."""
    return moved_leg(leg, LegEvent.MORE_THAN_ONE, given_up=True, status_message=texts.MORE_THAN_ONE, updated_at=now)


def leg_no_longer_shown(leg: LegRecord, now: float) -> LegRecord:
    """Return a leg whose day is over and that today's book does not show (row 18, K15): it expired with its last known fill."""
    sentence = texts.not_known_after(local_text(from_epoch(leg.updated_at)))
    return moved_leg(
        leg, LegEvent.DAY_OVER, given_up=False, fills_unknown=True, status_message=sentence, updated_at=now
    )


def leg_modified(leg: LegRecord, change: LegChange, now: float, *, given_back: bool = False) -> LegRecord:
    """Return the leg after the broker accepted a modify (row 20). `given_back`: a larger quantity gives units back that another hand had taken
    off: a caller asked for it, or the order is an exit."""
    order_type = change.order_type or leg.order_type
    known = order_type in tuple(OrderType)
    price = leg.price if change.price is None else change.price
    trigger_price = leg.trigger_price if change.trigger_price is None else change.trigger_price
    more = 0 if change.quantity is None else max(0, change.quantity - leg.quantity)
    return attrs.evolve(
        leg,
        taken_off=leg.taken_off - min(max(0, leg.taken_off), more) if given_back else leg.taken_off,
        price=price if not known or OrderType(order_type).takes_price else None,
        trigger_price=trigger_price if not known or OrderType(order_type).takes_trigger else None,
        quantity=leg.quantity if change.quantity is None else change.quantity,
        order_type=order_type,
        validity=change.validity or leg.validity,
        wanted=None,
        updated_at=now,
    )


def leg_as_shown(leg: LegRecord, row: OrderRow, now: float) -> LegRecord:
    """Return a leg, whose modify ended as unknown, with the values that a fresh book shows (row 23)."""
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
    """Return a simple parent with its one leg as given. A final parent keeps its state (row 43), unless it was rejected
    because its order counted as never sent (row 13c)."""
    event = _event_of(leg)
    if record.state is ParentState.REJECTED and event is not ParentEvent.REJECTED:
        record = moved_parent(record, ParentEvent.TURNED_UP)
    if record.state is ParentState.CANCELLING and leg.state.final:
        event = ParentEvent.NOTHING_RESTS
    message = leg.status_message if leg.state.final or leg.given_up else record.status_message
    if leg.taken_off and message is None:
        message = record.status_message  # why it ended with another quantity than its caller's
    return moved_parent(
        record.with_leg(leg),
        event,
        status_message=texts.turned_up(leg.broker) if leg.cancel_reason == LATE else message,
        over_filled_quantity=max(0, leg.filled_quantity - leg.quantity),
        updated_at=now,
    )


def _event_of(leg: LegRecord) -> ParentEvent:
    """Return the event that a leg's state is for its simple parent."""
    if leg.given_up:
        return ParentEvent.FAILED  # row 13b
    if leg.state is LegState.CANCELLED and leg.validity == Validity.IOC and leg.cancel_reason is None:
        return ParentEvent.EXPIRED  # row 15b
    return SIMPLE_PARENT_EVENT_BY_LEG[leg.state]
