"""The open net positions of all brokers, for types that are checked against them at intake (order-engine 3.9, 3.44, 3.45)."""

from collections.abc import Collection, Iterator

from onebroker.actors.engine.books.settled_positions import judged, read_settled
from onebroker.actors.engine.context.engine_context import EngineContext
from onebroker.actors.engine.orders.part_state import Holding
from onebroker.actors.engine.plan.net_positions import Positions
from onebroker.actors.engine.plan_parent.position_rows import named_rows
from onebroker.actors.portfolio.position_view import position_product

READ_SECONDS = 3.0
"""A caller waits meanwhile; enough time is left after it to work the order."""


def shown_positions(context: EngineContext) -> Positions:
    """Return the positions that the brokers last showed; a broker without a login can neither show nor close anything."""
    live = [code for code, handle in sorted(context.sessions.items()) if handle.view.value.live]
    return _positions(context, unread=[code for code in live if not _is_read(context, code)])


async def fresh_positions(context: EngineContext) -> Positions:
    """Have all brokers read their positions now, until they agree with the fills, and return them."""
    live = [code for code, handle in sorted(context.sessions.items()) if handle.view.value.live]
    found = await read_settled(context, live, READ_SECONDS)
    return _positions(context, unread=[code for code in live if code not in found or not found[code].read.whole])


def _is_read(context: EngineContext, code: str) -> bool:
    view = context.sessions[code].view.value
    return view.positions_read_started is not None and "positions" not in view.read_errors


def _positions(context: EngineContext, *, unread: Collection[str]) -> Positions:
    nets: dict[Holding, int] = {}
    for code in sorted(context.sessions):
        for holding, units in _rows(context, code):
            nets[holding] = nets.get(holding, 0) + units
    return Positions(nets=tuple((holding, net) for holding, net in nets.items() if net), unread=tuple(unread))


def _rows(context: EngineContext, code: str) -> Iterator[tuple[Holding, int]]:
    latest = context.catalogue.value.latest
    found = judged(context, code)
    rows = () if found is None else found.rows
    for row, instrument_id in named_rows(rows, latest, code):
        if row.view != "day" and row.quantity and instrument_id is not None:
            yield Holding(code, instrument_id, position_product(row.product)), row.quantity
