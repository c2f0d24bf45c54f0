"""participation: a fixed share of the market's volume (order-engine 3.34; rules 2.7)."""

from decimal import Decimal

import attrs

from onebroker.actors.engine.plan.execution_kinds import Participation
from onebroker.actors.engine.plan.parts import Part
from onebroker.actors.engine.plan.reading.value_rules import above_zero_to, at_least
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.part_builders import body_price, order
from onebroker.actors.engine.presets.preset import MARKET_OR_LIMIT, Preset
from onebroker.actors.engine.presets.settings import setting


@attrs.frozen(kw_only=True)
class Settings:
    participation_percent: Decimal = setting(above_zero_to(100, zero="0"))
    most_slices: int = setting(at_least(1), default=60)


def tree(settings: Settings, body: Body, path: str) -> Part:
    execution = Participation(percent=settings.participation_percent, most_slices=settings.most_slices)
    return order(body, path, body_price(body), execution=execution)


PRESET = Preset(
    name="participation",
    title="fixed share of market volume",
    settings=Settings,
    tree=tree,
    order_types=MARKET_OR_LIMIT,
    sees_market=True,
)
