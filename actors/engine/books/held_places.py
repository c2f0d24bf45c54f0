"""Where the units of a plan may be held, and whether any of them is held there now (order-engine 1.13)."""

from collections.abc import Collection, Iterator

import attrs

from onebroker.actors.engine.books.closed_shares import Position, Share, is_share_closed
from onebroker.actors.engine.books.settled_positions import held_for, judged
from onebroker.actors.engine.context.engine_context import EngineContext
from onebroker.actors.engine.orders.parent_records import ParentRecord
from onebroker.actors.engine.plan.machine.leg_actions import CLOSING
from onebroker.actors.engine.plan.machine.open_units import cleared_rows
from onebroker.actors.engine.plan.machine.over_fills import closed_by_base
from onebroker.actors.engine.plan.parts import FromExposure, FromPosition, OrderPart, orders_of, own_orders_of
from onebroker.actors.engine.plan.stored_tree import decode_plan
from onebroker.config.clock import from_epoch, latest_boundary
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
    share: Share | None = None
    """The parent's share of what is held there; None where it is not known: the units are not of its own entries nor of its tag, or not all of one day, or
    an entry has not ended."""


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
                found = _place(order, brokers, Side(order.transaction_type).opposite, elsewhere=False)
                yield attrs.evolve(found, share=_share_of(record, order))
    for order in orders:
        if order.is_exit and order.path not in hanging:
            brokers = {leg.broker for leg in record.legs if leg.part == order.path}
            pinned: set[str] = set() if order.broker is None else {order.broker}
            found = _place(order, pinned or brokers, Side(order.transaction_type), elsewhere=not pinned)
            yield attrs.evolve(found, share=_share_of_tag(record, order))


def _is_of_positions(order: OrderPart) -> bool:
    return isinstance(order.quantity, FromPosition | FromExposure)


def _place(order: OrderPart, brokers: Collection[str], side: Side, *, elsewhere: bool) -> Place:
    return Place(frozenset(brokers), elsewhere, order.instrument_id, order.product, side)


def _share_of(record: ParentRecord, entry: OrderPart) -> Share | None:
    legs = [leg for leg in record.legs if leg.part == entry.path]
    days = {leg.session_day for leg in legs if leg.filled_quantity}
    if len(days) != 1 or not all(leg.state.final for leg in legs):
        return None
    return Share(parent_id=record.parent_order_id, tag=_tag_of(record, entry), day=days.pop())


def _share_of_tag(record: ParentRecord, exit_order: OrderPart) -> Share | None:
    """Return the share that a lone exit guards where its caller names it: orders of the same tag have opened it, as many units at least as it guards."""
    size, now = getattr(exit_order.quantity, "quantity", None), record.parts.get(exit_order.path)
    over = None if now is None else now.armed_over
    created = latest_boundary(from_epoch(record.created_at)).date().isoformat()
    days = {leg.session_day for leg in record.legs if leg.part == exit_order.path} or {created}
    tag = _tag_of(record, exit_order)
    if tag is None or not isinstance(size, int) or len(days) != 1:
        return None
    return Share(parent_id=record.parent_order_id, tag=tag, day=days.pop(), least=min(size, over) if over else size)


def _tag_of(record: ParentRecord, order: OrderPart) -> str | None:
    return record.tag if order.tag is None else order.tag


def is_closed(context: EngineContext, place: Place, since: float) -> bool:
    """Whether nothing of the parent is open at a place, by reads that began after `since` (epoch seconds): nothing is held there, or only units of
    others."""
    return _nothing_held(context, place, since) or _only_of_others(context, place, since)


def units_held(context: EngineContext, place: Place, since: float) -> int | None:
    """Return the units that the brokers of a place hold, by reads that began after `since` (epoch seconds): the parent's own, and perhaps units of others.
    None where they are not known, or may be at further brokers."""
    if not place.brokers or (place.elsewhere and _listing(context, place.instrument_id) - place.brokers):
        return None
    after = _monotonic(context, since)
    held = [held_for(context, code, place.instrument_id, place.product, place.side) for code in place.brokers]
    known = [units for units in held if units is not None]
    return (
        sum(known) if len(known) == len(held) and all(_read(context, code, after) for code in place.brokers) else None
    )


def _only_of_others(context: EngineContext, place: Place, since: float) -> bool:
    latest = context.catalogue.value.latest
    instrument = None if latest is None else latest.instrument(place.instrument_id)
    share, after = place.share, _monotonic(context, since)
    if share is None or instrument is None or share.day != latest_boundary(context.clock.now()).date().isoformat():
        return False
    for code in place.brokers:
        listing = instrument.listings.get(code)
        if listing is None or code not in context.sessions or not _read(context, code, after):
            return False
        position = Position(
            broker=code,
            token=listing.broker_token,
            instrument_id=place.instrument_id,
            product=place.product,
            side=place.side,
        )
        if not is_share_closed(context, share, position, after):
            return False
    return True


def _nothing_held(context: EngineContext, place: Place, since: float) -> bool:
    """Whether nothing is held at a place, by reads that began after `since` (epoch seconds)."""
    since_monotonic = _monotonic(context, since)
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


def _monotonic(context: EngineContext, since: float) -> float:
    return context.clock.monotonic() - (context.clock.epoch() - since)


def _listing(context: EngineContext, instrument_id: str) -> frozenset[str]:
    latest = context.catalogue.value.latest
    instrument = None if latest is None else latest.instrument(instrument_id)
    return frozenset() if instrument is None else frozenset(instrument.listings) & context.sessions.keys()


def _read(context: EngineContext, code: str, since: float) -> bool:
    found = judged(context, code)
    return found is not None and found.read.began >= since
