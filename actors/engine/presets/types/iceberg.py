"""iceberg: one slice at a time (order-engine 3.21; rules 2.7)."""

from decimal import Decimal

import attrs

from onebroker.actors.engine.plan.execution_kinds import Iceberg
from onebroker.actors.engine.plan.parts import Part
from onebroker.actors.engine.plan.reading.value_rules import at_least, number_from
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.part_builders import body_price, order
from onebroker.actors.engine.presets.preset import MARKET_OR_LIMIT, Preset
from onebroker.actors.engine.presets.settings import setting


@attrs.frozen(kw_only=True)
class Settings:
    slice_quantity: int = setting(at_least(1))
    """Units; whole lots, below the quantity: checked with the tree."""
    randomise_percent: Decimal = setting(number_from(0, 50), default=Decimal(0))


def tree(settings: Settings, body: Body, path: str) -> Part:
    execution = Iceberg(slice_quantity=settings.slice_quantity, randomise_percent=settings.randomise_percent)
    return order(body, path, body_price(body), execution=execution)


PRESET = Preset(
    name="iceberg",
    title="one slice at a time",
    settings=Settings,
    tree=tree,
    order_types=MARKET_OR_LIMIT,
    split=True,
)
