"""A close at a broker that takes no MARKET or SL-M orders: the limit order that stands in for it (order-engine 4.9). Pure."""

from decimal import Decimal

import attrs

from onebroker.actors.engine.choice.leg_order import LegOrder
from onebroker.config.instruments import Identity, Shape, price_places
from onebroker.config.money import exact, snap
from onebroker.config.sections import ProtectionBands
from onebroker.config.vocabulary import OrderType, Side

_STEPS = (
    (Decimal(125), Decimal("0.05")), (Decimal(500), Decimal("0.1")), (Decimal(2500), Decimal("0.5")), (Decimal(5000), Decimal(1)),
    (Decimal(10_000), Decimal(5)),
)  # fmt: skip
"""(price, step): from this price on, a share with an unknown tick is priced in this step. Each price is half of a price at which NSE's tick
changes. NSE's ticks are 0.01, from 250 rupees 0.05, 1,000 0.10, 5,000 0.50, 10,000 1, 20,000 5, by the close of the month before; its circular of
2025. Each step is a multiple of every tick that the share can have, so no exchange refuses the price."""

_CONTRACT_STEP = Decimal("0.05")

_STANDS_IN = {OrderType.MARKET: OrderType.LIMIT, OrderType.SL_M: OrderType.SL}


def needs_stand_in(order: LegOrder, taken: frozenset[str]) -> bool:
    """Tell whether a broker refuses the order's type but takes the type that stands in for it. `taken` are the types that it takes."""
    instead = _STANDS_IN.get(OrderType(order.order_type))
    return order.order_type not in taken and instead is not None and instead in taken


def stand_in(order: LegOrder, market: Decimal | None, bands: ProtectionBands, tick: Decimal | None) -> LegOrder | None:
    """Return the order with a limit: MARKET becomes LIMIT past `market` (the opposite touch, or the last known price), SL-M becomes SL past its
    trigger. None when no price is known. Without a `tick` the price fits every tick that its market can have."""
    start = order.trigger_price if order.order_type == OrderType.SL_M else market
    if start is None or start <= 0:
        return None
    price = protected_price(order, start, bands, tick or _any_tick(order.instrument.identity, start))
    return attrs.evolve(order, order_type=_STANDS_IN[OrderType(order.order_type)].value, price=price)


def protected_price(order: LegOrder, start: Decimal, bands: ProtectionBands, tick: Decimal) -> Decimal:
    """Return `start` moved towards filling by its band, but by at least `least_ticks` ticks. The price is snapped to a tick in the same direction
    and is at least one tick."""
    distance = max(start * _percent(order, start, bands) / 100, bands.least_ticks * tick)
    if Side(order.transaction_type) is Side.BUY:
        return snap(start + distance, tick, "up")
    return max(snap(start - distance, tick, "down"), tick)


def tick_of(order: LegOrder, broker: str) -> Decimal | None:
    """Return the tick that brokers agree on, or else the broker's own; None when neither is known."""
    listing = order.instrument.listings.get(broker)
    own = listing.tick_size if listing is not None else None
    size = order.instrument.tick_size or own
    return exact(size) if size else None


def _any_tick(identity: Identity, price: Decimal) -> Decimal:
    places = price_places(identity.segment)
    smallest = _CONTRACT_STEP if identity.shape is not Shape.SECURITY and places == 2 else Decimal(1).scaleb(-places)
    return smallest if places > 2 else max((step for least, step in _STEPS if price >= least), default=smallest)


def _percent(order: LegOrder, price: Decimal, bands: ProtectionBands) -> Decimal:
    steps = bands.options if order.instrument.identity.shape is Shape.OPTION else bands.shares
    return next(step.percent for step in steps if step.below is None or price < step.below)
