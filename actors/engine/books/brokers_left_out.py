"""Brokers that the settings leave out, but at which something of today may still be open (rules 2.4.7; order-engine 5.7).

A broker that is not in the settings, or is switched off there, has no session: nobody reads its books, and nothing can be closed there. What its
session stored before, and the legs that have not ended, tell that it was used today. Rows of an earlier day tell nothing of today.
"""

from collections.abc import Iterable

from onebroker.actors.engine.context.engine_context import EngineContext
from onebroker.actors.engine.context.position_days import is_of
from onebroker.actors.sessions.slices import Slice
from onebroker.actors.sessions.stored_rows import stored_slice
from onebroker.actors.store import keys
from onebroker.brokers.records import OrderRow, PositionRow
from onebroker.brokers.registry import CODES
from onebroker.config.clock import latest_boundary


async def brokers_left_out(context: EngineContext) -> list[str]:
    """Return the codes of these brokers: those with a leg that has not ended, with a fill of today, or with an open position that was read today.

    Raises StoreError.
    """
    legs = {leg.broker for leg in context.legs.unfinished if not leg.given_up}
    found = {code for code in legs if code not in context.sessions}
    for code in {*CODES} - context.sessions.keys() - found:
        if await _was_used(context, code):
            found.add(code)
    return sorted(found)


async def _was_used(context: EngineContext, code: str) -> bool:
    positions = stored_slice(code, "positions", await context.store.hash_all(keys.broker_rows(code, "positions")))
    orders = stored_slice(code, "orders", await context.store.hash_all(keys.broker_rows(code, "orders")))
    began = latest_boundary(context.clock.now())
    read_today = positions is not None and positions.received_at >= began.timestamp()
    is_open = any(isinstance(row, PositionRow) and row.view != "day" and row.quantity != 0 for row in _rows(positions))
    filled = any(isinstance(row, OrderRow) and row.filled_quantity and is_of(row, began) for row in _rows(orders))
    return (read_today and is_open) or (filled and orders is not None and orders.received_at >= began.timestamp())


def _rows(stored: Slice | None) -> Iterable[object]:
    return stored.rows if stored is not None and isinstance(stored.rows, tuple) else ()
