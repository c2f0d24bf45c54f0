"""limit_if_touched: waits for a price, then rests a limit (order-engine 3.26; rules 2.7)."""

from decimal import Decimal

import attrs

from onebroker.actors.engine.plan.parts import Direction, Part, PriceAt
from onebroker.actors.engine.plan.reading.exit_marks import as_lone_exit
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.part_builders import order
from onebroker.actors.engine.presets.preset import MARKET_OR_LIMIT, Holding, Preset
from onebroker.actors.engine.presets.settings import PRICE, setting
from onebroker.actors.engine.presets.trigger_settings import fixed, limit_to_send, touched_direction


@attrs.frozen(kw_only=True)
class Settings:
    trigger_price: Decimal = setting(PRICE)
    limit_price: Decimal | None = setting(limit_to_send)
    """None while a price reference has not been worked out."""
    trigger_direction: Direction = setting(touched_direction)


def tree(settings: Settings, body: Body, path: str) -> Part:
    when = PriceAt(
        instrument_id=body.instrument.instrument_id,
        level=settings.trigger_price,
        direction=settings.trigger_direction,
    )
    return as_lone_exit(order(body, path, fixed(settings.limit_price), when=when))


PRESET = Preset(
    name="limit_if_touched",
    title="waits for a price, then rests a limit",
    settings=Settings,
    tree=tree,
    order_types=MARKET_OR_LIMIT,
    hold=Holding.BY_SWITCH,
    immediate=True,
    sees_market=True,
)
