"""liquidity_seeking: strikes only when enough size appears (order-engine 3.27; rules 2.7)."""

from decimal import Decimal

import attrs

from onebroker.actors.engine.plan.execution_kinds import BookDepth
from onebroker.actors.engine.plan.parts import Part
from onebroker.actors.engine.plan.price_kinds import Fixed
from onebroker.actors.engine.plan.reading.value_rules import at_least
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.part_builders import order
from onebroker.actors.engine.presets.preset import MARKET_OR_LIMIT, Preset
from onebroker.actors.engine.presets.settings import PRICE, setting


@attrs.frozen(kw_only=True)
class Settings:
    limit_price: Decimal = setting(PRICE)
    minimum_quantity: int = setting(at_least(1))
    """Units; whole lots, at most the quantity: checked with the tree."""


def tree(settings: Settings, body: Body, path: str) -> Part:
    execution = BookDepth(limit_price=settings.limit_price, minimum_quantity=settings.minimum_quantity)
    return order(body, path, Fixed(settings.limit_price), execution=execution)


PRESET = Preset(
    name="liquidity_seeking",
    title="strikes only when enough size appears",
    settings=Settings,
    tree=tree,
    order_types=MARKET_OR_LIMIT,
    engine_priced=True,
    takes_price_reference=False,
    immediate=True,
    sees_market=True,
)
