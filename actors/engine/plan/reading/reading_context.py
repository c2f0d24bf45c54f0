"""The surroundings in which a part of a plan is read: the body's own order fields, today's instruments, the presets, and the part's
place in the tree."""

from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Protocol, TypeAlias

import attrs

from onebroker.actors.catalogue.interface import Instrument
from onebroker.actors.engine.orders.reference_values import PriceReference, QuantityReference
from onebroker.actors.engine.plan.parts import FromFill, FromPosition, Part, Quantity, Units
from onebroker.actors.engine.plan.reading.json_fields import Fields
from onebroker.actors.engine.plan.reading.value_rules import in_ticks, uuid
from onebroker.config.calendars import Session
from onebroker.config.messages import instruments as instrument_texts
from onebroker.config.sections import EngineSettings
from onebroker.config.vocabulary import Side, Validity


@attrs.frozen(kw_only=True)
class Defaults:
    """The checked order fields of the place body. A part takes them for the fields that it does not give; None = the body has none too.

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
    """Used instead of a price: worked out for every order that is sent."""
    closing: QuantityReference | None = None
    """The position that bounds every order when the order is sent."""
    position: FromPosition | None = None
    """Used instead of a quantity: the units of the position when the order is due."""
    closes_position: bool = False
    linked: bool = False
    """Whether the part is below an `each_fill`. A quantity left out there means the filled quantity."""

    def sized(self) -> Quantity | None:
        """Return the quantity of an order part that gives none; None when the body gives none either."""
        if self.linked:
            return FromFill()
        if self.position is not None:
            return self.position
        return None if self.quantity is None else Units(self.quantity)


class World(Protocol):
    """The facts that are known today. They are read only at intake; a stored plan never reads them again."""

    @property
    def now(self) -> datetime:
        """Aware, India time."""

    @property
    def mapping_date(self) -> date: ...

    @property
    def brokers(self) -> tuple[str, ...]:
        """Codes of the brokers that a caller may pin, in the order in which a sentence lists them."""

    @property
    def freeze_table(self) -> Mapping[str, int]:
        """Underlying -> the operator's freeze quantity in units (order-engine 4.4)."""

    @property
    def settings(self) -> EngineSettings:
        """The switches and times that the types use (order-engine 5.8)."""

    def instrument(self, instrument_id: str) -> Instrument | None: ...

    def sessions(self, instrument: Instrument, day: date) -> tuple[Session, ...]:
        """Return the sessions of an instrument's calendar on a day, without the pre-open; empty when it does not trade that day."""

    def pre_open(self, instrument: Instrument, day: date) -> Session | None: ...


Expand: TypeAlias = Callable[[Fields, Defaults, World, str], Part]
"""Expands the settings of a type, given its place fields and the path of its root part. Raises Refusal."""


@attrs.frozen
class Preset:
    """A type that a `preset` part may name."""

    expand: Expand
    settings: frozenset[str] = frozenset()
    """The names of its settings. A setting takes precedence over the place field of the same name (`trigger_price`)."""


@attrs.frozen(kw_only=True)
class Surroundings:
    """Where a part is in its plan, and what it is read against."""

    defaults: Defaults
    world: World
    presets: Mapping[str, Preset]
    hold_limits: bool = False
    hangs: bool = False
    """Whether the part hangs on another part: below an `each_fill`, or in a `then`."""

    def below_link(self) -> "Surroundings":
        return attrs.evolve(self, defaults=attrs.evolve(self.defaults, linked=True, validity=Validity.DAY), hangs=True)

    def following(self) -> "Surroundings":
        """Return the surroundings of the `then` of a sequence."""
        return attrs.evolve(self, hangs=True)


@attrs.frozen(kw_only=True)
class Traded:
    """The instrument and side that an order part trades. Its prices and sizes are judged by them, and fall back to the defaults here."""

    instrument: Instrument
    side: Side
    around: Surroundings
    """The defaults here include the part's own place fields."""

    @property
    def defaults(self) -> Defaults:
        return self.around.defaults

    @property
    def tick(self) -> Decimal | None:
        """Rupees; None = the brokers agree on no tick."""
        return tick_of(self.instrument)

    def body_price(self, fields: Fields, name: str = "price") -> Decimal | None:
        """Return the body's price or trigger_price; None when the body has none. Refusal 400 when it is not in whole ticks of the
        instrument that this part trades, which may differ from the body's instrument."""
        value: Decimal | None = getattr(self.defaults, name)
        return None if value is None else fields.judge(lambda _, shown: in_ticks(value, shown, self.tick), value, name)


def tick_of(instrument: Instrument) -> Decimal | None:
    return Decimal(repr(instrument.tick_size)) if instrument.tick_size else None


def named_instrument(fields: Fields, field: str, world: World) -> Instrument:
    """Return the instrument that a field names. Refusal 400 when the field is no UUID, 404 when the instrument is not mapped today."""
    return mapped(fields, fields.required(field, uuid), world)


def mapped(fields: Fields, instrument_id: str, world: World) -> Instrument:
    """Return the instrument with this id; Refusal 404 when it is not mapped today (order-engine 3.4)."""
    instrument = world.instrument(instrument_id)
    if instrument is None:
        raise fields.refusal(instrument_texts.not_mapped(instrument_id, world.mapping_date), 404)
    return instrument
