"""cross_instrument: limit-if-touched that watches another instrument (order-engine 3.12; rules 2.7)."""

from decimal import Decimal

import attrs

from onebroker.actors.engine.plan.parts import Direction, Part, PriceAt
from onebroker.actors.engine.plan.reading.fields import Fields
from onebroker.actors.engine.plan.reading.rules import above_zero
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.building import order
from onebroker.actors.engine.presets.preset import MARKET_OR_LIMIT, Holding, Preset
from onebroker.actors.engine.presets.triggers import fixed, read_direction, read_limit, read_watched


@attrs.frozen(kw_only=True)
class Settings:
    watch_instrument_id: str
    trigger_price: Decimal
    """A price of the watched instrument, so its ticks are not checked."""
    limit_price: Decimal | None
    """None while a price reference has not been worked out."""
    trigger_direction: Direction | None


def read(fields: Fields, body: Body) -> Settings:
    return Settings(
        watch_instrument_id=read_watched(fields, body).instrument_id,
        trigger_price=fields.required("trigger_price", above_zero),
        limit_price=read_limit(fields, body),
        trigger_direction=read_direction(fields),
    )


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
    read=read,
    tree=tree,
    order_types=MARKET_OR_LIMIT,
    hold=Holding.BY_SWITCH,
    immediate=True,
    sees_market=True,
)
