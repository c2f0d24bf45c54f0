"""Where the units of a plan may be held, and whether anything is held there now (order-engine 1.13)."""

from collections.abc import Collection, Iterator

import attrs

from onebroker.actors.engine.books.settled_positions import held_for, judged
from onebroker.actors.engine.context.engine_context import EngineContext
from onebroker.actors.engine.orders.parent_records import ParentRecord
from onebroker.actors.engine.plan.machine.leg_actions import CLOSING
from onebroker.actors.engine.plan.machine.open_units import cleared_rows
from onebroker.actors.engine.plan.machine.over_fills import closed_by_base
from onebroker.actors.engine.plan.parts import FromExposure, FromPosition, OrderPart, orders_of, own_orders_of
from onebroker.actors.engine.plan.stored_tree import decode_plan
from onebroker.config.vocabulary import Side


@attrs.frozen
class Place:
    """Where a parent's units may be held: `side` is the side that closes them."""

    brokers: frozenset[str]
    """Brokers that must say that nothing is held; empty: all that list the instrument."""
    elsewhere: bool
    """Whether the units may also be at other brokers: their exit was pinned to none."""
    instrument_id: str
    product: str
    side: Side


def places_of(record: ParentRecord) -> Iterator[Place]:
    """Yield where the units may be held that a plan has opened, that its exits guard, or whose stop its closes have taken away. Nothing for a hedge,
    nor for any other position that a plan closes: what its units are is known only while it runs."""
    if record.plan is None:
        return
    orders = [order for order in orders_of(decode_plan(record.plan)) if not _is_of_positions(order)]
    for part in record.parts.values():
        for row in cleared_rows(part):
            known = frozenset() if row.broker is None else frozenset({row.broker})
            yield Place(known, False, row.instrument_id, row.product, row.closing_side)
    hanging: set[str] = set()
    for base, exits in closed_by_base(decode_plan(record.plan)):
        hanging.update(order.path for order in exits)
        for order in own_orders_of(base):
            brokers = {
                leg.broker
                for leg in record.legs
                if leg.part == order.path and leg.instance != CLOSING and leg.filled_quantity
            }
            if brokers:
                yield _place(order, brokers, Side(order.transaction_type).opposite, elsewhere=False)
    for order in orders:
        if order.is_exit and order.path not in hanging:
            brokers = {leg.broker for leg in record.legs if leg.part == order.path}
            pinned: set[str] = set() if order.broker is None else {order.broker}
            yield _place(order, pinned or brokers, Side(order.transaction_type), elsewhere=not pinned)


def _is_of_positions(order: OrderPart) -> bool:
    return isinstance(order.quantity, FromPosition | FromExposure)


def _place(order: OrderPart, brokers: Collection[str], side: Side, *, elsewhere: bool) -> Place:
    return Place(frozenset(brokers), elsewhere, order.instrument_id, order.product, side)


def nothing_held(context: EngineContext, place: Place, since: float) -> bool:
    """Whether nothing is held at a place, by reads that began after `since` (epoch seconds)."""
    since_monotonic = context.clock.monotonic() - (context.clock.epoch() - since)
    instrument = (place.instrument_id, place.product, place.side)
    listing = _listing(context, place.instrument_id)
    if not place.brokers:
        codes: Collection[str] = listing
        held = [held_for(context, None, *instrument)]
    else:
        codes = place.brokers
        held = [held_for(context, code, *instrument) for code in codes]
    others = listing - place.brokers if place.elsewhere else frozenset[str]()
    shown = any(held_for(context, code, *instrument) for code in others)
    return (
        not shown and all(units == 0 for units in held) and all(_read(context, code, since_monotonic) for code in codes)
    )


def _listing(context: EngineContext, instrument_id: str) -> frozenset[str]:
    latest = context.catalogue.value.latest
    instrument = None if latest is None else latest.instrument(instrument_id)
    return frozenset() if instrument is None else frozenset(instrument.listings) & context.sessions.keys()


def _read(context: EngineContext, code: str, since: float) -> bool:
    found = judged(context, code)
    return found is not None and found.read.began >= since
