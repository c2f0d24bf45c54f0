"""Makes order events from two successive order books (rules 2.2.2). Pure."""

from collections.abc import Iterable, Mapping
from typing import Literal, TypeAlias

import msgspec

from onebroker.actors.portfolio.assembler import ROWS_PER_STEP, Steps
from onebroker.actors.portfolio.order_book import OrderView

OrderKey: TypeAlias = tuple[str, str]
"""Broker and order id."""
Orders: TypeAlias = Mapping[OrderKey, OrderView]


class OrderEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One order came, changed, or is no longer in the book."""

    event: Literal["new", "changed", "gone"]
    previous_status: str | None
    """Null for a new order."""
    order: OrderView
    """The order as it is now; for an order that is gone, as it was last."""


def orders_of(rows: Iterable[msgspec.Struct]) -> Steps[dict[OrderKey, OrderView]]:
    """Return the rows of an order book by their key."""
    orders: dict[OrderKey, OrderView] = {}
    for number, row in enumerate(rows):
        if isinstance(row, OrderView):
            orders[row.broker, row.order_id] = row
        if number % ROWS_PER_STEP == 0:
            yield
    return orders


def order_events(before: Orders, after: Orders) -> Steps[list[OrderEvent]]:
    """Return the events that lead from one book to the other, in the order of the book; gone orders come last."""
    events: list[OrderEvent] = []
    for number, (key, order) in enumerate(after.items()):
        known = before.get(key)
        if known is None:
            events.append(OrderEvent(event="new", previous_status=None, order=order))
        elif known is not order and known != order:
            events.append(OrderEvent(event="changed", previous_status=known.status, order=order))
        if number % ROWS_PER_STEP == 0:
            yield
    gone = (order for key, order in before.items() if key not in after)
    events += [OrderEvent(event="gone", previous_status=order.status, order=order) for order in gone]
    return events
