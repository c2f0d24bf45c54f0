"""Orders that a broker has accepted but its book does not show yet: they can be changed and cancelled by the id in the broker's answer."""

from datetime import datetime

from onebroker.actors.engine.context.engine_context import SessionHandle
from onebroker.brokers.records import OrderRow
from onebroker.brokers.requests import NotSendable


def accepted_order(handle: SessionHandle, order_id: str | None, now: datetime) -> OrderRow | None:
    """Return such an order as it was accepted. None when there is none, or when its broker needs fields that only its book reports."""
    view = handle.view.value
    row = None if order_id is None else view.unseen.get(order_id)
    if row is None or view.access is None:
        return None
    try:
        handle.broker.orders.cancel_request(view.access, row, now)
    except NotSendable:
        return None
    return row
