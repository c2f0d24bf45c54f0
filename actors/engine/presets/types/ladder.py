"""ladder: evenly spaced limits between two prices (order-engine 3.24; rules 2.7)."""

from decimal import Decimal

import attrs

from onebroker.actors.engine.plan.execution_kinds import Ladder
from onebroker.actors.engine.plan.parts import Part
from onebroker.actors.engine.plan.price_kinds import Fixed
from onebroker.actors.engine.plan.reading.executions import MOST_STEPS, check_rungs
from onebroker.actors.engine.plan.reading.json_fields import Fields
from onebroker.actors.engine.plan.reading.reading_context import Surroundings, Traded
from onebroker.actors.engine.plan.reading.value_rules import whole_from
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.part_builders import order
from onebroker.actors.engine.presets.preset import MARKET_OR_LIMIT, Holding, Preset, Refs
from onebroker.actors.engine.presets.settings import PRICE, setting


@attrs.frozen(kw_only=True)
class Settings:
    from_price: Decimal = setting(PRICE)
    to_price: Decimal = setting(PRICE)
    steps: int = setting(whole_from(2, MOST_STEPS))


def check(settings: Settings, fields: Fields, body: Body) -> None:
    around = Surroundings(defaults=body.defaults, world=body.world, presets={})
    check_rungs(fields, _rungs(settings), Traded(instrument=body.instrument, side=body.side, around=around))


def _rungs(settings: Settings) -> Ladder:
    return Ladder(from_price=settings.from_price, to_price=settings.to_price, steps=settings.steps)


def tree(settings: Settings, body: Body, path: str) -> Part:
    return order(body, path, Fixed(settings.from_price), execution=_rungs(settings))


PRESET = Preset(
    name="ladder",
    title="evenly spaced limits between two prices",
    settings=Settings,
    tree=tree,
    check=check,
    order_types=MARKET_OR_LIMIT,
    engine_priced=True,
    hold=Holding.BY_SWITCH,
    references=Refs.NEVER,
    legs=True,
)
