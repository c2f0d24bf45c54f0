"""The middle of the market, which types that stand on both sides of it begin at (order-engine 3.18, 3.51). Raises Refusal 409."""

from decimal import Decimal

from onebroker.actors.engine.plan.market import Market
from onebroker.actors.engine.presets.preset import Body
from onebroker.actors.engine.presets.triggers import check_quote
from onebroker.config.messages import plan_life as texts
from onebroker.config.vocabulary import Side


def middle_of(body: Body, market: Market) -> Decimal:
    """Return the middle of the book; 409 while there is no quote, or nobody on one of its sides, 503 while the book is not told."""
    check_quote(body, market)
    quote = market.seen(body.instrument.instrument_id)
    assert quote is not None
    for side in Side:
        if quote.opposite(side) is None:
            raise body.refusal(texts.nobody(side), 409)
    assert quote.mid is not None
    return quote.mid
