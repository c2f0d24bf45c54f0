"""Reads what one broker holds of an instrument now. An order that follows an order which ended unseen is bounded by it (order-engine 2.5, K15)."""

import math

import trio

from onebroker.actors.catalogue.interface import Instrument
from onebroker.actors.engine.books.fresh_reads import began, read_after
from onebroker.actors.engine.books.shown_positions import positions_after, shown_since
from onebroker.actors.engine.context.engine_context import EngineContext
from onebroker.actors.engine.references.sizing import net_units
from onebroker.actors.portfolio.position_view import position_product
from onebroker.config.refusal import Refusal
from onebroker.config.vocabulary import Product, Side


async def held_units(
    instrument: Instrument, product: str, side: Side, broker: str, context: EngineContext, *, until: float
) -> int | None:
    """Return the units that an order on `side` may take from what the broker holds: its net position in the product. A delivery sale also counts
    the holdings. Both are read after this call. None when they were not read by `until` (trio's clock).
    """
    handle, listing = context.sessions.get(broker), instrument.listings.get(broker)
    if handle is None or listing is None:
        return None
    of_holdings = product == Product.CNC and side is Side.SELL
    after = math.nextafter(context.clock.monotonic(), math.inf)
    with trio.move_on_at(until):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(positions_after, handle, after, math.inf)
            if of_holdings:
                nursery.start_soon(read_after, handle, "holdings", after, math.inf)
    view = handle.view.value
    shown, word = shown_since(view, after), position_product(product)
    if shown is None or not shown.tells([listing.broker_token], word):
        return None
    if of_holdings and ((started := began(view, "holdings")) is None or started < after):
        return None
    try:
        net = net_units(broker, shown.rows, listing.broker_token, word)
    except Refusal:
        return None
    if of_holdings:
        own = [
            row for row in view.holdings if row.instrument_token == listing.broker_token or _same(row.isin, instrument)
        ]
        net += sum(row.settled_quantity + row.t1_quantity for row in own)
    return max(0, -side.sign * net)


def _same(isin: str | None, instrument: Instrument) -> bool:
    return isin is not None and isin == instrument.isin
