"""The events that follow from a change of a parent's record: its new state, and what has become of its legs. Pure."""

from collections.abc import Iterator

from onebroker.actors.engine.orders.parent_records import LegRecord, LegState, ParentRecord
from onebroker.config.events import Event, OrderFilled, OrderRejected, OrderSettled, OrderUnknown, ParentMoved


def changes(before: ParentRecord, after: ParentRecord) -> Iterator[Event]:
    """Yield the events of a record's change, legs first."""
    if after.legs is not before.legs:
        known = {leg.leg_id: leg for leg in before.legs}
        for leg in after.legs:
            earlier = known.get(leg.leg_id)
            if earlier is not leg:
                yield from _leg_changes(after, earlier, leg)
    if after.state is not before.state:
        yield state_event(after, before.state.value)


def state_event(record: ParentRecord, before: str) -> ParentMoved:
    """Return the event that a parent has its present state; `before` is empty for a new parent."""
    return ParentMoved(
        parent=record.parent_order_id,
        type=record.routed_from or record.synthetic_type,
        before=before,
        state=record.state.value,
        words=record.status_message,
    )


def _leg_changes(record: ParentRecord, before: LegRecord | None, leg: LegRecord) -> Iterator[Event]:
    parent = record.parent_order_id
    filled = 0 if before is None else before.filled_quantity
    if leg.filled_quantity > filled:
        yield OrderFilled(
            broker=leg.broker,
            parent=parent,
            leg=leg.leg_id,
            instrument=leg.instrument_id or record.instrument_id,
            side=leg.transaction_type,
            added=leg.filled_quantity - filled,
            filled=leg.filled_quantity,
            quantity=leg.quantity,
            order_id=leg.order_id,
            average_price=leg.average_price,
        )
    if before is not None and leg.state is before.state:
        return
    if leg.state is LegState.UNKNOWN:
        yield OrderUnknown(broker=leg.broker, parent=parent, leg=leg.leg_id, words=leg.status_message)
    elif before is not None and before.state is LegState.UNKNOWN:
        yield OrderSettled(
            broker=leg.broker,
            parent=parent,
            leg=leg.leg_id,
            state=leg.state.value,
            order_id=leg.order_id,
            words=leg.status_message,
        )
    # A rejection in the answer itself, without an order id, is told by the session that got it: the record does not say if the message left.
    if leg.state is LegState.REJECTED and (
        leg.order_id is not None or (before and before.state is not LegState.SENDING)
    ):
        yield OrderRejected(
            broker=leg.broker, parent=parent, leg=leg.leg_id, order_id=leg.order_id, words=leg.status_message
        )
