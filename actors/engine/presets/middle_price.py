"""What the types that trade both sides share (order-engine 3.18, 3.51): the most units that they hold, and their starting price, which is the
middle of the market or the result of a price reference. Pure; raises Refusal."""

from decimal import Decimal

from onebroker.actors.engine.orders.reference_values import PriceReference
from onebroker.actors.engine.plan.market import Market
from onebroker.actors.engine.plan.reading.value_rules import at_least
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.settings import RuleOfOrder
from onebroker.actors.engine.presets.trigger_settings import check_quote
from onebroker.actors.engine.references.pricing import resolve_price
from onebroker.config.messages import plan_life as texts
from onebroker.config.messages import references as reference_texts
from onebroker.config.vocabulary import Side


def each_order(body: Body) -> int:
    """Return the units of one order of either side. A quantity reference is worked out before the plan is made; until then it counts as one."""
    return body.quantity or 1


INVENTORY = RuleOfOrder(at_least(1).accepts, lambda reading: at_least(each_order(reading.body)))
"""The rule of `most_inventory`: units, either way, at least those of one order."""


def middle_of(body: Body, market: Market) -> Decimal:
    """Return the middle of the book. Raises 409 while there is no quote or one side of the book is empty, 503 while the feed gives no book."""
    check_quote(body, market)
    quote = market.seen(body.instrument.instrument_id)
    assert quote is not None
    for side in Side:
        if quote.opposite(side) is None:
            raise body.refusal(texts.nobody(side), 409)
    assert quote.mid is not None
    return quote.mid


def centres_of(body: Body, reference: PriceReference, market: Market) -> tuple[Decimal, ...]:
    """Return the present result of a reference for each side. Raises Refusal 400, 503."""
    if body.tick is None:
        raise body.refusal(reference_texts.NO_TICK, 503)
    quote = market.seen(body.instrument.instrument_id)
    return tuple(resolve_price(reference, side, quote, body.tick) for side in Side)
