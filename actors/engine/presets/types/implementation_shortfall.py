"""implementation_shortfall: shrinking slices, most of them early (order-engine 3.22; rules 2.7)."""

from decimal import Decimal

import attrs

from onebroker.actors.engine.plan.execution_kinds import FrontLoaded
from onebroker.actors.engine.plan.parts import Part
from onebroker.actors.engine.plan.reading.executions import MOST_SLICES
from onebroker.actors.engine.plan.reading.json_fields import Fields
from onebroker.actors.engine.plan.reading.value_rules import above_zero, number_from, whole_from
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.part_builders import body_price, order
from onebroker.actors.engine.presets.preset import MARKET_OR_LIMIT, Holding, Preset, Refs
from onebroker.actors.engine.presets.session_hours import check_ends_before_close
from onebroker.actors.engine.presets.settings import setting


@attrs.frozen(kw_only=True)
class Settings:
    slices: int = setting(whole_from(2, MOST_SLICES))
    over_minutes: Decimal = setting(above_zero)
    urgency: Decimal = setting(number_from(0, 1), default=Decimal("0.5"))


def check(settings: Settings, fields: Fields, body: Body) -> None:
    check_ends_before_close(fields, body, "over_minutes", settings.over_minutes)


def tree(settings: Settings, body: Body, path: str) -> Part:
    execution = FrontLoaded(slices=settings.slices, over_minutes=settings.over_minutes, urgency=settings.urgency)
    return order(body, path, body_price(body), execution=execution)


PRESET = Preset(
    name="implementation_shortfall",
    title="shrinking slices",
    settings=Settings,
    tree=tree,
    check=check,
    order_types=MARKET_OR_LIMIT,
    split=True,
    hold=Holding.BY_SWITCH,
    references=Refs.EACH,
    sees_market=True,
)
