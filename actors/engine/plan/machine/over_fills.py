"""How many units a plan has filled beyond its quantity: exits beyond what they close, or both sides of a pair in the same moment
(order-engine 1.7). These units are not traded back; the parent shows the number."""

from collections.abc import Iterator, Sequence

from onebroker.actors.engine.orders.part_state import PartRecord
from onebroker.actors.engine.plan.machine.look import Look, side_of
from onebroker.actors.engine.plan.parts import (
    FromFill,
    OneCancelsOthersPart,
    OnEnd,
    OrderPart,
    Part,
    Rule,
    SequencePart,
    Share,
    TogetherPart,
    Units,
    links_of,
    orders_of,
    own_orders_of,
    walk,
)
from onebroker.actors.engine.plan.price_kinds import is_stop


def over_filled(look: Look) -> int:
    """Return the units that the whole plan has filled beyond what was asked for."""
    hanging = sum(_beyond(look, base, exits) for base, exits in bases_of(look))
    return hanging + sum(_beyond_units(look, group) for group in _pairs(look.root))


def bases_of(look: Look) -> Sequence[tuple[Part, list[OrderPart]]]:
    """Return what `exits_by_base` yields of a look's tree. The tree stays the same during a look, and several rules ask in each of its rounds."""
    if look.bases is None:
        look.bases = tuple(exits_by_base(look.root))
    return look.bases


def takers_of(look: Look) -> Sequence[tuple[Part, list[OrderPart]]]:
    """Return what `takers_by_base` yields of a look's tree."""
    if look.takers is None:
        look.takers = tuple(takers_by_base(look.root))
    return look.takers


def exits_by_base(root: Part) -> Iterator[tuple[Part, list[OrderPart]]]:
    """Yield each part on which exits hang, with these exits: orders in the same instrument on the other side that are sized by its fills, or that are known
    to close them."""
    for base, exits in takers_by_base(root):
        link = f"{base.path}.each_fill"
        sized = [one for one in exits if one.path.startswith(link) or one.quantity == FromFill() or one.known_exit]
        if sized:
            yield base, sized


def takers_by_base(root: Part) -> Iterator[tuple[Part, list[OrderPart]]]:
    """Yield each part on which others hang, with the orders below in the same instrument on the other side, of any size."""
    for base, then in links_of(root):
        takers = [order for order in own_orders_of(then) if _closes(base, order)]
        if takers:
            yield base, takers


def closed_by_base(root: Part) -> Iterator[tuple[Part, list[OrderPart]]]:
    """Yield each part whose fills the plan itself is to close, with the orders that take from them: what `exits_by_base` yields, and the parts
    whose fills only the end of a lifetime closes (1.8). There often nothing takes from them."""
    known: set[str] = set()
    for base, exits in exits_by_base(root):
        known.update(order.path for order in own_orders_of(base))
        yield base, exits
    ends = {order.path: order for order in closed_at_end(root) if order.path not in known and not order.is_exit}
    for base, takers in takers_by_base(root):
        own = [order.path for order in own_orders_of(base)]
        if ends.keys() >= set(own):
            yield base, takers
            ends = {path: order for path, order in ends.items() if path not in own}
    for order in ends.values():
        yield order, []


def closed_at_end(root: Part) -> Iterator[OrderPart]:
    """Yield each order whose fills the end of a lifetime closes. An order that takes from the fills of another opens nothing."""
    takers = {order.path for _, orders in takers_by_base(root) for order in orders}
    covered = {
        order.path
        for part in walk(root)
        if part.lifetime is not None and part.lifetime.on_end is OnEnd.CLOSE_FILLED
        for order in own_orders_of(part)
    }
    return (order for order in orders_of(root) if order.path in covered - takers)


def _closes(base: Part, order: OrderPart) -> bool:
    return all(
        own_order.instrument_id == order.instrument_id and own_order.transaction_type != order.transaction_type
        for own_order in own_orders_of(base)
    )


def _beyond(look: Look, base: Part, exits: list[OrderPart]) -> int:
    return max(0, sum(look.filled(order) for order in exits) - look.kept(base))


def _pairs(part: Part) -> Iterator[OneCancelsOthersPart]:
    """Yield the groups that share units of their own. A group that hangs on a part is left out: that part's fills are its measure."""
    match part:
        case SequencePart():
            yield from _pairs(part.first)
        case OneCancelsOthersPart(rule=Rule.SHRINK | Rule.TRIGGER):
            yield part
        case OneCancelsOthersPart() | TogetherPart():
            for child in part.children:
                yield from _pairs(child)


def _beyond_units(look: Look, group: OneCancelsOthersPart) -> int:
    sides = [(child, asked_of(look, child)) for child in group.children]
    if any(units is None for _, units in sides):
        return 0
    shares = {True: 0, False: 0}
    for child, units in sides:
        if isinstance(child, OrderPart) and _is_share(child):
            shares[is_stop_like(child)] += units or 0
    total = max(*shares.values(), *(units or 0 for child, units in sides if not _is_share(child)))
    limit = look.record(group).quantity
    total = (total if limit is None else min(total, limit)) - look.record(group).taken_by_caller
    return max(0, look.filled(group) - total)


def goes_on(part: SequencePart) -> bool:
    """Whether `then` goes on with what `first` does: all trade one instrument on one side. Else it follows the fills of `first`."""
    return len({(order.instrument_id, side_of(order)) for order in own_orders_of(part)}) == 1


def is_stop_like(order: OrderPart) -> bool:
    """Whether an exit is a stop, or waits for a price as a hidden stop does."""
    return is_stop(order.price) or order.when is not None


def _is_share(part: Part) -> bool:
    return isinstance(part, OrderPart) and isinstance(part.quantity, Share)


def asked_of(look: Look, part: Part) -> int | None:
    """Return the units asked for on one side; None where its quantity is no plain number."""
    if not isinstance(part, OrderPart):
        return None
    return asked_units(part, look.record(part))


def asked_units(part: OrderPart, record: PartRecord) -> int | None:
    """Return the same of a part with this record."""
    own = record.quantity
    match part.quantity:
        case Units():
            return part.quantity.quantity if own is None else own
        case Share() if part.quantity.of is not None:
            return int(part.quantity.of * part.quantity.share) if own is None else own
    return None
