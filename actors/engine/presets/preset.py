"""Defines a type: its settings, the plan built from them, and how its body, first answer and references are treated (order-engine 3.0, 3.56).

A type's module in `types/` has three things. `Settings` is a frozen class; its fields are the settings, each declared with its rule, in the order
in which they are checked. `check`, where a type needs it, judges settings against each other and the body. `tree` builds the plan from them. `Preset`
binds the three.
"""

from collections.abc import Callable
from datetime import time
from enum import Enum, auto
from typing import Any, Generic, TypeVar

import attrs

from onebroker.actors.engine.plan.market import Market
from onebroker.actors.engine.plan.net_positions import Positions
from onebroker.actors.engine.plan.parts import Part
from onebroker.actors.engine.plan.reading.json_fields import Fields
from onebroker.actors.engine.plan.reading.reading_context import Defaults, World
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.settings import read_settings
from onebroker.config.messages import plan as texts
from onebroker.config.messages import presets as preset_texts
from onebroker.config.vocabulary import OrderType

S = TypeVar("S")

MARKET_OR_LIMIT = (OrderType.MARKET, OrderType.LIMIT)
LIMIT_ONLY = (OrderType.LIMIT,)


class Refs(Enum):
    """When an order's references are worked out (rules 2.6; order-engine 3.0, reference classes)."""

    NEVER = auto()
    """The type needs real numbers (N19)."""
    INTAKE = auto()
    """Just before the plan is built; for types that wait for a price: when armed, which is the same moment."""
    EACH = auto()
    """Again for every order that is sent."""
    SCHEDULED = auto()
    """When the order's time has come."""


class Holding(Enum):
    """The value of `hold_limits` when the caller gives none (rules 2.7)."""

    BY_SWITCH = auto()
    """True while the global switch is on ("hold T")."""
    OFF = auto()
    ALWAYS = auto()
    """No other value is possible (virtual_limit)."""


@attrs.frozen(kw_only=True)
class Preset(Generic[S]):
    """One order type."""

    name: str
    title: str
    """What the type does, in one sentence without its name."""
    settings: type[S]
    """A class of attrs with a field for each setting (`presets.settings`)."""
    tree: Callable[[S, Body, str], Part]
    """Build the plan, with its root at the given path. The body is complete. Raises Refusal 400."""
    check_first: Callable[[Fields, Body], None] | None = None
    """Check before any setting is read. Raises Refusal 400."""
    check: Callable[[S, Fields, Body], None] | None = None
    """Check the settings against each other and the body, once all of them are read. Raises Refusal 400, 409, 503."""
    complete: Callable[[S], S] | None = None
    """Complete the checked settings from each other."""
    order_types: tuple[OrderType, ...] = tuple(OrderType)
    """The order types that the body may have (table 3.56)."""
    split: bool = False
    """It sends its quantity in pieces; a stop is refused, because a stop cannot be split (rules 2.7)."""
    engine_priced: bool = False
    """The body's prices are not used, and may be left out whatever the order_type ("*" in 3.56)."""
    sized: bool = True
    """False for types that take their size from the position: the quantity may be left out."""
    per_part: bool = False
    """The body may leave out the order fields where every candidate or part gives its own."""
    hold: Holding = Holding.OFF
    references: Refs = Refs.INTAKE
    takes_price_reference: bool = True
    """False where the price does not come from the body (a price_reference is then N14)."""
    takes_quantity_reference: bool = True
    immediate: bool = False
    """Whether validity IOC is allowed (N22)."""
    discloses: bool = False
    """Whether disclosed_quantity is passed on (types that plain orders may run as, N21)."""
    legs: bool = False
    """Whether the first answer lists the type's orders in `legs`, whatever their number (rules 2.4.2)."""
    sees_market: bool = False
    """The type must see the market: before the session it waits, after the session it is refused with 409 (order-engine 3.0, outside hours)."""
    any_day: bool = False
    """It lives longer than its day, so a closed market refuses nothing (gtt, daily_stop, opening_auction)."""
    name_of_part: Callable[[str], str] = lambda _: ""
    """How a sentence names a part that the caller gave, by its place below the root (`children.0`): `candidates.0`; empty = no name."""
    refused_in_words: frozenset[str] = frozenset()
    """Fields that are not settings, but that `check_first` refuses with a sentence of its own."""
    is_shaped: Callable[[S], bool] = lambda _: True
    """Whether the settings already contain what `shape` would complete."""
    shape: Callable[[S, Body, Any], S] | None = None
    """At intake, complete the settings from the stored volumes of the past (`presets.volumes.Volume`, oldest first)."""
    settle: Callable[[S, Body, Positions], S] | None = None
    """At intake, complete the settings from the present positions. Raises Refusal 409, 503."""
    check_market: Callable[[S, Body, Market], None] | None = None
    """At intake, before anything is written, check against the market, the positions or the account. Raises Refusal 400, 409, 503."""

    @property
    def setting_names(self) -> frozenset[str]:
        return frozenset(field.name for field in attrs.fields(self.settings))  # type: ignore[arg-type]  # S is always one of attrs

    def expand(self, fields: Fields, defaults: Defaults, world: World, path: str) -> Part:
        """Build a preset part of a plan: `plan.reading.surroundings.Preset`."""
        body = Body(defaults=defaults, world=world, path=fields.path)
        self.check_body(body)
        return self.tree(self.settings_of(fields, body), body, path)

    def settings_of(self, fields: Fields, body: Body) -> S:
        """Read the settings and refuse settings that the type does not have (N14, N15). Raises Refusal 400, 404, 409, 503."""
        fields.only(*self.setting_names, *self.refused_in_words)
        if self.check_first is not None:
            self.check_first(fields, body)
        settings = read_settings(self.settings, fields, body)
        if self.check is not None:
            self.check(settings, fields, body)
        return settings if self.complete is None else self.complete(settings)

    def check_body(self, body: Body) -> None:
        """N17 and N22."""
        if self.split and body.order_type.takes_trigger:
            raise body.refusal(texts.STOP_NOT_SLICED)
        if not self.per_part and body.order_type not in self.order_types:
            raise body.refusal(preset_texts.needs_order_type(self.name, self.order_types))
        if body.defaults.validity == "IOC" and not self.immediate:
            raise body.refusal(texts.validity_not_with("IOC", self.name))


def shown_settings(settings: Any) -> dict[str, Any]:
    """Return settings as `parameters` shows them: by name, defaults filled in; times as HH:MM:SS."""
    shown: dict[str, Any] = attrs.asdict(settings, value_serializer=_shown)
    return shown


def _shown(_: Any, __: Any, value: Any) -> Any:
    if isinstance(value, time):
        return value.isoformat()
    return value.value if isinstance(value, Enum) else value
