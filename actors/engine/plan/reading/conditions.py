"""`when` and `lifetime` of a part (order-engine 1.6, 1.8). Pure; raises Refusal."""

from collections.abc import Callable, Mapping
from decimal import Decimal

import attrs

from onebroker.actors.catalogue.interface import Instrument
from onebroker.actors.engine.plan.kinds import CONDITIONS
from onebroker.actors.engine.plan.parts import (
    AccountAt,
    AccountField,
    AllOf,
    AnyOf,
    AppliesTo,
    BarClosed,
    Condition,
    Direction,
    JointPnl,
    Lifetime,
    OnEnd,
    PriceAt,
    QuoteField,
    Since,
    TimeOfDay,
)
from onebroker.actors.engine.plan.reading.json_fields import Fields
from onebroker.actors.engine.plan.reading.reading_context import World, mapped, named_instrument, tick_of
from onebroker.actors.engine.plan.reading.value_rules import (
    above_zero,
    choice,
    flag,
    number,
    price,
    time_to_come,
    uuid,
    whole_from,
    word_of,
)
from onebroker.config.messages import plan as texts

POSITION_PRODUCTS = ("delivery", "intraday", "carry", "margin_trading", "cover", "bracket")
"""In the order in which 1.3 lists them."""
MOST_INSTRUMENTS = 50
MOST_DAYS = 365
_OF_A_GROUP = (2, 5)
"""Fewest and most conditions of an `all` or `any`."""
_IN_TICKS = (QuoteField.LAST_PRICE, QuoteField.BID, QuoteField.OFFER)
"""Fields whose values are always whole ticks."""


@attrs.frozen(kw_only=True)
class _Watch:
    """The instrument and the world against which the conditions of one part are read."""

    own: Instrument | None
    """The watched instrument when a condition names none."""
    world: World


def read_when(fields: Fields, own: Instrument | None, world: World) -> Condition | None:
    """Read the `when` of a part or of a lifetime; None when there is none. `own` is the part's instrument; for a group, the body's."""
    if not fields.has("when"):
        return None
    watch = _Watch(own=own, world=world)
    return _condition(fields.given["when"], fields, watch, inside=f"{fields.inside}when.", prefix="")


def read_lifetime(fields: Fields, own: Instrument | None, world: World) -> Lifetime | None:
    """Read the `lifetime` of a part; None when there is none."""
    given = fields.inner("lifetime")
    if given is None:
        return None
    given.only("at_time", "after_minutes", "after_days", "when", "applies_to", "on_end")
    lifetime = Lifetime(
        at_time=given.optional("at_time", time_to_come(world.now.time()), None),
        after_minutes=given.optional("after_minutes", above_zero, None),
        after_days=given.optional("after_days", whole_from(1, MOST_DAYS), None),
        when=read_when(given, own, world),
        applies_to=given.optional("applies_to", word_of(AppliesTo), AppliesTo.BOTH),
        on_end=given.optional("on_end", word_of(OnEnd), OnEnd.CANCEL),
    )
    ends = (lifetime.at_time, lifetime.after_minutes, lifetime.after_days, lifetime.when)
    if all(end is None for end in ends):
        raise given.refusal(texts.LIFETIME_EMPTY)
    return lifetime


def _condition(value: object, above: Fields, watch: _Watch, *, inside: str, prefix: str) -> Condition:
    """Read one condition: an object with exactly one key. `prefix` is put before the names of its fields."""
    named = {name: inner for name, inner in value.items() if inner is not None} if isinstance(value, Mapping) else {}
    allowed = _WITHIN_A_GROUP if prefix else tuple(CONDITIONS)
    kind = next(iter(named), "")
    if len(named) != 1 or kind not in allowed:
        raise above.refusal(texts.one_of("when", allowed))
    fields = attrs.evolve(above, given=named, inside=inside, prefix=prefix)
    if kind == "time":
        return TimeOfDay(fields.required("time", time_to_come(watch.world.now.time())))
    if kind in ("all", "any"):
        parts = tuple(
            _condition(item, above, watch, inside=f"{inside}{kind}.{index}.", prefix=f"{kind}.{index}.")
            for index, item in enumerate(fields.items(kind, *_OF_A_GROUP))
        )
        return AllOf(parts) if kind == "all" else AnyOf(parts)
    inner = fields.inner(kind, prefix=prefix)
    assert inner is not None
    return _OBJECTS[kind](inner, watch)


