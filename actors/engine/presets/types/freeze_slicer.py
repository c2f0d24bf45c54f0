"""freeze_slicer: splits a quantity above the freeze quantity into orders that each fit (order-engine 3.16; rules 2.7)."""

import attrs

from onebroker.actors.engine.plan.execution_kinds import FreezeLimit
from onebroker.actors.engine.plan.parts import Part
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.part_builders import body_price, order
from onebroker.actors.engine.presets.preset import MARKET_OR_LIMIT, Holding, Preset


@attrs.frozen(kw_only=True)
class Settings:
    """The type has no settings of its own."""


def tree(_: Settings, body: Body, path: str) -> Part:
    return order(body, path, body_price(body), execution=FreezeLimit())


PRESET = Preset(
    name="freeze_slicer",
    title="splits above the freeze quantity into whole-lot orders that each fit",
    settings=Settings,
    tree=tree,
    order_types=MARKET_OR_LIMIT,
    split=True,
    hold=Holding.BY_SWITCH,
    immediate=True,
    legs=True,
)
