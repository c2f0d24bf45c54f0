"""Reads what other open plans have bought at a broker and guard (`context/guarded_units.py`), by the orders that the broker shows now."""

from collections.abc import Callable, Collection, Mapping

from onebroker.actors.engine.books.settled_positions import held_for
from onebroker.actors.engine.context.engine_context import EngineContext
from onebroker.actors.engine.context.guarded_units import NONE_GONE, Gone, Place
from onebroker.actors.engine.orders.part_state import PartRecord
from onebroker.actors.engine.orders.states import ACTS
from onebroker.actors.engine.plan.machine.free_units import Claim
from onebroker.actors.engine.plan.machine.held_units import gone_at
from onebroker.actors.engine.plan.parts import Part
from onebroker.brokers.records import OrderRow
from onebroker.config.clock import latest_boundary
from onebroker.config.vocabulary import Side


def gone_places(root: Part, parts: Mapping[str, PartRecord]) -> Mapping[Place, Gone]:
    """Return what has gone of the units that a plan has bought, by place."""
    found: dict[Place, Gone] = {}
    if not any(record.gone_most for record in parts.values()):
        return found  # of nearly every plan, at every look
    for place, now, most in gone_at(root, parts):
        before = found.get(Place(*place), NONE_GONE)
        found[Place(*place)] = Gone(before.now + now, before.most + most)
    return found


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
    entry claim. `broker` None: at all brokers together, at each of them no more than it holds: what a person has sold there, and another plan does not
    know yet, is taken from nobody elsewhere. `anywhere`: whether exits that name no broker count."""
    books = _Books(context)
    taken = 0
    for code in books.codes(broker):
        units = context.guarded.of_others(parent_id, Place(code, instrument_id, product, side), *books.of(code))
        held = held_for(context, code, instrument_id, product, side) if broker is None and units else None
        taken += units if held is None else min(units, held)
    counts = _counting(broker, instrument_id, product, side, stops=stops, anywhere=anywhere)
    claimed = context.guarded.claimed_by_older
    return taken + claimed(parent_id, instrument_id, counts, books.rows, books.today, books.sends)


def guards_before_growth(
    context: EngineContext, parent_id: str | None, broker: str | None, instrument_id: str, product: str, side: Side, *,
    stops: bool, is_lone: bool,
) -> int:  # fmt: skip
    """Return the units of a position that others guard before those that had gone may come back to a plan (`plan/machine/grown_units.py`): what exits
    without an entry claim, and what other plans have bought and guard: all of it before such an exit (`is_lone`), else what is newer or has come back."""
    books = _Books(context)
    places = [(Place(code, instrument_id, product, side), *books.of(code)) for code in books.codes(broker)]
    if is_lone:
        bought = sum(context.guarded.of_others(parent_id, *place, again=True) for place in places)
    else:
        bought = sum(context.guarded.before_growth(parent_id or "", *place) for place in places)
    counts = _counting(broker, instrument_id, product, side, stops=stops, anywhere=True)
    claimed = context.guarded.claimed_before_growth
    return bought + claimed(parent_id, instrument_id, counts, books.rows, books.today, books.sends, is_lone=is_lone)


def _counting(
    broker: str | None, instrument_id: str, product: str, side: Side, *, stops: bool, anywhere: bool
) -> Callable[[Claim], bool]:
    def counts(claim: Claim) -> bool:
        place = (claim.instrument_id, claim.product, claim.side) == (instrument_id, product, side)
        of_kind = claim.stops is None or claim.stops is stops
        return place and of_kind and (broker in (None, claim.broker) or (anywhere and claim.broker is None))

    return counts


class _Books:
    """What the brokers' books show now."""

    def __init__(self, context: EngineContext) -> None:
        self._context = context
        self.today = latest_boundary(context.clock.now()).date().isoformat()

    def codes(self, broker: str | None) -> Collection[str]:
        sessions = self._context.sessions
        return sessions if broker is None else {broker} & sessions.keys()

    def rows(self, code: str) -> Mapping[str, OrderRow]:
        handle = self._context.sessions.get(code)
        return {} if handle is None else handle.view.value.orders

    def of(self, code: str) -> tuple[Mapping[str, OrderRow], str, Callable[[str], bool]]:
        return self.rows(code), self.today, self.sends

    def sends(self, parent_id: str) -> bool:
        return _sends(self._context, parent_id)


def _sends(context: EngineContext, parent_id: str) -> bool:
    return context.open_states.get(parent_id) in ACTS
