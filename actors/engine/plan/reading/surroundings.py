"""What a part of a plan is read against: the body's own order fields, today's instruments, the presets, and where it hangs."""

from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Protocol, TypeAlias

import attrs

from onebroker.actors.catalogue.interface import Instrument
from onebroker.actors.engine.orders.references import PriceReference, QuantityReference
from onebroker.actors.engine.plan.parts import FromFill, FromPosition, Part, Quantity, Units
from onebroker.actors.engine.plan.reading.fields import Fields
from onebroker.actors.engine.plan.reading.rules import in_ticks, uuid
from onebroker.config.calendars import Session
from onebroker.config.messages import instruments as instrument_texts
from onebroker.config.sections import EngineSettings
from onebroker.config.vocabulary import Side, Validity


@attrs.frozen(kw_only=True)
class Defaults:
    """The place body's own order fields, checked, which a part takes for those it does not give itself; None = left out there too.

    Prices in rupees, quantity in units.
    """

    instrument: Instrument | None
    transaction_type: str | None
    product: str | None
    order_type: str | None
    validity: str = "DAY"
    quantity: int | None = None
    price: Decimal | None = None
    trigger_price: Decimal | None = None
    tag: str | None = None
    broker: str | None = None
    disclosed_quantity: int = 0
    price_reference: PriceReference | None = None
    """In the place of a price: worked out for every order that is sent."""
    closing: QuantityReference | None = None
    """The position that every order is bounded by when it is sent."""
    position: FromPosition | None = None
    """In the place of a quantity: what the position comes to when the order is due."""
    closes_position: bool = False
    linked: bool = False
    """Whether it stands below an `each_fill`, where a quantity left out is what has filled."""

    def sized(self) -> Quantity | None:
        """Return the quantity of an order part that gives none; None when nobody does."""
        if self.linked:
            return FromFill()
        if self.position is not None:
            return self.position
        return None if self.quantity is None else Units(self.quantity)


class World(Protocol):
    """What is known today. Read at intake only; a stored plan never asks again."""

    @property
    def now(self) -> datetime:
        """Aware, India time."""

    @property
    def mapping_date(self) -> date: ...

    @property
    def brokers(self) -> tuple[str, ...]:
        """Codes a caller may pin, in the order a sentence lists them."""

    @property
    def freeze_table(self) -> Mapping[str, int]:
        """Underlying -> the operator's freeze quantity in units (order-engine 4.4)."""

    @property
    def settings(self) -> EngineSettings:
        """The switches and times that types go by (order-engine 5.8)."""

    def instrument(self, instrument_id: str) -> Instrument | None: ...

    def sessions(self, instrument: Instrument, day: date) -> tuple[Session, ...]:
        """Return the sessions of an instrument's calendar on a day, without the pre-open; empty when it does not trade."""

    def pre_open(self, instrument: Instrument, day: date) -> Session | None: ...


Expand: TypeAlias = Callable[[Fields, Defaults, World, str], Part]
"""Expands the settings of a type, given its place fields and the path of its root part. Raises Refusal."""


@attrs.frozen
class Preset:
    """A type that a `preset` part may name."""

    expand: Expand
    settings: frozenset[str] = frozenset()
    """The names of its settings, which come before the place fields of the same name (`trigger_price`)."""


@attrs.frozen(kw_only=True)
class Surroundings:
    """Where a part stands."""

    defaults: Defaults
    world: World
    presets: Mapping[str, Preset]
    hold_limits: bool = False
    hangs: bool = False
    """Whether it hangs on a part: below an `each_fill`, or in a `then`."""

    def below_link(self) -> "Surroundings":
        return attrs.evolve(self, defaults=attrs.evolve(self.defaults, linked=True, validity=Validity.DAY), hangs=True)

    def following(self) -> "Surroundings":
        """Of the `then` of a sequence."""
        return attrs.evolve(self, hangs=True)


@attrs.frozen(kw_only=True)
class Traded:
    """What an order part trades, by which its prices and sizes are judged, and what they fall back to."""

    instrument: Instrument
    side: Side
    around: Surroundings
    """With the part's own place fields among the defaults."""

    @property
    def defaults(self) -> Defaults:
        return self.around.defaults

    @property
    def tick(self) -> Decimal | None:
        """Rupees; None = the brokers agree on none."""
        return tick_of(self.instrument)

    def body_price(self, fields: Fields, name: str = "price") -> Decimal | None:
        """Return the body's price or trigger_price in whole ticks of what this part trades, which need not be the body's
        instrument; None when it has none. Refusal 400 off the tick."""
        value: Decimal | None = getattr(self.defaults, name)
        return None if value is None else fields.judge(lambda _, shown: in_ticks(value, shown, self.tick), value, name)


def tick_of(instrument: Instrument) -> Decimal | None:
    return Decimal(repr(instrument.tick_size)) if instrument.tick_size else None


def named_instrument(fields: Fields, field: str, world: World) -> Instrument:
    """Return the instrument a field names. Refusal 400 when it is no UUID, 404 when it is not mapped today."""
    return mapped(fields, fields.required(field, uuid), world)


def mapped(fields: Fields, instrument_id: str, world: World) -> Instrument:
    """Return the instrument of an id; Refusal 404 when it is not mapped today (order-engine 3.4)."""
    instrument = world.instrument(instrument_id)
    if instrument is None:
        raise fields.refusal(instrument_texts.not_mapped(instrument_id, world.mapping_date), 404)
    return instrument
