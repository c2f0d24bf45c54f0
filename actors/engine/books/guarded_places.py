"""Reads what other open plans have bought at a broker and guard (`context/guarded_units.py`), by the orders that the broker shows now."""

from collections.abc import Mapping

from onebroker.actors.engine.context.engine_context import EngineContext
from onebroker.actors.engine.context.guarded_units import Place
from onebroker.actors.engine.orders.states import ACTS
from onebroker.actors.engine.plan.machine.free_units import Claim
from onebroker.brokers.records import OrderRow
from onebroker.config.clock import latest_boundary
from onebroker.config.vocabulary import Side


def units_of_older(context: EngineContext, parent_id: str | None, place: Place) -> int:
    """Return the units that plans older than this one have open at a place; 0 for an order that is no open plan (None)."""
    handle = context.sessions.get(place.broker)
    if handle is None or parent_id is None:
        return 0
    rows, today = handle.view.value.orders, latest_boundary(context.clock.now()).date().isoformat()
    return context.guarded.of_older(parent_id, place, rows, today, lambda name: _sends(context, name))


def taken_by_others(
    context: EngineContext, parent_id: str | None, broker: str | None, instrument_id: str, product: str, side: Side, *,
    stops: bool, anywhere: bool,
) -> int:  # fmt: skip
    """Return the units of a position that all other open plans have bought and guard, and those that the stops (or targets) of older exits without an
    entry claim. `broker` None: at all brokers together. `anywhere`: whether exits that name no broker count."""
    codes = context.sessions if broker is None else {broker} & context.sessions.keys()
    today, taken = latest_boundary(context.clock.now()).date().isoformat(), 0

    def rows(code: str) -> Mapping[str, OrderRow]:
        handle = context.sessions.get(code)
        return {} if handle is None else handle.view.value.orders

    def sends(name: str) -> bool:
        return _sends(context, name)

    for code in codes:
        place = Place(code, instrument_id, product, side)
        taken += context.guarded.of_others(parent_id, place, rows(code), today, sends)

    def counts(claim: Claim) -> bool:
        place = (claim.instrument_id, claim.product, claim.side, claim.stops) == (instrument_id, product, side, stops)
        return place and (broker in (None, claim.broker) or (anywhere and claim.broker is None))

    return taken + context.guarded.claimed_by_older(parent_id, instrument_id, counts, rows, today, sends)


def _sends(context: EngineContext, parent_id: str) -> bool:
    return context.open_states.get(parent_id) in ACTS
