"""stepped_stop: a stop that milestones move (order-engine 3.43; rules 2.7)."""

from decimal import Decimal

import attrs

from onebroker.actors.engine.plan.market import Market
from onebroker.actors.engine.plan.parts import Part
from onebroker.actors.engine.plan.price_kinds import Milestone, Stages
from onebroker.actors.engine.plan.reading.json_fields import Fields
from onebroker.actors.engine.plan.reading.stops import MOST_MILESTONES, read_milestones
from onebroker.actors.engine.plan.reading.value_rules import Accepts, Kind, above_zero, at_least
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.exit_checks import check_further, check_not_past
from onebroker.actors.engine.presets.part_builders import order
from onebroker.actors.engine.presets.preset import Preset
from onebroker.actors.engine.presets.settings import PRICE, Reading, own_reading, setting
from onebroker.config.messages import plan as texts

_INSIDE_A_RULE = ("trail_points", "trail_percent", "activate_at")


@own_reading(Accepts(kind=Kind.LIST, least=1, most=MOST_MILESTONES, item=Accepts(kind=Kind.OBJECT)), required=True)
def _milestones(reading: Reading, _: str) -> tuple[Milestone, ...]:
    return read_milestones(reading.fields)


@attrs.frozen(kw_only=True)
class Settings:
    entry_price: Decimal = setting(PRICE)
    stop_price: Decimal = setting(PRICE)
    stop_limit_offset: Decimal = setting(above_zero)
    rules: tuple[Milestone, ...] = setting(_milestones)
    step_ticks: int = setting(at_least(1), default=1)


def check_first(fields: Fields, _: Body) -> None:
    for name in _INSIDE_A_RULE:
        if fields.has(name):
            raise fields.refusal(texts.inside_a_rule(name))


def check(settings: Settings, fields: Fields, body: Body) -> None:
    check_further(fields, body, ("stop_price", "entry_price"), settings.stop_price, settings.entry_price)


def tree(settings: Settings, body: Body, path: str) -> Part:
    stages = Stages(
        entry_price=settings.entry_price,
        stop_price=settings.stop_price,
        limit_offset=settings.stop_limit_offset,
        rules=settings.rules,
        step_ticks=settings.step_ticks,
    )
    return order(body, path, stages, closes=True)


def check_market(settings: Settings, body: Body, market: Market) -> None:
    check_not_past(body, market, "stop_price", settings.stop_price, body.side)


PRESET = Preset(
    name="stepped_stop",
    title="stop moved by milestones",
    settings=Settings,
    tree=tree,
    check_first=check_first,
    check=check,
    refused_in_words=frozenset(_INSIDE_A_RULE),
    engine_priced=True,
    takes_price_reference=False,
    sees_market=True,
    check_market=check_market,
)
