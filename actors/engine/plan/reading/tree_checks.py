"""The checks that need the whole tree: sums, counts, depth, and quantities against lots, slices and the freeze quantity
(order-engine 1.1, 1.3, 1.5, 4.4). Pure; raises Refusal. Trees of presets get the same checks.
"""

from collections.abc import Iterator, Mapping
from decimal import Decimal

import attrs

from onebroker.actors.catalogue.interface import Instrument
from onebroker.actors.engine.orders.freeze_quantity import freeze_of
from onebroker.actors.engine.plan.execution_kinds import (
    AllAtOnce,
    BookDepth,
    FreezeLimit,
    FrontLoaded,
    Iceberg,
    Ladder,
    TopUp,
    Twap,
    Vwap,
)
from onebroker.actors.engine.plan.market import Terms
from onebroker.actors.engine.plan.parts import (
    OneCancelsOthersPart,
    OrderPart,
    Part,
    Share,
    TogetherPart,
    Units,
    children_of,
    orders_of,
    walk,
)
from onebroker.actors.engine.plan.pieces.cutting import freeze_pieces, shared
from onebroker.actors.engine.plan.price_kinds import Discretion, is_stop
from onebroker.actors.engine.plan.reading.reading_context import Defaults, World, tick_of
from onebroker.config.messages import orders as order_texts
from onebroker.config.messages import plan as texts
from onebroker.config.refusal import Refusal

MOST_PARTS = 60
MOST_ORDERS = 40
MOST_DEPTH = 6
"""Levels below the root."""
MOST_PIECES = 500
MOST_FREEZE_SLICES = 20


def check_tree(root: Part, defaults: Defaults, world: World) -> None:
    """Refuse mistakes that no single part shows. `defaults` are the body's. Raises Refusal 400; its sentence begins with a part's path."""
    for part in walk(root):
        _check_shares(part)
    _check_counts(root)
    _check_depth(root)
    for order, units in _known_quantities(root, defaults, world):
        _check_quantity(order, units, _instrument(order, defaults, world), world)


# --- shape -----------------------------------------------------------------------------------------------------------------


def _check_shares(part: Part) -> None:
    if isinstance(part, TogetherPart | OneCancelsOthersPart):
        shares = [child.quantity.share for child in _orders(part) if isinstance(child.quantity, Share)]
        if sum(shares, Decimal(0)) > 1:
            raise _refusal(part, texts.TOO_MUCH)


def _check_counts(root: Part) -> None:
    parts, orders = sum(1 for _ in walk(root)), sum(1 for _ in orders_of(root))
    if parts > MOST_PARTS:
        raise _refusal(root, texts.too_many_parts(MOST_PARTS, parts))
    if orders > MOST_ORDERS:
        raise _refusal(root, texts.too_many_orders(MOST_ORDERS, orders))


def _check_depth(part: Part, depth: int = 0) -> None:
    if depth > MOST_DEPTH:
        raise _refusal(part, texts.too_deep(MOST_DEPTH))
    for child in children_of(part):
        _check_depth(child, depth + 1)


# --- quantities --------------------------------------------------------------------------------------------------------------


def _known_quantities(
    part: Part, defaults: Defaults, world: World, siblings: tuple[OrderPart, ...] = (), linked: bool = False
) -> Iterator[tuple[OrderPart, int]]:
    """Yield the order parts whose units are known at intake, in tree order."""
    if isinstance(part, OrderPart):
        units = _units(part, siblings or (part,), linked, defaults, world)
        if units is not None:
            yield part, units
    below = _orders(part) if isinstance(part, TogetherPart | OneCancelsOthersPart) else ()
    for child in children_of(part):
        yield from _known_quantities(child, defaults, world, below, linked or isinstance(part, OrderPart))


def _orders(part: TogetherPart | OneCancelsOthersPart) -> tuple[OrderPart, ...]:
    return tuple(child for child in part.children if isinstance(child, OrderPart))


