"""Orders inside a type's settings: the candidates of basket and oca, the second order of oto (order-engine 3.5, 3.30, 3.33). Pure; raises Refusal
400, and 404 for an instrument that is not mapped today. Each sentence begins with the place of its order."""

from collections.abc import Mapping, Sequence
from decimal import Decimal

import attrs

from onebroker.actors.engine.plan.parts import OrderPart
from onebroker.actors.engine.plan.reading.json_fields import Fields
from onebroker.actors.engine.plan.reading.presets import check_plain, own_order
from onebroker.actors.engine.plan.reading.reading_context import Surroundings
from onebroker.actors.engine.plan.reading.value_rules import Accepts, Kind, Rule, in_ticks
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.part_builders import body_price, child, order
from onebroker.actors.engine.presets.settings import OwnReading, Reading, own_reading
from onebroker.config.messages import plan as texts
from onebroker.config.messages import presets_pieces as own_texts
from onebroker.config.refusal import Refusal
from onebroker.config.vocabulary import Validity

_FIELDS = (
    "instrument_id", "transaction_type", "product", "order_type", "validity", "quantity", "price", "trigger_price", "tag",
    "broker",
)  # fmt: skip


def candidates_of(
    name: str, *, least: int, most: int, immediate: bool = False
) -> OwnReading[tuple[Mapping[str, object], ...]]:
    """Return the reading of a type's list of order objects. It checks each as an order, and keeps it as the caller sent it, without nulls."""

    @own_reading(Accepts(kind=Kind.LIST, least=least, most=most, item=Accepts(kind=Kind.OBJECT)), required=True)
    def read(reading: Reading, field: str) -> tuple[Mapping[str, object], ...]:
        given = tuple(candidate.given for candidate in reading.fields.objects(field, least, most))
        order_parts(given, reading.body, name, "root", immediate=immediate)
        return given

    return read


def order_parts(
    candidates: Sequence[Mapping[str, object]], body: Body, name: str, path: str, *, immediate: bool = True
) -> tuple[OrderPart, ...]:
    """Build the order parts of a group at `path`, one per candidate."""
    own = [
        order_body(given, body, own_texts.candidate(number), name, immediate=immediate)
        for number, given in enumerate(candidates)
    ]
    return tuple(order(own_body, child(path, number), body_price(own_body)) for number, own_body in enumerate(own))


def refuse_candidate(body: Body, number: int, sentence: str) -> Refusal:
    return body.refusal(texts.at(own_texts.candidate(number), sentence))


def order_body(given: Mapping[str, object], body: Body, where: str, name: str, *, immediate: bool) -> Body:
    """Return an order object as a body of its own; fields that it leaves out come from `body`. `where` is its place, `name` is the type's name."""
    fields = Fields.of(given, path=texts.at(body.path, where), owner=f"{name} order")
    if fields.has("synthetic"):
        raise body.refusal(texts.takes_no_synthetic(where))
    check_plain(fields, name)
    fields.only(*_FIELDS)
    around = Surroundings(defaults=body.defaults, world=body.world, presets={})
    own = attrs.evolve(body, defaults=own_order(fields, around), path=fields.path)
    if own.defaults.validity == Validity.IOC and not immediate:
        raise own.refusal(texts.validity_not_with(Validity.IOC, name))
    return _in_whole_ticks(fields, own)


def _in_whole_ticks(fields: Fields, own: Body) -> Body:
    """Return the body with its prices in whole ticks of the instrument that it trades, also those taken from the outer body."""

    def exactly(field: str, value: Decimal | None) -> Decimal | None:
        return None if value is None else fields.judge(_whole_ticks(value, own.tick), value, field)

    price = exactly("price", own.defaults.price)
    trigger_price = exactly("trigger_price", own.defaults.trigger_price)
    return attrs.evolve(own, defaults=attrs.evolve(own.defaults, price=price, trigger_price=trigger_price))


def _whole_ticks(value: Decimal, tick: Decimal | None) -> Rule[Decimal]:
    return lambda _, name: in_ticks(value, name, tick)


def name_of_part(place: str) -> str:
    """Return `candidates.2` for the child of a group; empty for a part below it."""
    group, _, number = place.partition(".")
    return own_texts.candidate(int(number)) if group == "children" and number.isdecimal() else ""
