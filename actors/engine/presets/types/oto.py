"""oto: a second order, sized to what filled, once the first fills (order-engine 3.33, 6.12; spec 2 §7)."""

from collections.abc import Mapping
from decimal import Decimal

import attrs

from onebroker.actors.engine.plan.parts import FromFill, OrderPart, Part, SequencePart
from onebroker.actors.engine.plan.reading.fields import Fields
from onebroker.actors.engine.plan.reading.rules import above_zero
from onebroker.actors.engine.plan.reading.surroundings import Defaults
from onebroker.actors.engine.presets.building import body_price, order
from onebroker.actors.engine.presets.candidates import order_body
from onebroker.actors.engine.presets.preset import Body, Holding, Preset
from onebroker.config.messages import orders as order_texts
from onebroker.config.messages import plan as plan_texts
from onebroker.config.vocabulary import Validity

THEN = "then"


@attrs.frozen(kw_only=True)
class Settings:
    then: Mapping[str, object]
    """As it was sent, without nulls."""
    ratio: Decimal
    """Of what the first has filled."""


def read(fields: Fields, body: Body) -> Settings:
    then = fields.required(THEN, lambda value, _: value)
    if not isinstance(then, Mapping):
        raise fields.refusal(plan_texts.json_object(THEN))
    given = {name: value for name, value in then.items() if value is not None}
    if "synthetic" in given:
        raise fields.refusal(plan_texts.takes_no_synthetic(THEN))
    settings = Settings(then=given, ratio=fields.optional("ratio", above_zero, Decimal(1)))
    _second(settings, body, "root.then")
    return settings


def tree(settings: Settings, body: Body, path: str) -> Part:
    first = order(body, f"{path}.first", body_price(body))
    return SequencePart(path=path, first=first, then=_second(settings, body, f"{path}.{THEN}"))


def _second(settings: Settings, body: Body, path: str) -> OrderPart:
    """The second order: instrument, product and tag are the body's where it gives none; its quantity is the most it sends."""
    own = body.defaults
    defaults = Defaults(
        instrument=own.instrument,
        transaction_type=None,
        product=own.product,
        order_type=None,
        validity=Validity.DAY,
        tag=own.tag,
        closes_position=own.closes_position,
    )
    second = order_body(settings.then, attrs.evolve(body, defaults=defaults), THEN, "oto", immediate=False)
    most = second.defaults.quantity
    if most is not None and most % second.lot:
        raise second.refusal(order_texts.whole_lots("quantity", second.lot))
    return order(second, path, body_price(second), quantity=FromFill(ratio=settings.ratio, most=most))


def name_of_part(place: str) -> str:
    return THEN if place == THEN else ""


PRESET = Preset(
    name="oto",
    title="second order sized to what filled once the first fills",
    settings=Settings,
    read=read,
    tree=tree,
    hold=Holding.BY_SWITCH,
    name_of_part=name_of_part,
)
