"""Waits until brokers' positions show the last fills, for an order that may only reduce a position (order-engine 4.7, 4.10)."""

import math

import trio

from onebroker.actors.engine.books.shown_positions import positions_after
from onebroker.actors.engine.choice.leg_order import LegOrder
from onebroker.actors.engine.choice.ranking import has_settled, settled_at
from onebroker.actors.engine.context.engine_context import EngineContext, SessionHandle

LONGEST_SECONDS = 2.5
"""How long an order waits. A position that does not show the last fill by then counts as closed."""


def is_settled(order: LegOrder, context: EngineContext) -> bool:
    """Whether nothing has to be waited for: entries may leave, or the positions show the last fills."""
    if context.entry_lock() is None or (order.exit and order.own_units is None):
        return True
    return all(has_settled(handle.view.value, token, order.product) for handle, token in _asked(order, context))


async def settle(order: LegOrder, context: EngineContext) -> None:
    """Wait for positions that began to be read after the last fill in the order's instrument, at each broker that may get the order."""
    if is_settled(order, context):
        return
    with trio.move_on_after(LONGEST_SECONDS):
        async with trio.open_nursery() as nursery:
            for handle, token in _asked(order, context):
                nursery.start_soon(_settle, handle, token, order.product, context)


async def settle_position(broker: str, token: str, product: str, context: EngineContext) -> None:
    """Wait for such positions of one broker, for a change of an order there."""
    if context.entry_lock() is not None:
        with trio.move_on_after(LONGEST_SECONDS):
            await _settle(context.session(broker), token, product, context)


def _asked(order: LegOrder, context: EngineContext) -> list[tuple[SessionHandle, str]]:
    """Return the brokers that may get the order, each with its token of the instrument."""
    return [
        (context.sessions[code], listing.broker_token)
        for code, listing in order.instrument.listings.items()
        if code in context.sessions and order.broker in (None, code)
    ]


async def _settle(handle: SessionHandle, token: str, product: str, context: EngineContext) -> None:
    """Wait without end for such positions of one broker."""
    if not has_settled(handle.view.value, token, product):
        moment = settled_at(handle.view.value, token, product)
        await trio.sleep(max(0.0, moment - context.clock.monotonic()))
        await positions_after(handle, moment, math.inf)
