"""A `preset` part: the type that it names is expanded in its place (order-engine 1.2). Pure; raises Refusal.

Until the part starts, it is shown and changed only as a whole; `preset` on the root of the expansion marks this.
"""

from decimal import Decimal

import attrs
import msgspec

from onebroker.actors.engine.plan.parts import (
    Condition,
    Lifetime,
    OneCancelsOthersPart,
    OrderPart,
    Part,
    SequencePart,
    TogetherPart,
)
from onebroker.actors.engine.plan.reading.conditions import read_lifetime, read_when
from onebroker.actors.engine.plan.reading.json_fields import Fields
from onebroker.actors.engine.plan.reading.orders import can_hold, place_fields
from onebroker.actors.engine.plan.reading.quantities import units
from onebroker.actors.engine.plan.reading.reading_context import Defaults, Preset, Surroundings, tick_of
from onebroker.actors.engine.plan.reading.value_rules import Unfit, choice, in_ticks, not_below_zero
from onebroker.config.messages import orders as order_texts
from onebroker.config.messages import plan as texts
from onebroker.config.vocabulary import OrderType

_OF_THE_PART = (
    "part", "type", "when", "lifetime", "instrument_id", "transaction_type", "product", "order_type", "validity", "quantity",
    "price", "trigger_price", "tag", "broker",
)  # fmt: skip


def read_preset(fields: Fields, around: Surroundings) -> Part:
    """Expand a preset part. The paths of the expansion begin with the part's own path."""
    name, preset = _named(fields, around)
    check_plain(fields, name)
    own = {key: value for key, value in fields.given.items() if key not in _OF_THE_PART or key in preset.settings}
    place = attrs.evolve(fields, given={key: value for key, value in fields.given.items() if key not in own})
    defaults = own_order(place, around)
    when = read_when(place, defaults.instrument, around.world)
    lifetime = read_lifetime(place, defaults.instrument, around.world)
    settings = Fields.of(own, path=fields.path, owner=f"{name} order")
    part = preset.expand(settings, defaults, around.world, fields.path)
    if (when is not None and part.when is not None) or (lifetime is not None and part.lifetime is not None):
        # Both the part's own and the type's must hold: a group around the expansion carries the part's own.
        inner = preset.expand(settings, defaults, around.world, f"{fields.path}.children.0")
        part = TogetherPart(path=fields.path, children=(inner,))
    if around.hold_limits:
        part = held(part)
    return _with(part, name, when or part.when, lifetime or part.lifetime)


def _with(part: Part, preset: str, when: Condition | None, lifetime: Lifetime | None) -> Part:
    return attrs.evolve(part, preset=preset, when=when, lifetime=lifetime)


def held(part: Part) -> Part:
    """Return the tree with `hold` set on every order part that can be held (1.9)."""
    match part:
        case OrderPart():
            link = None if part.each_fill is None else held(part.each_fill)
            return attrs.evolve(part, hold=part.hold or can_hold(part.price, part.execution), each_fill=link)
        case SequencePart():
            return attrs.evolve(part, first=held(part.first), then=held(part.then))
        case TogetherPart() | OneCancelsOthersPart():
            return attrs.evolve(part, children=tuple(held(child) for child in part.children))


def _named(fields: Fields, around: Surroundings) -> tuple[str, Preset]:
    given = fields.required("type", lambda value, _: value)
    try:
        name = choice(tuple(around.presets))(given, "type")
    except Unfit:
        shown = given if isinstance(given, str) else msgspec.json.encode(given).decode()
        raise fields.refusal(order_texts.synthetic_not_run(shown, sorted(around.presets))) from None
    return name, around.presets[name]


def check_plain(fields: Fields, name: str) -> None:
    """Refuse references and the fields that only a simple order has; a part takes only numbers (N19 to N21)."""
    for reference in ("price_reference", "quantity_reference"):
        if fields.has(reference):
            raise fields.refusal(texts.takes_no_reference(name, reference))
    for field in ("after_market", "disclosed_quantity"):
        if fields.has(field):
            raise fields.refusal(texts.only_simple(field))


def own_order(fields: Fields, around: Surroundings) -> Defaults:
    """Return the body's fields, replaced by the part's own fields where given. Body prices that the order_type does not take are dropped."""
    defaults = place_fields(fields, around.defaults, around.world)
    order_type = fields.optional("order_type", choice(tuple(OrderType)), defaults.order_type)
    kind = None if order_type is None else OrderType(order_type)
    price, trigger = _price(fields, "price", defaults), _price(fields, "trigger_price", defaults)
    if kind is not None and price is not None and not kind.takes_price:
        raise fields.refusal(order_texts.takes_no_price(kind))
    if kind is not None and trigger is not None and not kind.takes_trigger:
        raise fields.refusal(order_texts.takes_no_trigger(kind))
    own_quantity = fields.optional("quantity", units, None)
    return attrs.evolve(
        defaults,
        order_type=order_type,
        quantity=own_quantity if own_quantity is not None else defaults.quantity,
        linked=defaults.linked and own_quantity is None,
        price=_kept(price, defaults.price, kind is None or kind.takes_price),
        trigger_price=_kept(trigger, defaults.trigger_price, kind is None or kind.takes_trigger),
    )


def _kept(own: Decimal | None, body: Decimal | None, taken: bool) -> Decimal | None:
    return own if own is not None else body if taken else None


def _price(fields: Fields, name: str, defaults: Defaults) -> Decimal | None:
    found = fields.optional(name, not_below_zero, None)
    if found is None or defaults.instrument is None:
        return found
    tick = tick_of(defaults.instrument)
    return fields.judge(lambda _, shown: in_ticks(found, shown, tick), found, name)
