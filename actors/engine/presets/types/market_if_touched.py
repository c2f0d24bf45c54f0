"""market_if_touched: waits unseen for a price, then sends a marketable limit (order-engine 3.28; rules 2.7)."""

from decimal import Decimal

import attrs

from onebroker.actors.engine.plan.parts import Direction, Part, PriceAt
from onebroker.actors.engine.plan.price_kinds import Marketable
from onebroker.actors.engine.plan.reading.exit_marks import as_lone_exit
from onebroker.actors.engine.plan.reading.value_rules import at_least
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.part_builders import order
from onebroker.actors.engine.presets.preset import Preset
from onebroker.actors.engine.presets.settings import PRICE, setting
from onebroker.actors.engine.presets.trigger_settings import touched_direction

FILL_WITHIN_SECONDS = Decimal(30)


@attrs.frozen(kw_only=True)
class Settings:
    trigger_price: Decimal = setting(PRICE)
    trigger_direction: Direction = setting(touched_direction)
    buffer_ticks: int = setting(at_least(0), default=2)


def tree(settings: Settings, body: Body, path: str) -> Part:
    when = PriceAt(
        instrument_id=body.instrument.instrument_id,
        level=settings.trigger_price,
        direction=settings.trigger_direction,
    )
    limit = Marketable(buffer_ticks=settings.buffer_ticks, fill_within_seconds=FILL_WITHIN_SECONDS)
    return as_lone_exit(order(body, path, limit, when=when))


PRESET = Preset(
    name="market_if_touched",
    title="waits unseen for a price, then marketable limit",
    settings=Settings,
    tree=tree,
    engine_priced=True,
    takes_price_reference=False,
    immediate=True,
    sees_market=True,
)
