"""oto: once the first order fills, sends a second order sized to the filled quantity (order-engine 3.33, 6.12; rules 2.7)."""

from collections.abc import Mapping
from decimal import Decimal

import attrs

from onebroker.actors.engine.plan.parts import FromFill, OrderPart, Part, SequencePart
from onebroker.actors.engine.plan.reading.json_fields import Fields
from onebroker.actors.engine.plan.reading.reading_context import Defaults
from onebroker.actors.engine.plan.reading.value_rules import Accepts, Kind, above_zero
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.candidates import order_body
from onebroker.actors.engine.presets.part_builders import body_price, order
from onebroker.actors.engine.presets.preset import Holding, Preset
from onebroker.actors.engine.presets.settings import Reading, own_reading, setting
from onebroker.actors.engine.references.parsing import parse_references
from onebroker.config.messages import orders as order_texts
from onebroker.config.messages import plan as plan_texts
from onebroker.config.refusal import Refusal
from onebroker.config.vocabulary import Validity

THEN = "then"
PRICE_REFERENCE = "price_reference"
"""`then` takes a price reference, worked out when the order is sent. It takes no quantity reference: its quantity comes from the first order's
fills."""


@own_reading(Accepts(kind=Kind.OBJECT), required=True)
def _order_object(reading: Reading, name: str) -> Mapping[str, object]:
    """Read the order as the caller sent it; `check` judges it."""
    fields = reading.fields
    then: object = fields.required(name, lambda value, _: value)
    if not isinstance(then, Mapping):
        raise fields.refusal(plan_texts.json_object(name))
    given = {field: value for field, value in then.items() if value is not None}
    if "synthetic" in given:
        raise fields.refusal(plan_texts.takes_no_synthetic(name))
    return given


@attrs.frozen(kw_only=True)
class Settings:
    then: Mapping[str, object] = setting(_order_object)
    """As the caller sent it, without nulls."""
    ratio: Decimal = setting(above_zero, default=Decimal(1))
    """Share of the first order's filled quantity."""


def check(settings: Settings, _: Fields, body: Body) -> None:
    _second(settings, body, "root.then")


def tree(settings: Settings, body: Body, path: str) -> Part:
    first = order(body, f"{path}.first", body_price(body))
    return SequencePart(path=path, first=first, then=_second(settings, body, f"{path}.{THEN}"))


def _second(settings: Settings, body: Body, path: str) -> OrderPart:
    """Return the second order. Instrument, product and tag are the body's where it gives none; its quantity is the most that it sends."""
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
    numbers = {name: value for name, value in settings.then.items() if name != PRICE_REFERENCE}
    second = order_body(numbers, attrs.evolve(body, defaults=defaults), THEN, "oto", immediate=False)
    second = _referenced(second, settings.then.get(PRICE_REFERENCE))
    most = second.defaults.quantity
    if most is not None and most % second.lot:
        raise second.refusal(order_texts.whole_lots("quantity", second.lot))
    return order(second, path, body_price(second), quantity=FromFill(ratio=settings.ratio, most=most))


def _referenced(second: Body, reference: object) -> Body:
    """Return the second order; where it gives a price reference, its price is worked out when it is sent (3.33)."""
    if reference is None:
        return second
    if not second.order_type.takes_price:
        raise second.refusal(order_texts.takes_no_price(second.order_type))
    try:
        references = parse_references({PRICE_REFERENCE: reference}, None)
    except Refusal as refusal:
        raise second.refusal(refusal.sentence) from None
    assert references is not None
    return attrs.evolve(second, defaults=attrs.evolve(second.defaults, price=None, price_reference=references.price))


def name_of_part(place: str) -> str:
    return THEN if place == THEN else ""


PRESET = Preset(
    name="oto",
    title="second order sized to what filled once the first fills",
    settings=Settings,
    tree=tree,
    check=check,
    hold=Holding.BY_SWITCH,
    name_of_part=name_of_part,
)
