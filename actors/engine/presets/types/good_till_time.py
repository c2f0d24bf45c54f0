"""good_till_time: is placed now; at a set time the unfilled rest is cancelled or made marketable (order-engine 3.17; rules 2.7)."""

from datetime import time

import attrs

from onebroker.actors.engine.plan.market import Market
from onebroker.actors.engine.plan.parts import Lifetime, OnEnd, Part
from onebroker.actors.engine.plan.reading.json_fields import Fields
from onebroker.actors.engine.plan.reading.value_rules import word_of
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.exit_checks import check_entry_not_past
from onebroker.actors.engine.presets.part_builders import body_price, order
from onebroker.actors.engine.presets.preset import Holding, Preset
from onebroker.actors.engine.presets.session_hours import check_within_hours
from onebroker.actors.engine.presets.settings import TIME_TO_COME, setting


@attrs.frozen(kw_only=True)
class Settings:
    until_time: time = setting(TIME_TO_COME)
    at_expiry: OnEnd = setting(word_of(OnEnd, (OnEnd.CANCEL, OnEnd.MARKETABLE)), default=OnEnd.CANCEL)


def check(settings: Settings, fields: Fields, body: Body) -> None:
    check_within_hours(fields, body, "until_time", settings.until_time)


def tree(settings: Settings, body: Body, path: str) -> Part:
    lifetime = Lifetime(at_time=settings.until_time, on_end=settings.at_expiry)
    return order(body, path, body_price(body), lifetime=lifetime)


def check_market(_: Settings, body: Body, market: Market) -> None:
    check_entry_not_past(body, market)


PRESET = Preset(
    name="good_till_time",
    title="placed now; at a time the unfilled is cancelled or made marketable",
    settings=Settings,
    tree=tree,
    check=check,
    hold=Holding.BY_SWITCH,
    sees_market=True,
    check_market=check_market,
)
