"""A parent as `GET /api/orders/parents` and `/stream` show it (rules 2.2.5; order-engine 5.5). Pure."""

from collections.abc import Mapping
from typing import Any

from onebroker.actors.engine.orders.parent_records import LegRecord, ParentRecord
from onebroker.actors.engine.plan.machine.open_units import open_units
from onebroker.actors.engine.plan.parts import Part
from onebroker.actors.engine.plan.stored_tree import decode_plan
from onebroker.actors.engine.shown.plan_answers import shown_parts

MOST_TREES = 2_048
_trees: dict[str, Part] = {}
"""Parent id -> its plan, which never changes. A list of parents therefore decodes each plan only once."""


def parent_record(record: ParentRecord) -> dict[str, Any]:
    """Return a parent as `GET /api/orders/parents` shows it (order-engine 5.5)."""
    return {
        "parent_order_id": record.parent_order_id,
        "synthetic_type": record.synthetic_type,
        "routed_from": record.routed_from,
        "state": record.state.value,
        "status_message": record.said(),
        "instrument_id": record.instrument_id,
        "intent_id": record.intent_id,
        "created_at": record.created_at,
        "updated_at": record.updated_at,
        "over_filled_quantity": record.over_filled_quantity,
        "open_units": open_units(record, _tree(record)),
        "body": record.body,
        "parameters": _parameters(record),
        "legs": [_leg(leg) for leg in record.legs],
    }


def _leg(leg: LegRecord) -> Mapping[str, Any]:
    pending = 0 if leg.state.final else max(0, leg.quantity - leg.filled_quantity)
    return {
        "leg_id": leg.leg_id,
        "part": leg.part,
        "broker": leg.broker,
        "order_id": leg.order_id,
        "state": leg.state.value,
        "status_message": leg.status_message,
        "transaction_type": leg.transaction_type,
        "product": leg.product,
        "order_type": leg.order_type,
        "quantity": leg.quantity,
        "filled_quantity": leg.filled_quantity,
        "pending_quantity": pending,
        "price": leg.price,
        "trigger_price": leg.trigger_price,
        "average_price": leg.average_price,
        "sent_at": leg.sent_at or None,
        "updated_at": leg.updated_at,
    }


def _parameters(record: ParentRecord) -> Mapping[str, Any]:
    """Return the settings together with the present state of a plan's parts."""
    root = _tree(record)
    return record.parameters if root is None else {**record.parameters, "parts": shown_parts(record, root)}


def _tree(record: ParentRecord) -> Part | None:
    """Return a plan's tree; None for an order without a plan."""
    if record.plan is None:
        return None
    root = _trees.get(record.parent_order_id)
    if root is None:
        if len(_trees) >= MOST_TREES:
            _trees.clear()
        root = _trees[record.parent_order_id] = decode_plan(record.plan)
    return root
