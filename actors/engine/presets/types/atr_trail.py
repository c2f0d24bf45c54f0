"""atr_trail: a trailing stop whose distance is a multiple of the average true range (order-engine 3.3; rules 2.7)."""

from decimal import Decimal

import attrs

from onebroker.actors.engine.plan.market import Market
from onebroker.actors.engine.plan.parts import Part
from onebroker.actors.engine.plan.price_kinds import Atr, Trail
from onebroker.actors.engine.plan.reading.value_rules import above_zero, at_least, whole_from
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.part_builders import order
from onebroker.actors.engine.presets.preset import Preset
from onebroker.actors.engine.presets.settings import PRICE, setting
from onebroker.actors.engine.presets.types import trailing_stop


@attrs.frozen(kw_only=True)
class Settings:
    trail_points: Decimal = setting(above_zero)
    """The distance until there are enough bars."""
    stop_limit_offset: Decimal = setting(above_zero)
    bar_minutes: Decimal = setting(above_zero, default=Decimal(5))
    periods: int = setting(whole_from(2, 49), default=14)
    atr_multiple: Decimal = setting(above_zero, default=Decimal(2))
    step_ticks: int = setting(at_least(1), default=1)
    activate_at: Decimal | None = setting(PRICE, default=None)


def tree(settings: Settings, body: Body, path: str) -> Part:
    trail = Trail(
        points=settings.trail_points,
        limit_offset=settings.stop_limit_offset,
        step_ticks=settings.step_ticks,
        activate_at=settings.activate_at,
        atr=Atr(bar_minutes=settings.bar_minutes, periods=settings.periods, multiple=settings.atr_multiple),
    )
    return order(body, path, trail, closes=True, exit_by_type=True)


def check_market(_: Settings, body: Body, market: Market) -> None:
    trailing_stop.check_trail_begins(body, market)


PRESET = Preset(
    name="atr_trail",
    title="trailing stop whose distance is a multiple of the average true range",
    settings=Settings,
    tree=tree,
    engine_priced=True,
    takes_price_reference=False,
    sees_market=True,
    check_market=check_market,
)
