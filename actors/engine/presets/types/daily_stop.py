"""daily_stop: a fresh native stop each trading morning (order-engine 3.13; rules 2.7)."""

from datetime import time
from decimal import Decimal

import attrs

from onebroker.actors.engine.plan.executions import Daily
from onebroker.actors.engine.plan.parts import Part
from onebroker.actors.engine.plan.prices import NativeStop
from onebroker.actors.engine.plan.reading.conditions import MOST_DAYS
from onebroker.actors.engine.plan.reading.fields import Fields
from onebroker.actors.engine.plan.reading.rules import minute_of_day, price, whole_from
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.building import order
from onebroker.actors.engine.presets.exits import check_own_limit
from onebroker.actors.engine.presets.hours import check_within_next_hours
from onebroker.actors.engine.presets.preset import Preset, Refs


@attrs.frozen(kw_only=True)
class Settings:
    stop_price: Decimal
    stop_limit_price: Decimal
    arm_at: time
    valid_days: int


def read(fields: Fields, body: Body) -> Settings:
    settings = Settings(
        stop_price=fields.required("stop_price", price(body.tick)),
        stop_limit_price=fields.required("stop_limit_price", price(body.tick)),
        arm_at=fields.optional("arm_at", minute_of_day, time(9, 20)),
        valid_days=fields.optional("valid_days", whole_from(1, MOST_DAYS), 30),
    )
    check_within_next_hours(fields, body, "arm_at", settings.arm_at)
    check_own_limit(fields, body, ("stop_price", "stop_limit_price"), settings.stop_price, settings.stop_limit_price)
    return settings


def tree(settings: Settings, body: Body, path: str) -> Part:
    stop = NativeStop(trigger_price=settings.stop_price, limit_price=settings.stop_limit_price)
    execution = Daily(arm_at=settings.arm_at, valid_days=settings.valid_days)
    return order(body, path, stop, execution=execution, closes=True)


PRESET = Preset(
    name="daily_stop",
    title="a fresh native stop each trading morning",
    settings=Settings,
    read=read,
    tree=tree,
    engine_priced=True,
    references=Refs.NEVER,
    takes_price_reference=False,
    sees_market=True,
    any_day=True,
)
