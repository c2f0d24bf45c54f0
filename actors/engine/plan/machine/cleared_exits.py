"""Exits of a plan that would open a position once the given positions are closed: exits that wait or are held for these positions
(order-engine 1.3, cancel_resting_first). Pure."""

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
    """(instrument, product) of which another broker shows a position that is not being closed now."""


@attrs.frozen
class ExitName:
    """A waiting exit that was ended: what it would have closed, and its side."""

    instrument_id: str
    product: str
    side: str

    def is_of(self, holding: Holding) -> bool:
        """Whether the exit may have guarded this position; the position's product, not the order's."""
        return (self.instrument_id, position_product(self.product)) == (holding.instrument_id, holding.product)

    @classmethod
    def of(cls, part: OrderPart) -> "ExitName":
        return cls(part.instrument_id, part.product, part.transaction_type)


def without_exits(root: Part, inputs: Inputs, closing: Closing) -> Mapping[str, PartRecord]:
    """Return the changed records of the parts that shall end as cancelled, by path.

    Parts whose quantity is a position stay: they will find no position to close.
    """
    look = Look(root, inputs)
    return {
        part.path: attrs.evolve(look.record(part), ending=Ending(state=PartState.CANCELLED))
        for part, base in _with_base(root, None)
        if part.is_exit and not isinstance(part.quantity, FromPosition)
        if _may_send(look.record(part)) and _would_open(part, _brokers(look, part, base), closing)
    }


def _with_base(part: Part, base: Part | None) -> Iterator[tuple[OrderPart, Part | None]]:
    """Yield each order part, with the part that it hangs on (None = nothing)."""
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
    """Return the brokers to which the part's orders would go, if that is fixed; else empty. An exit goes to the brokers of the fills that
    it closes."""
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
    closed = any(
        (holding.instrument_id, holding.product) == (part.instrument_id, product) for holding in closing.holdings
    )
    return closed and (part.instrument_id, product) not in closing.elsewhere
