"""Waits until brokers' positions agree with the fills, for an order that may only reduce a position (order-engine 4.7, 4.10, 4.11)."""

from onebroker.actors.engine.books.settled_positions import About, judged, settled_units, until_agreed
from onebroker.actors.engine.choice.leg_order import LegOrder
from onebroker.actors.engine.context.engine_context import EngineContext
from onebroker.actors.engine.context.position_days import Judged, RowKey
from onebroker.actors.portfolio.position_view import position_product
from onebroker.config.vocabulary import Product, Side

LONGEST_SECONDS = 2.5
"""How long an order waits. A position that does not agree with the fills by then counts as closed."""


def is_settled(order: LegOrder, context: EngineContext) -> bool:
    """Whether nothing has to be waited for: entries may leave, or no doubted position decides whether the order reduces one."""
    if context.entry_lock() is None or (order.exit and order.own_units is None):
        return True
    return not _unsettled(order, context)


async def settle(order: LegOrder, context: EngineContext) -> None:
    """Wait for positions that agree with the fills in the order's instrument and product, at each broker that may get the order."""
    if not is_settled(order, context):
        tokens = {code: listing.broker_token for code, listing in order.instrument.listings.items()}
        word = position_product(order.product)
        about: About = lambda code, key: key == RowKey(tokens.get(code, ""), word)  # noqa: E731
        await until_agreed(context, _unsettled(order, context), LONGEST_SECONDS, about)


async def settle_position(broker: str, token: str, product: str, context: EngineContext) -> None:
    """Wait for such positions of one broker, for a change of an order there."""
    if context.entry_lock() is not None and settled_units(context, broker, token, product) is None:
        asked = RowKey(token, position_product(product))
        await until_agreed(context, [broker], LONGEST_SECONDS, lambda _, key: key == asked)


def _unsettled(order: LegOrder, context: EngineContext) -> list[str]:
    """Return the brokers that may get the order and at which it may or may not reduce a position."""
    word = position_product(order.product)
    return [
        code
        for code, listing in order.instrument.listings.items()
        if code in context.sessions
        and order.broker in (None, code)
        and _may_reduce(order, judged(context, code), RowKey(listing.broker_token, word))
    ]


def _may_reduce(order: LegOrder, found: Judged | None, key: RowKey) -> bool:
    doubt = None if found is None else found.doubts.get(key)
    if doubt is None:
        return False
    from_holdings = order.product == Product.CNC and order.transaction_type == Side.SELL
    return (
        from_holdings or min(units * Side(order.transaction_type).sign for units in (doubt.shown, doubt.by_fills)) < 0
    )
