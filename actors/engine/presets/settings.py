"""The settings of an order type, each declared once: name, rule and default (order-engine 3.0). Pure; raises Refusal 400, 404, 409.

    @attrs.frozen(kw_only=True)
    class Settings:
        slices: int = setting(whole_from(2, MOST_SLICES))
        cap_price: Decimal | None = setting(PRICE, default=None)

A setting without a default is required. `read_settings` reads the settings of an order in the order in which the class declares them, so this
is also the order of the refusals. `declared` gives the declarations themselves, for a description of the type.
"""

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeAlias, TypeVar, overload

import attrs

from onebroker.actors.engine.plan.reading.json_fields import Fields
from onebroker.actors.engine.plan.reading.value_rules import (
    Accepts,
    DescribedRule,
    Rule,
    price,
    time_of_day,
    time_to_come,
)
from onebroker.actors.engine.presets.body import Body

S = TypeVar("S")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
D = TypeVar("D")

_KEY = "setting"
"""The place of a declaration in the metadata of its field."""


@attrs.frozen(kw_only=True)
class Reading:
    """The settings of one order while they are read. `reading["slices"]` is the value of a setting that has already been read."""

    fields: Fields
    body: Body
    known: dict[str, Any] = attrs.field(factory=dict)

    def __getitem__(self, name: str) -> Any:
        return self.known[name]


Check: TypeAlias = Callable[[Reading], None]


@attrs.frozen
class RuleOfOrder(Generic[T_co]):
    """A rule that depends on the order or on the settings before it."""

    accepts: Accepts
    """What the rule accepts at most, whatever the order is."""
    make: Callable[[Reading], Rule[T_co]]


@attrs.frozen
class OwnReading(Generic[T_co]):
    """A function that reads a setting by itself, where the setting is more than one value under one rule. It is also called for a setting that
    the caller left out."""

    accepts: Accepts
    required: bool
    read: Callable[[Reading, str], T_co]
    """Takes the setting's name."""


OneRule: TypeAlias = DescribedRule[T] | RuleOfOrder[T]
Source: TypeAlias = OneRule[T] | OwnReading[T]


@attrs.frozen(kw_only=True)
class Setting(Generic[T]):
    """The declaration of one setting."""

    source: Source[T]
    required: bool
    default: Any = None
    """None where there is no default, and where `default_of` gives the default."""
    default_of: Callable[[Reading], Any] | None = None
    check: Check | None = None
    after: str = ""
    """The setting after which this setting is read; empty = the setting declared before it."""

    @property
    def accepts(self) -> Accepts:
        return self.source.accepts

    def read(self, reading: Reading, name: str) -> Any:
        """Return the value. Raises Refusal 400, 404."""
        if isinstance(self.source, OwnReading):
            return self.source.read(reading, name)
        rule = self.source.make(reading) if isinstance(self.source, RuleOfOrder) else self.source
        if self.required:
            return reading.fields.required(name, rule)
        default = self.default if self.default_of is None else self.default_of(reading)
        return reading.fields.optional(name, rule, default)


@overload
def setting(source: Source[T], *, check: Check | None = None, after: str = "") -> T: ...
@overload
def setting(source: OneRule[T], *, default: D, check: Check | None = None, after: str = "") -> T | D: ...
@overload
def setting(
    source: OneRule[T], *, default_of: Callable[[Reading], D], check: Check | None = None, after: str = ""
) -> T | D: ...
def setting(
    source: Source[Any],
    *,
    default: Any = attrs.NOTHING,
    default_of: Callable[[Reading], Any] | None = None,
    check: Check | None = None,
    after: str = "",
) -> Any:
    """Declare a setting as a field of an attrs class. It is required unless it has a default; an `OwnReading` tells by itself whether it is.

    `default_of` works the default out from the order. `check` judges the settings read so far, before the next setting is read; a check that can
    wait for all settings belongs in `Preset.check`. `after` names a setting declared later, where this setting is read after that setting.
    """
    left_out = default is not attrs.NOTHING or default_of is not None
    declaration: Setting[Any] = Setting(
        source=source,
        required=source.required if isinstance(source, OwnReading) else not left_out,
        default=None if default is attrs.NOTHING else default,
        default_of=default_of,
        check=check,
        after=after,
    )
    return attrs.field(metadata={_KEY: declaration})


def declared(kind: type[Any]) -> Mapping[str, Setting[Any]]:
    """Return name -> declaration, as the class declares them. Raises KeyError for a field that is no setting."""
    return {field.name: field.metadata[_KEY] for field in attrs.fields(kind)}


def _in_reading_order(settings: Mapping[str, Setting[Any]]) -> list[str]:
    names = [name for name, one in settings.items() if not one.after]
    for name, one in settings.items():
        if one.after:
            names.insert(names.index(one.after) + 1, name)
    return names


def read_settings(kind: type[S], fields: Fields, body: Body) -> S:
    """Read the settings of an order. Raises Refusal with the first refusal, in the order of reading."""
    reading, settings = Reading(fields=fields, body=body), declared(kind)
    for name in _in_reading_order(settings):
        one = settings[name]
        reading.known[name] = one.read(reading, name)
        if one.check is not None:
            one.check(reading)
    return kind(**reading.known)


def own_reading(accepts: Accepts, *, required: bool) -> Callable[[Callable[[Reading, str], T]], OwnReading[T]]:
    """Return a decorator that makes an `OwnReading` of a function."""
    return lambda read: OwnReading(accepts, required, read)


# --- rules that several types use ------------------------------------------------------------------------------------------


PRICE = RuleOfOrder(price(None).accepts, lambda reading: price(reading.body.tick))
"""Rupees, in whole ticks of the order's instrument."""
TIME_TO_COME = RuleOfOrder(time_of_day.accepts, lambda reading: time_to_come(reading.body.now.time()))
"""A time of day that has not passed yet."""
