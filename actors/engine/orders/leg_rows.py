"""Finds a leg's row among a broker's orders: by token first, then by the order id of the leg's own day (order-engine 2.3). Pure."""

from collections.abc import Mapping
from datetime import datetime

from onebroker.actors.engine.orders.leg_tokens import looks_like_token
from onebroker.actors.engine.orders.parent_records import LegRecord
from onebroker.brokers.records import OrderRow
from onebroker.config.clock import latest_boundary


def is_of(leg: LegRecord, row: OrderRow, today: str) -> bool:
    """Whether a row of the leg's broker is the leg's row. Brokers reuse order ids on other days. `today` as `session_day`."""
    if looks_like_token(row.tag) and row.tag is not None:
        return row.tag.lower() == leg.token
    return leg.order_id == row.order_id and leg.session_day == today


def row_of(leg: LegRecord, orders: Mapping[str, OrderRow], today: str) -> OrderRow | None:
    """Return the leg's row from its broker's orders."""
    row = orders.get(leg.order_id) if leg.order_id is not None else None
    if row is not None and is_of(leg, row, today):
        return row
    return next((row for row in orders.values() if is_of(leg, row, today)), None)


def is_of_day(row: OrderRow, day: datetime) -> bool:
    """Tell whether an order belongs to the broking day that began at `day`. An order without a time of placing does, since it is in the day's
    book."""
    return row.order_timestamp is None or latest_boundary(datetime.fromisoformat(row.order_timestamp)) == day