def _price(fields: Fields, watch: _Watch) -> PriceAt:
    fields.only("instrument_id", "field", "level", "direction")
    instrument = _watched(fields, watch)
    field = fields.optional("field", word_of(QuoteField), QuoteField.LAST_PRICE)
    return PriceAt(
        instrument_id=instrument.instrument_id,
        field=field,
        level=_level(fields, field, instrument, watch),
        direction=_direction(fields),
    )


def _bar_close(fields: Fields, watch: _Watch) -> BarClosed:
    fields.only("instrument_id", "field", "level", "direction", "bar_minutes")
    instrument = _watched(fields, watch)
    fields.optional("field", choice((QuoteField.LAST_PRICE.value,)), None)  # bars are built from last prices only
    return BarClosed(
        instrument_id=instrument.instrument_id,
        level=_level(fields, QuoteField.LAST_PRICE, instrument, watch),
        direction=_direction(fields),
        bar_minutes=fields.optional("bar_minutes", above_zero, Decimal(5)),
    )


def _watched(fields: Fields, watch: _Watch) -> Instrument:
    if not fields.has("instrument_id") and watch.own is not None:
        return watch.own
    return named_instrument(fields, "instrument_id", watch.world)


def _level(fields: Fields, field: QuoteField, instrument: Instrument, watch: _Watch) -> Decimal:
    """Read a level. A price of the traded instrument must be in whole ticks; for another instrument ticks are not checked (3.12)."""
    if field is QuoteField.CHANGE_PERCENT:
        return fields.required("level", number)
    own = watch.own is not None and instrument.instrument_id == watch.own.instrument_id
    return fields.required("level", price(tick_of(instrument)) if own and field in _IN_TICKS else above_zero)


def _direction(fields: Fields) -> Direction | None:
    return fields.optional("direction", word_of(Direction), None)


def _account(fields: Fields, _: _Watch) -> AccountAt:
    fields.only("field", "level", "direction")
    return AccountAt(
        field=fields.required("field", word_of(AccountField)),
        level=fields.required("level", number),
        direction=_direction(fields),
    )


def _pnl(fields: Fields, watch: _Watch) -> JointPnl:
    fields.only("instrument_ids", "every_instrument", "product", "loss", "profit", "give_back", "since")
    ids, every = read_instruments(fields, watch.world)
    if not ids and not every:
        raise fields.refusal(texts.INSTRUMENTS)
    product = fields.optional("product", choice(POSITION_PRODUCTS), None)
    loss, profit, give_back = (fields.optional(name, above_zero, None) for name in ("loss", "profit", "give_back"))
    if loss is None and profit is None and give_back is None:
        raise fields.refusal(texts.NO_LIMIT_OF_PNL)
    since = fields.optional("since", word_of(Since), Since.PLACEMENT)
    return JointPnl(
        instrument_ids=ids, every_instrument=every, product=product,
        loss=loss, profit=profit, give_back=give_back, since=since,
    )  # fmt: skip


def read_instruments(fields: Fields, world: World) -> tuple[tuple[str, ...], bool]:
    """Read `instrument_ids` (1 to 50 UUIDs) and `every_instrument`. At most one of the two may be given."""
    every = fields.optional("every_instrument", flag, False)
    if not fields.has("instrument_ids"):
        return (), every
    items = fields.items("instrument_ids", 1, MOST_INSTRUMENTS)
    if every:
        raise fields.refusal(texts.INSTRUMENTS)
    named = [fields.judge(uuid, item, fields.name(f"instrument_ids.{index}")) for index, item in enumerate(items)]
    # An unknown instrument would silently guard or close nothing.
    return tuple(dict.fromkeys(mapped(fields, instrument_id, world).instrument_id for instrument_id in named)), False


_OBJECTS: Mapping[str, Callable[[Fields, _Watch], Condition]] = {
    "price": _price,
    "bar_close": _bar_close,
    "account": _account,
    "pnl": _pnl,
}
_WITHIN_A_GROUP = ("price", "bar_close", "time", "account", "pnl")
