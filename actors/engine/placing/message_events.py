"""The events of a broker's choice (`order.decided`), and of an order message that leaves (`order.sent`), for each kind of message. Pure."""

from collections.abc import Iterable

from onebroker.actors.engine.choice.broker_checks import Skipped
from onebroker.actors.engine.orders.parent_records import LegChange, LegRecord, ParentRecord
from onebroker.brokers.records import OrderRow
from onebroker.config.events import OrderDecided, OrderSent


def place_event(record: ParentRecord, leg: LegRecord, instrument_id: str) -> OrderSent:
    """Return the event of a new order."""
    return OrderSent(
        broker=leg.broker,
        verb="place",
        parent=record.parent_order_id,
        leg=leg.leg_id,
        intent=record.intent_id,
        token=leg.token,
        instrument=instrument_id,
        side=leg.transaction_type,
        quantity=leg.quantity,
        product=leg.product,
        order_type=leg.order_type,
        price=leg.price,
        trigger_price=leg.trigger_price,
    )


def decided_event(
    record: ParentRecord, leg_id: str | None, broker: str | None, skipped: Iterable[Skipped], words: object = None
) -> OrderDecided:
    """Return the event of the choice of a broker; `words` say why there is none."""
    return OrderDecided(
        intent=record.intent_id,
        parent=record.parent_order_id,
        leg=leg_id,
        broker=broker,
        skipped=passed_over(skipped),
        words=None if words is None else str(words),
    )


def passed_over(skipped: Iterable[Skipped]) -> tuple[str, ...]:
    """Return the brokers that were passed over, each with its reason."""
    return tuple(f"{skip.broker}: {skip.reason}" for skip in skipped)


def cancel_event(broker: str, row: OrderRow, parent_id: str | None = None, leg_id: str | None = None) -> OrderSent:
    """Return the event of a cancel. `parent_id` None: the order belongs to no parent, or the desk cancels it without its parent."""
    return OrderSent(broker=broker, verb="cancel", parent=parent_id, leg=leg_id, order_id=row.order_id)


def change_event(
    broker: str, row: OrderRow, change: LegChange, parent_id: str | None = None, leg_id: str | None = None
) -> OrderSent:
    """Return the event of a change, with the values that change only."""
    return OrderSent(
        broker=broker,
        verb="modify",
        parent=parent_id,
        leg=leg_id,
        order_id=row.order_id,
        quantity=change.quantity,
        order_type=change.order_type,
        price=change.price,
        trigger_price=change.trigger_price,
    )
