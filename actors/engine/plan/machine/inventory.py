"""The net inventory of a group that trades both sides, and how many units more it may rest (order-engine 3.18, 3.51)."""

from decimal import Decimal

from onebroker.actors.engine.plan.machine.look import Look, side_of
from onebroker.actors.engine.plan.market import Level
from onebroker.actors.engine.plan.parts import OrderPart, TogetherPart, orders_of
from onebroker.actors.engine.plan.price_kinds import Peg
from onebroker.config.vocabulary import Side


def group_of(look: Look, part: OrderPart) -> TogetherPart | None:
    """Return the group above the part that bounds the part's inventory; None when no group does."""
    for path, above in look.by_path.items():
        bounded = isinstance(above, TogetherPart) and above.most_inventory is not None
        if bounded and part.path.startswith(f"{path}."):
            assert isinstance(above, TogetherPart)
            return above
    return None


def net(look: Look, group: TogetherPart) -> int:
    """Return the units that all orders of the group bought, less the units they sold. Legs that close their fills count too."""
    return sum(
        side_of(order).sign * (look.filled(order) - sum(leg.filled for leg in look.closing_legs(order)))
        for order in _orders(group)
    )


def _orders(group: TogetherPart) -> tuple[OrderPart, ...]:
    return tuple(orders_of(group))


def room(look: Look, part: OrderPart) -> int | None:
    """Return how many units more the part may rest; None where there is no bound.

    The net, plus the resting units on its side and the units that fills still call for there, stays within the group's bound.
    """
    group = group_of(look, part)
    if group is None or group.most_inventory is None:
        return None
    side = side_of(part)
    resting = sum(_resting(look, order) for order in _orders(group) if side_of(order) is side)
    owed = sum(_owed(look, order, side) for order in _orders(group))
    return max(0, group.most_inventory - side.sign * net(look, group) - resting - owed)


def _resting(look: Look, order: OrderPart) -> int:
    return sum(leg.unfilled for leg in look.live(order)) + sum(new.quantity for new in look.on_the_way(order))


def _owed(look: Look, order: OrderPart, side: Side) -> int:
    """Return the units that the order's fills call for on that side and that are not sent yet."""
    link = order.each_fill
    if not isinstance(link, OrderPart) or side_of(link) is not side:
        return 0
    return max(0, look.filled(order) - look.committed(link))


def skew(look: Look, part: OrderPart, price: Peg, tick: Decimal | None) -> Decimal:
    """Return by how many rupees the group's inventory shifts a peg: down when it is long, up when it is short."""
    group = group_of(look, part)
    if group is None or not price.skew_ticks:
        return Decimal(0)
    return -price.skew_ticks * (tick or Decimal(0)) * net(look, group) / price.skew_quantity


def opposite_levels(look: Look, part: OrderPart) -> tuple[Level, ...]:
    """Return the group's own resting orders on the other side. They are no market, so they must not set a price."""
    group = group_of(look, part)
    if group is None:
        return ()
    others = (leg for order in _orders(group) if side_of(order) is not side_of(part) for leg in look.live(order))
    return tuple(Level(leg.price, leg.unfilled) for leg in others if leg.price is not None)
