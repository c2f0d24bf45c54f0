"""stepped_stop: a stop that milestones move (order-engine 3.43; rules 2.7)."""

from decimal import Decimal

import attrs

from onebroker.actors.engine.plan.market import Market
from onebroker.actors.engine.plan.parts import Part
from onebroker.actors.engine.plan.prices import Milestone, Stages
from onebroker.actors.engine.plan.reading.fields import Fields
from onebroker.actors.engine.plan.reading.rules import above_zero, price
from onebroker.actors.engine.plan.reading.stops import read_milestones, read_step_ticks
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.building import order
from onebroker.actors.engine.presets.exits import check_further, check_not_past
from onebroker.actors.engine.presets.preset import Preset
from onebroker.config.messages import plan as texts

_INSIDE_A_RULE = ("trail_points", "trail_percent", "activate_at")


@attrs.frozen(kw_only=True)
class Settings:
    entry_price: Decimal
    stop_price: Decimal
    stop_limit_offset: Decimal
    rules: tuple[Milestone, ...]
    step_ticks: int


def read(fields: Fields, body: Body) -> Settings:
    for name in _INSIDE_A_RULE:
        if fields.has(name):
            raise fields.refusal(texts.inside_a_rule(name))
    settings = Settings(
        entry_price=fields.required("entry_price", price(body.tick)),
        stop_price=fields.required("stop_price", price(body.tick)),
        stop_limit_offset=fields.required("stop_limit_offset", above_zero),
        rules=read_milestones(fields),
        step_ticks=read_step_ticks(fields),
    )
    check_further(fields, body, ("stop_price", "entry_price"), settings.stop_price, settings.entry_price)
    return settings


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
    read=read,
    tree=tree,
    refused_in_words=frozenset(_INSIDE_A_RULE),
    engine_priced=True,
    takes_price_reference=False,
    sees_market=True,
    check_market=check_market,
)
