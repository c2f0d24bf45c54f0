"""iceberg: one slice at a time (order-engine 3.21; rules 2.7)."""

from decimal import Decimal

import attrs

from onebroker.actors.engine.plan.executions import Iceberg
from onebroker.actors.engine.plan.parts import Part
from onebroker.actors.engine.plan.reading.fields import Fields
from onebroker.actors.engine.plan.reading.rules import at_least, number_from
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.building import body_price, order
from onebroker.actors.engine.presets.preset import MARKET_OR_LIMIT, Preset


@attrs.frozen(kw_only=True)
class Settings:
    slice_quantity: int
    """Units; whole lots, below the quantity: checked with the tree."""
    randomise_percent: Decimal


def read(fields: Fields, _: Body) -> Settings:
    return Settings(
        slice_quantity=fields.required("slice_quantity", at_least(1)),
        randomise_percent=fields.optional("randomise_percent", number_from(0, 50), Decimal(0)),
    )


def tree(settings: Settings, body: Body, path: str) -> Part:
    execution = Iceberg(slice_quantity=settings.slice_quantity, randomise_percent=settings.randomise_percent)
    return order(body, path, body_price(body), execution=execution)


PRESET = Preset(
    name="iceberg",
    title="one slice at a time",
    settings=Settings,
    read=read,
    tree=tree,
    order_types=MARKET_OR_LIMIT,
    split=True,
)
