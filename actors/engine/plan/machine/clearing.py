"""Which parts of a plan would open a position once those named are closed: exits that wait, or are held, there (order-engine 1.3,
cancel_resting_first). Pure."""

from collections.abc import Collection, Iterator, Mapping

import attrs

from onebroker.actors.engine.orders.part_state import Ending, Holding, PartRecord, PartState
from onebroker.actors.engine.plan.machine.look import Inputs, Look
from onebroker.actors.engine.plan.parts import (
    FromPosition,
    OrderPart,
    Part,
    SequencePart,
    children_of,
    own_orders_of,
)
from onebroker.actors.portfolio.position_view import position_product

_WAITS = (PartState.WAITING, PartState.HELD, PartState.SENDING)


@attrs.frozen(kw_only=True)
class Closing:
    """Positions that are about to be closed."""

    holdings: frozenset[Holding]
    elsewhere: frozenset[tuple[str, str]]
    """(instrument, product) of which a further broker shows a position, which is not closed now."""


def without_exits(root: Part, inputs: Inputs, closing: Closing) -> Mapping[str, PartRecord]:
    """Return the records of the parts that are to end as cancelled, by path.

    Parts sized by a position stay: they will find none.
    """
    look = Look(root, inputs)
    return {
        part.path: attrs.evolve(look.record(part), ending=Ending(state=PartState.CANCELLED))
        for part, base in _with_base(root, None)
        if part.is_exit and not isinstance(part.quantity, FromPosition)
        if _may_send(look.record(part)) and _would_open(part, _brokers(look, part, base), closing)
    }


def _with_base(part: Part, base: Part | None) -> Iterator[tuple[OrderPart, Part | None]]:
    """Yield the order parts with what each of them hangs on."""
    if isinstance(part, OrderPart):
        yield part, base
        if part.each_fill is not None:
            yield from _with_base(part.each_fill, part)
        return
    for child in children_of(part):
        below = part.first if isinstance(part, SequencePart) and child is part.then else base
        yield from _with_base(child, below)


def _may_send(record: PartRecord) -> bool:
    return record.state in _WAITS and record.own is None and record.ending is None


def _brokers(look: Look, part: OrderPart, base: Part | None) -> Collection[str]:
    """Return where its orders would go, as far as that is fixed: an exit goes where what it closes was filled."""
    if part.broker is not None:
        return {part.broker}
    if base is None:
        return ()
    own = [order for order in own_orders_of(base) if order.instrument_id == part.instrument_id]
    return {leg.broker for order in own for leg in look.legs(order) if leg.filled}


def _would_open(part: OrderPart, brokers: Collection[str], closing: Closing) -> bool:
    product = position_product(part.product)
    if brokers:
        return all(Holding(broker, part.instrument_id, product) in closing.holdings for broker in brokers)
    closed = any((one.instrument_id, one.product) == (part.instrument_id, product) for one in closing.holdings)
    return closed and (part.instrument_id, product) not in closing.elsewhere
