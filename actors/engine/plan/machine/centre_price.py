"""The centre price of orders on both sides, when it is a price reference and not the middle (order-engine 3.18, 3.51; rules 2.6)."""

from collections.abc import Sequence
from decimal import Decimal

import attrs

from onebroker.actors.engine.orders.reference_values import PriceReference
from onebroker.actors.engine.plan.machine.look import Look, side_of
from onebroker.actors.engine.plan.market import Level, Seen
from onebroker.actors.engine.plan.parts import OrderPart
from onebroker.actors.engine.plan.pricing.touch import without_own
from onebroker.actors.engine.references.pricing import resolve_price
from onebroker.config.messages import references as texts
from onebroker.config.refusal import Refusal
from onebroker.config.vocabulary import Side


def centre_of(
    look: Look,
    part: OrderPart,
    reference: PriceReference,
    quote: Seen | None,
    own: Sequence[Level],
    across: Sequence[Level],
) -> Decimal | None:
    """Return the price of the reference for the part's side; None, with the reason noted, while it cannot be worked out.

    The book is taken without our own resting orders (`own`, `across`).
    """
    side, tick = side_of(part), look.terms(part).tick
    if tick is None:
        look.cannot(part, 503, texts.NO_TICK)
        return None
    buy, sell = (own, across) if side is Side.BUY else (across, own)
    book = None if quote is None else attrs.evolve(quote, buy=_without(quote.buy, buy), sell=_without(quote.sell, sell))
    try:
        return resolve_price(reference, side, book, tick)
    except Refusal as refusal:
        look.cannot(part, refusal.status, refusal.sentence)
        return None


def _without(levels: tuple[Level, ...] | None, ours: Sequence[Level]) -> tuple[Level, ...] | None:
    if levels is None:
        return None
    for own_level in ours:
        levels = without_own(levels, own_level)
    return levels
