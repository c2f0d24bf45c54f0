"""marketable_limit: sends a market order as a limit past the touch (order-engine 3.29)."""

from decimal import Decimal

import attrs

from onebroker.actors.engine.plan.parts import Part
from onebroker.actors.engine.plan.price_kinds import Marketable
from onebroker.actors.engine.plan.reading.value_rules import above_zero, at_least, flag
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.part_builders import capped_at_limit, order
from onebroker.actors.engine.presets.preset import MARKET_OR_LIMIT, Preset
from onebroker.actors.engine.presets.settings import setting


@attrs.frozen(kw_only=True)
class Settings:
    buffer_ticks: int = setting(at_least(0), default=2)
    fill_within_seconds: Decimal = setting(above_zero, default=Decimal(30))
    maximum_cost_bps: Decimal | None = setting(above_zero, default=None)
    reaches_size: bool = setting(flag, default=False)


def tree(settings: Settings, body: Body, path: str) -> Part:
    price = Marketable(
        buffer_ticks=settings.buffer_ticks,
        reaches_size=settings.reaches_size,
        maximum_cost_bps=settings.maximum_cost_bps,
        fill_within_seconds=settings.fill_within_seconds,
    )
    return order(body, path, capped_at_limit(body, price))


PRESET = Preset(
    name="marketable_limit",
    title="market order as limit past the touch",
    settings=Settings,
    tree=tree,
    order_types=MARKET_OR_LIMIT,
    immediate=True,
    discloses=True,
)