def _units(
    part: OrderPart, siblings: tuple[OrderPart, ...], linked: bool, defaults: Defaults, world: World
) -> int | None:
    match part.quantity:
        case Units(quantity=units):
            return units
        case Share() if not linked:
            if defaults.quantity is None:
                raise _refusal(part, order_texts.QUANTITY_REQUIRED)
            sharing = [sibling for sibling in siblings if isinstance(sibling.quantity, Share)]
            shares = [sibling.quantity.share for sibling in sharing if isinstance(sibling.quantity, Share)]
            terms = _terms(_instrument(part, defaults, world))
            return shared(defaults.quantity, shares, terms)[sharing.index(part)]
    return None


def _check_quantity(part: OrderPart, units: int, instrument: Instrument, world: World) -> None:
    terms = _terms(instrument)
    if units == 0:
        raise _refusal(part, texts.share_below_a_lot(terms.lot))
    if units % terms.lot:
        raise _refusal(part, order_texts.whole_lots("quantity", terms.lot))
    _check_inner_quantities(part, units, terms)
    _check_slices(part, units, terms)
    _check_freeze(part, units, attrs.evolve(terms, freeze=_freeze(part, instrument, world)))


def _check_inner_quantities(part: OrderPart, units: int, terms: Terms) -> None:
    """Check the quantities that a price or an execution names: whole lots, and not more than the part's own quantity."""
    for name, value in _inner_quantities(part).items():
        if value % terms.lot:
            raise _refusal(part, order_texts.whole_lots(name, terms.lot))
        if isinstance(part.execution, Iceberg) and value >= units:
            raise _refusal(part, texts.less_than_quantity(name))
        if value > units:
            raise _refusal(part, texts.not_above_quantity(name))
        if isinstance(part.execution, TopUp) and -(-units // value) > MOST_PIECES:
            raise _refusal(part, texts.too_many_pieces(name, -(-units // value), MOST_PIECES))


def _inner_quantities(part: OrderPart) -> Mapping[str, int]:
    match part.execution:
        case Iceberg(slice_quantity=quantity):
            return {"slice_quantity": quantity}
        case TopUp(piece_quantity=quantity):
            return {"piece_quantity": quantity}
        case BookDepth(minimum_quantity=quantity):
            return {"minimum_quantity": quantity}
    discretion = part.price
    if isinstance(discretion, Discretion) and discretion.quantity is not None:
        return {"price.quantity": discretion.quantity}
    return {}


def _check_slices(part: OrderPart, units: int, terms: Terms) -> None:
    match part.execution:
        case Twap(slices=slices) | Vwap(slices=slices) | FrontLoaded(slices=slices) | Ladder(steps=slices):
            if units // terms.lot < slices:
                raise _refusal(part, texts.lots_for_slices(slices, terms.lot))


def _check_freeze(part: OrderPart, units: int, terms: Terms) -> None:
    """Refuse a known quantity that is too large for one order, or needs too many slices. A stop is sent as several stops (1.5)."""
    if terms.freeze is None or units <= terms.freeze:
        return
    if isinstance(part.execution, AllAtOnce) and not is_stop(part.price):
        raise _refusal(part, order_texts.send_sliced(terms.freeze))
    if isinstance(part.execution, FreezeLimit):
        count = len(freeze_pieces(units, terms))
        if count > MOST_FREEZE_SLICES:
            raise _refusal(part, texts.too_many_slices(count, terms.freeze, MOST_FREEZE_SLICES))


def _freeze(part: OrderPart, instrument: Instrument, world: World) -> int | None:
    """Return the largest number of units in one order, at the broker that takes most; None when a broker may take any number."""
    codes = (part.broker,) if part.broker is not None else tuple(instrument.listings)
    known = [freeze_of(instrument, code, world.freeze_table) for code in codes]
    limits = [limit for limit in known if limit is not None]
    return max(limits) if limits and len(limits) == len(known) else None


def _instrument(part: OrderPart, defaults: Defaults, world: World) -> Instrument:
    own = defaults.instrument
    if own is not None and own.instrument_id == part.instrument_id:
        return own
    found = world.instrument(part.instrument_id)
    if found is None:
        raise RuntimeError("a part was read for an instrument that is not mapped")
    return found


def _terms(instrument: Instrument) -> Terms:
    return Terms(tick=tick_of(instrument), lot=instrument.lot_size or 1)


def _refusal(part: Part, sentence: str) -> Refusal:
    return Refusal(400, texts.at(part.path, sentence))
