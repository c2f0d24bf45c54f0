"""scheduled: holds an order until a time of day (order-engine 3.40; rules 2.7)."""

from datetime import time

import attrs

from onebroker.actors.engine.plan.parts import Part, TimeOfDay
from onebroker.actors.engine.plan.reading.json_fields import Fields
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.part_builders import body_price, order
from onebroker.actors.engine.presets.preset import Holding, Preset, Refs
from onebroker.actors.engine.presets.session_hours import check_within_hours
from onebroker.actors.engine.presets.settings import TIME_TO_COME, setting


@attrs.frozen(kw_only=True)
class Settings:
    at_time: time = setting(TIME_TO_COME)


def check(settings: Settings, fields: Fields, body: Body) -> None:
    check_within_hours(fields, body, "at_time", settings.at_time)


def tree(settings: Settings, body: Body, path: str) -> Part:
    return order(body, path, body_price(body), when=TimeOfDay(settings.at_time))


PRESET = Preset(
    name="scheduled",
    title="holds until a time of day",
    settings=Settings,
    tree=tree,
    check=check,
    hold=Holding.BY_SWITCH,
    references=Refs.SCHEDULED,
    immediate=True,
    sees_market=True,
)
