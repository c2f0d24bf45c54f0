"""daily_stop: a fresh native stop each trading morning (order-engine 3.13; rules 2.7)."""

from datetime import time
from decimal import Decimal

import attrs

from onebroker.actors.engine.plan.execution_kinds import Daily
from onebroker.actors.engine.plan.parts import Part
from onebroker.actors.engine.plan.price_kinds import NativeStop
from onebroker.actors.engine.plan.reading.conditions import MOST_DAYS
from onebroker.actors.engine.plan.reading.json_fields import Fields
from onebroker.actors.engine.plan.reading.value_rules import minute_of_day, whole_from
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.exit_checks import check_own_limit
from onebroker.actors.engine.presets.part_builders import order
from onebroker.actors.engine.presets.preset import Preset, Refs
from onebroker.actors.engine.presets.session_hours import check_within_next_hours
from onebroker.actors.engine.presets.settings import PRICE, setting


@attrs.frozen(kw_only=True)
class Settings:
    stop_price: Decimal = setting(PRICE)
    stop_limit_price: Decimal = setting(PRICE)
    arm_at: time = setting(minute_of_day, default=time(9, 20))
    valid_days: int = setting(whole_from(1, MOST_DAYS), default=30)


def check(settings: Settings, fields: Fields, body: Body) -> None:
    check_within_next_hours(fields, body, "arm_at", settings.arm_at)
    check_own_limit(fields, body, ("stop_price", "stop_limit_price"), settings.stop_price, settings.stop_limit_price)


def tree(settings: Settings, body: Body, path: str) -> Part:
    stop = NativeStop(trigger_price=settings.stop_price, limit_price=settings.stop_limit_price)
    execution = Daily(arm_at=settings.arm_at, valid_days=settings.valid_days)
    return order(body, path, stop, execution=execution, closes=True)


PRESET = Preset(
    name="daily_stop",
    title="a fresh native stop each trading morning",
    settings=Settings,
    tree=tree,
    check=check,
    engine_priced=True,
    references=Refs.NEVER,
    takes_price_reference=False,
    sees_market=True,
    any_day=True,
)
