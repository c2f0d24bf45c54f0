"""discretionary: shows one limit, and quietly takes a slightly worse price within reach (order-engine 3.14; rules 2.7)."""

from decimal import Decimal

import attrs

from onebroker.actors.engine.plan.parts import Part
from onebroker.actors.engine.plan.price_kinds import Discretion
from onebroker.actors.engine.plan.reading.json_fields import Fields
from onebroker.actors.engine.plan.reading.value_rules import MOST_UNITS, at_least, whole_from
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.part_builders import order
from onebroker.actors.engine.presets.preset import LIMIT_ONLY, Preset
from onebroker.actors.engine.presets.settings import PRICE, RuleOfOrder, setting
from onebroker.actors.engine.presets.trigger_settings import fixed
from onebroker.config.messages import orders as order_texts

_AT_MOST_THE_ORDER = RuleOfOrder(
    at_least(1).accepts, lambda reading: whole_from(1, reading.body.quantity or MOST_UNITS)
)


@attrs.frozen(kw_only=True)
class Settings:
    discretion_points: Decimal = setting(PRICE)
    discretion_quantity: int | None = setting(_AT_MOST_THE_ORDER, default=None)
    """Units; None = the whole quantity."""


def check(settings: Settings, fields: Fields, body: Body) -> None:
    if settings.discretion_quantity is not None and settings.discretion_quantity % body.lot:
        raise fields.refusal(order_texts.whole_lots("discretion_quantity", body.lot))


def tree(settings: Settings, body: Body, path: str) -> Part:
    limit = Discretion(
        price=fixed(body.limit).price,
        points=settings.discretion_points,
        quantity=settings.discretion_quantity,
    )
    return order(body, path, limit)


PRESET = Preset(
    name="discretionary",
    title="shows one limit, quietly takes a slightly worse one when within reach",
    settings=Settings,
    tree=tree,
    check=check,
    order_types=LIMIT_ONLY,
    sees_market=True,
)
