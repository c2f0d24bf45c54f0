"""Reads what other open plans have bought at a broker and guard (`context/guarded_units.py`), by the orders that the broker shows now."""

from onebroker.actors.engine.context.engine_context import EngineContext
from onebroker.actors.engine.context.guarded_units import Place
from onebroker.actors.engine.orders.states import ACTS
from onebroker.config.clock import latest_boundary


def units_of_older(context: EngineContext, parent_id: str | None, place: Place) -> int:
    """Return the units that plans older than this one have open at a place; 0 for an order that is no open plan (None)."""
    handle = context.sessions.get(place.broker)
    if handle is None or parent_id is None:
        return 0
    rows, today = handle.view.value.orders, latest_boundary(context.clock.now()).date().isoformat()
    return context.guarded.of_older(parent_id, place, rows, today, lambda name: _sends(context, name))


def units_of_others(context: EngineContext, parent_id: str | None, place: Place) -> int:
    """Return the units that all open plans but this one have open at a place."""
    handle = context.sessions.get(place.broker)
    if handle is None:
        return 0
    rows, today = handle.view.value.orders, latest_boundary(context.clock.now()).date().isoformat()
    return context.guarded.of_others(parent_id, place, rows, today, lambda name: _sends(context, name))


def _sends(context: EngineContext, parent_id: str) -> bool:
    return context.open_states.get(parent_id) in ACTS
