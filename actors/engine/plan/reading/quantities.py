"""`quantity` of an order part (order-engine 1.3). Pure; raises Refusal."""

from collections.abc import Mapping
from decimal import Decimal

from onebroker.actors.engine.plan.parts import (
    FromExposure,
    FromFill,
    FromPosition,
    Measure,
    Quantity,
    Share,
    Units,
    Weighted,
)
from onebroker.actors.engine.plan.reading.conditions import MOST_INSTRUMENTS, POSITION_PRODUCTS, read_instruments
from onebroker.actors.engine.plan.reading.json_fields import Fields
from onebroker.actors.engine.plan.reading.reading_context import Traded, World, named_instrument
from onebroker.actors.engine.plan.reading.value_rules import (
    Unfit,
    above_zero,
    above_zero_to,
    at_least,
    choice,
    flag,
    number,
    other_than_zero,
    word_of,
)
from onebroker.config.messages import orders as order_texts
from onebroker.config.messages import plan as texts
from onebroker.config.money import Rounding

_FORMS = ("share", "from_fill", "position", "exposure")
_ROUNDINGS: Mapping[str, Rounding] = {"nearest": "nearest", "down": "down", "up": "up"}


def read_quantity(fields: Fields, traded: Traded) -> Quantity | None:
    """Read the quantity of a part, or take the body's when the part gives none; None when the body gives none either."""
    given = fields.given.get("quantity")
    if given is None:
        return traded.defaults.sized()
    if not isinstance(given, Mapping):
        return Units(fields.fit("quantity", units))
    inner = fields.inner("quantity")
    assert inner is not None
    forms = [form for form in _FORMS if inner.has(form)]
    if len(forms) != 1:
        raise inner.refusal(texts.QUANTITY_KINDS)
    inner.only(forms[0], *(("most",) if forms[0] == "position" else ()))
    match forms[0]:
        case "share":
            of = None if traded.defaults.linked else traded.defaults.quantity
            return Share(inner.required("share", above_zero_to(1, zero="0")), of)
        case "from_fill":
            return _from_fill(inner)
        case "position":
            return _position(inner, traded)
    return _exposure(inner, traded.around.world)


def units(value: object, name: str) -> int:
    """The rule of a body's quantity."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise Unfit(order_texts.QUANTITY_WHOLE)
    return at_least(1)(value, name)


def _from_fill(inner: Fields) -> FromFill:
    given = _object(inner, "from_fill")
    given.only("ratio", "round")
    return FromFill(
        ratio=given.optional("ratio", above_zero, Decimal(1)),
        rounding=_ROUNDINGS[given.optional("round", choice(tuple(_ROUNDINGS)), "nearest")],
    )


def _position(inner: Fields, traded: Traded) -> FromPosition:
    given = _object(inner, "position")
    given.only("product", "instrument_ids", "every_instrument", "ratio", "cancel_resting_first")
    product = given.optional("product", choice(POSITION_PRODUCTS), None)
    ratio = given.optional("ratio", _one_or_two, 1)
    ids, every = read_instruments(given, traded.around.world)
    return FromPosition(
        product=product,
        instrument_ids=ids if ids or every else (traded.instrument.instrument_id,),
        every_instrument=every,
        ratio=ratio,
        cancel_resting_first=given.optional("cancel_resting_first", flag, True),
        most=inner.optional("most", at_least(1), None),
    )


def _one_or_two(value: object, _: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value not in (1, 2):
        raise Unfit(texts.RATIO)
    return value


def _exposure(inner: Fields, world: World) -> FromExposure:
    given = _object(inner, "exposure")
    given.only("instruments", "measure", "target", "band", "hedge_weight", "most", "product")
    return FromExposure(
        instruments=read_weights(given, "instruments", world),
        measure=given.optional("measure", word_of(Measure), Measure.VALUE),
        target=given.optional("target", number, Decimal(0)),
        band=given.required("band", above_zero),
        hedge_weight=given.optional("hedge_weight", other_than_zero, Decimal(1)),
        most=given.optional("most", at_least(1), None),
        product=given.optional("product", choice(POSITION_PRODUCTS), None),
    )


def read_weights(given: Fields, field: str, world: World) -> tuple[Weighted, ...]:
    """Read a list of 1 to 50 instruments with weights (1 when left out)."""
    found = []
    for item in given.objects(field, 1, MOST_INSTRUMENTS):
        item.only("instrument_id", "weight")
        instrument = named_instrument(item, "instrument_id", world)
        found.append(Weighted(instrument.instrument_id, item.optional("weight", number, Decimal(1))))
    return tuple(found)


def _object(inner: Fields, field: str) -> Fields:
    given = inner.inner(field)
    assert given is not None
    return given
