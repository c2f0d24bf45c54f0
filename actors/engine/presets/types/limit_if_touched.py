"""limit_if_touched: waits for a price, then rests a limit (order-engine 3.26; rules 2.7)."""

from decimal import Decimal

import attrs

from onebroker.actors.engine.plan.parts import Direction, Part, PriceAt
from onebroker.actors.engine.plan.reading.fields import Fields
from onebroker.actors.engine.plan.reading.rules import price
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.building import order
from onebroker.actors.engine.presets.preset import MARKET_OR_LIMIT, Holding, Preset
from onebroker.actors.engine.presets.triggers import fixed, read_direction, read_limit, touched_from


@attrs.frozen(kw_only=True)
class Settings:
    trigger_price: Decimal
    limit_price: Decimal | None
    """None while a price reference has not been worked out."""
    trigger_direction: Direction


def read(fields: Fields, body: Body) -> Settings:
    return Settings(
        trigger_price=fields.required("trigger_price", price(body.tick)),
        limit_price=read_limit(fields, body),
        trigger_direction=read_direction(fields) or touched_from(body.side),
    )


def tree(settings: Settings, body: Body, path: str) -> Part:
    when = PriceAt(
        instrument_id=body.instrument.instrument_id,
        level=settings.trigger_price,
        direction=settings.trigger_direction,
    )
    return order(body, path, fixed(settings.limit_price), when=when)


PRESET = Preset(
    name="limit_if_touched",
    title="waits for a price, then rests a limit",
    settings=Settings,
    read=read,
    tree=tree,
    order_types=MARKET_OR_LIMIT,
    hold=Holding.BY_SWITCH,
    immediate=True,
    sees_market=True,
)
