"""atr_trail: a trailing stop whose distance is a multiple of the average true range (order-engine 3.3; rules 2.7)."""

from decimal import Decimal

import attrs

from onebroker.actors.engine.plan.market import Market
from onebroker.actors.engine.plan.parts import Part
from onebroker.actors.engine.plan.prices import Atr, Trail
from onebroker.actors.engine.plan.reading.fields import Fields
from onebroker.actors.engine.plan.reading.rules import above_zero, at_least, price, whole_from
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.building import order
from onebroker.actors.engine.presets.preset import Preset
from onebroker.actors.engine.presets.types import trailing_stop


@attrs.frozen(kw_only=True)
class Settings:
    trail_points: Decimal
    """The distance until there are enough bars."""
    stop_limit_offset: Decimal
    bar_minutes: Decimal
    periods: int
    atr_multiple: Decimal
    step_ticks: int
    activate_at: Decimal | None


def read(fields: Fields, body: Body) -> Settings:
    return Settings(
        trail_points=fields.required("trail_points", above_zero),
        stop_limit_offset=fields.required("stop_limit_offset", above_zero),
        bar_minutes=fields.optional("bar_minutes", above_zero, Decimal(5)),
        periods=fields.optional("periods", whole_from(2, 49), 14),
        atr_multiple=fields.optional("atr_multiple", above_zero, Decimal(2)),
        step_ticks=fields.optional("step_ticks", at_least(1), 1),
        activate_at=fields.optional("activate_at", price(body.tick), None),
    )


def tree(settings: Settings, body: Body, path: str) -> Part:
    trail = Trail(
        points=settings.trail_points,
        limit_offset=settings.stop_limit_offset,
        step_ticks=settings.step_ticks,
        activate_at=settings.activate_at,
        atr=Atr(bar_minutes=settings.bar_minutes, periods=settings.periods, multiple=settings.atr_multiple),
    )
    return order(body, path, trail)


def check_market(_: Settings, body: Body, market: Market) -> None:
    trailing_stop.check_trail_begins(body, market)


PRESET = Preset(
    name="atr_trail",
    title="trailing stop whose distance is a multiple of the average true range",
    settings=Settings,
    read=read,
    tree=tree,
    engine_priced=True,
    takes_price_reference=False,
    sees_market=True,
    check_market=check_market,
)
