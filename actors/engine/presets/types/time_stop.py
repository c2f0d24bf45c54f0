"""time_stop: an entry whose filled units are closed at a set time or after some minutes (order-engine 3.46; rules 2.7)."""

from datetime import time
from decimal import Decimal

import attrs

from onebroker.actors.engine.plan.market import Market
from onebroker.actors.engine.plan.parts import Lifetime, OnEnd, Part
from onebroker.actors.engine.plan.reading.json_fields import Fields
from onebroker.actors.engine.plan.reading.value_rules import above_zero
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.exit_checks import check_entry_not_past
from onebroker.actors.engine.presets.part_builders import body_price, order
from onebroker.actors.engine.presets.preset import Holding, Preset
from onebroker.actors.engine.presets.session_hours import check_minutes_before_close, check_within_hours
from onebroker.actors.engine.presets.settings import TIME_TO_COME, setting
from onebroker.config.messages import plan as texts


@attrs.frozen(kw_only=True)
class Settings:
    until_time: time | None = setting(TIME_TO_COME, default=None)
    minutes: Decimal | None = setting(above_zero, default=None)
    """Counted from the placement, including the time that it waits."""


def check(settings: Settings, fields: Fields, body: Body) -> None:
    if (settings.until_time is None) == (settings.minutes is None):
        raise fields.refusal(texts.either("until_time", "minutes"))
    if settings.until_time is not None:
        check_within_hours(fields, body, "until_time", settings.until_time)
    if settings.minutes is not None:
        check_minutes_before_close(fields, body, "minutes", settings.minutes)


def tree(settings: Settings, body: Body, path: str) -> Part:
    lifetime = Lifetime(at_time=settings.until_time, after_minutes=settings.minutes, on_end=OnEnd.CLOSE_FILLED)
    return order(body, path, body_price(body), lifetime=lifetime)


def check_market(_: Settings, body: Body, market: Market) -> None:
    check_entry_not_past(body, market)


PRESET = Preset(
    name="time_stop",
    title="entry, closes what filled at a time or after minutes",
    settings=Settings,
    tree=tree,
    check=check,
    hold=Holding.BY_SWITCH,
    sees_market=True,
    check_market=check_market,
)
