"""Reads what one broker holds of an instrument now. An order that follows an order which ended unseen is bounded by it (order-engine 2.5, K15)."""

import math

import trio

from onebroker.actors.catalogue.interface import Instrument
from onebroker.actors.engine.books.fresh_reads import began, read_after
from onebroker.actors.engine.books.settled_positions import read_settled, share_tokens, units_in_holdings
from onebroker.actors.engine.books.shown_positions import ShownPositions
from onebroker.actors.engine.context.engine_context import EngineContext
from onebroker.actors.engine.context.position_days import Judged, RowKey
from onebroker.actors.engine.references.sizing import net_units
from onebroker.actors.portfolio.position_view import position_product
from onebroker.actors.sessions.session_view import logged_in
from onebroker.config.refusal import Refusal
from onebroker.config.vocabulary import Product, Side


async def held_units(
    instrument: Instrument, product: str, side: Side, broker: str, context: EngineContext, *, until: float
) -> int | None:
    """Return the units that an order on `side` may take from what the broker holds: its net position in the product. A delivery sale also counts
    the holdings. Both are read after this call, the position until it agrees with the fills; while it does not, the units count that are held by both
    figures. None when they were not read by `until` (trio's clock), or when one of two figures that do not agree says that nothing is held.
    """
    handle, listing = context.sessions.get(broker), instrument.listings.get(broker)
    if handle is None or listing is None:
        return None
    of_holdings = product == Product.CNC and side is Side.SELL
    after, key = (
        math.nextafter(context.clock.monotonic(), math.inf),
        RowKey(listing.broker_token, position_product(product)),
    )
    found: dict[str, Judged] = {}

    async def read_positions() -> None:
        seconds = max(0.0, until - trio.current_time())
        found.update(await read_settled(context, [broker], seconds, lambda _, asked: asked == key))

    with trio.move_on_at(until):
        await logged_in(handle.view)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(read_positions)
        if of_holdings:
            nursery.start_soon(read_after, handle, "holdings", after, max(0.0, until - trio.current_time()))
    view = handle.view.value
    if broker not in found or not ShownPositions.of(found[broker].read).tells([key.token], key.product):
        return None
    if of_holdings and ((started := began(view, "holdings")) is None or started < after):
        return None
    doubt = found[broker].doubts.get(key)
    if doubt is not None and not doubt.certain:
        return None  # nothing is held for certain, but nothing is gone for certain either
    try:
        net = net_units(broker, found[broker].rows, key.token, key.product) if doubt is None else doubt.certain
    except Refusal:
        return None
    if of_holdings:
        in_holdings = units_in_holdings(context, broker, share_tokens(context, broker, instrument), instrument.isin)
        if in_holdings is None:
            return None
        net += in_holdings
    return max(0, -side.sign * net)
