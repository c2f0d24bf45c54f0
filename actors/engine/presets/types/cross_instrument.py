"""cross_instrument: limit-if-touched that watches another instrument (order-engine 3.12; rules 2.7)."""

from decimal import Decimal

import attrs

from onebroker.actors.engine.plan.parts import Direction, Part, PriceAt
from onebroker.actors.engine.plan.reading.value_rules import above_zero
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.named import watched_instrument
from onebroker.actors.engine.presets.part_builders import order
from onebroker.actors.engine.presets.preset import MARKET_OR_LIMIT, Holding, Preset
from onebroker.actors.engine.presets.settings import setting
from onebroker.actors.engine.presets.trigger_settings import DIRECTION, fixed, limit_to_send


@attrs.frozen(kw_only=True)
class Settings:
    watch_instrument_id: str = setting(watched_instrument)
    trigger_price: Decimal = setting(above_zero)
    """A price of the watched instrument, so its ticks are not checked."""
    limit_price: Decimal | None = setting(limit_to_send)
    """None while a price reference has not been worked out."""
    trigger_direction: Direction | None = setting(DIRECTION, default=None)


def tree(settings: Settings, body: Body, path: str) -> Part:
    when = PriceAt(
        instrument_id=settings.watch_instrument_id,
        level=settings.trigger_price,
        direction=settings.trigger_direction,
    )
    return order(body, path, fixed(settings.limit_price), when=when)


PRESET = Preset(
    name="cross_instrument",
    title="limit-if-touched watching another instrument",
    settings=Settings,
    tree=tree,
    order_types=MARKET_OR_LIMIT,
    hold=Holding.BY_SWITCH,
    immediate=True,
    sees_market=True,
)
