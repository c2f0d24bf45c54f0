"""What a type is: its settings, the plan it makes of them, and how its body, first answer and references are treated
(order-engine 3.0, 3.56).

A type's module in `types/` has three things: `Settings`, a frozen class whose field names are the settings in the order in which
they are checked; `read`, which checks them; `tree`, which makes the plan of them. `Preset` binds them.
"""

from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum, auto
from typing import Any, Generic, TypeVar

import attrs

from onebroker.actors.catalogue.interface import Instrument
from onebroker.actors.engine.plan.held import Positions
from onebroker.actors.engine.plan.market import Market
from onebroker.actors.engine.plan.parts import Part
from onebroker.actors.engine.plan.reading.fields import Fields
from onebroker.actors.engine.plan.reading.surroundings import Defaults, World, tick_of
from onebroker.config.calendars import Session
from onebroker.config.instruments import bare_segment
from onebroker.config.messages import orders as order_texts
from onebroker.config.messages import plan as texts
from onebroker.config.messages import presets as preset_texts
from onebroker.config.refusal import Refusal
from onebroker.config.vocabulary import OrderType, Side

S = TypeVar("S")

MARKET_OR_LIMIT = (OrderType.MARKET, OrderType.LIMIT)
LIMIT_ONLY = (OrderType.LIMIT,)


class Refs(Enum):
    """When an order's references are worked out (rules 2.6; order-engine 3.0, reference classes)."""

    NEVER = auto()
    """Real numbers are asked for (N19)."""
    INTAKE = auto()
    """Just before the plan is made; for types that wait for a price: when armed, which is the same moment."""
    EACH = auto()
    """Anew for every order that is sent."""
    SCHEDULED = auto()
    """When its time has come."""


class Holding(Enum):
    """What `hold_limits` is when the caller gives none (rules 2.7)."""

    BY_SWITCH = auto()
    """True while the global switch is on ("hold T")."""
    OFF = auto()
    ALWAYS = auto()
    """Never anything else (virtual_limit)."""


@attrs.frozen(kw_only=True)
class Body:
    """The order that settings stand beside, checked; prices in rupees, quantities in units."""

    defaults: Defaults
    world: World
    path: str = ""
    """Where the type stands in a plan; empty for an order's own."""
    priced_later: bool = False
    """A price reference gives the price: it is None so far, and what is judged by it is judged when it is known."""
    sided_later: bool = False
    """A quantity reference that closes gives the side, as well as the quantity: what is judged by them is judged then."""

    @property
    def instrument(self) -> Instrument:
        """Raises Refusal 400 when nobody names one (a preset part of a plan without a body's)."""
        if self.defaults.instrument is None:
            raise self.refusal(texts.is_required("instrument_id"))
        return self.defaults.instrument

    @property
    def segment(self) -> str:
        """The bare segment."""
        return bare_segment(self.instrument.identity.segment)

    @property
    def tick(self) -> Decimal | None:
        """Rupees; None = the brokers agree on none."""
        return tick_of(self.instrument)

    @property
    def lot(self) -> int:
        return self.instrument.lot_size or 1

    @property
    def side(self) -> Side:
        if self.defaults.transaction_type is None:
            raise self.refusal(order_texts.must_be_one_of("transaction_type", tuple(Side)))
        return Side(self.defaults.transaction_type)

    @property
    def order_type(self) -> OrderType:
        if self.defaults.order_type is None:
            raise self.refusal(order_texts.must_be_one_of("order_type", tuple(OrderType)))
        return OrderType(self.defaults.order_type)

    @property
    def limit(self) -> Decimal | None:
        """The body's price, when it has one; a MARKET body has none."""
        return self.defaults.price

    @property
    def quantity(self) -> int | None:
        """None: left out, or what fills (below a link)."""
        return None if self.defaults.linked else self.defaults.quantity

    @property
    def now(self) -> datetime:
        return self.world.now

    def sessions(self, day: date | None = None) -> tuple[Session, ...]:
        """The instrument's sessions of a day, today's by default; empty on a holiday."""
        return self.world.sessions(self.instrument, day or self.now.date())

    def refusal(self, sentence: str, status: int = 400) -> Refusal:
        return Refusal(status, texts.at(self.path, sentence))


@attrs.frozen(kw_only=True)
class Preset(Generic[S]):
    """One type."""

    name: str
    title: str
    """What it does, in one sentence without its name."""
    settings: type[S]
    read: Callable[[Fields, Body], S]
    """Check the settings, in their order, then against each other and the body. Raises Refusal 400, 404."""
    tree: Callable[[S, Body, str], Part]
    """Make the plan, whose root stands at the path given. The body is complete. Raises Refusal 400."""
    order_types: tuple[OrderType, ...] = tuple(OrderType)
    """Of the body (table 3.56)."""
    split: bool = False
    """It sends in pieces, so that a stop is refused as what cannot be split (rules 2.7)."""
    engine_priced: bool = False
    """The body's prices are not used and may be left out whatever the order_type ("*" in 3.56)."""
    sized: bool = True
    """False for types that size themselves from the position: the quantity may be left out."""
    per_part: bool = False
    """The order fields may be left out of the body where every candidate or part gives its own."""
    hold: Holding = Holding.OFF
    references: Refs = Refs.INTAKE
    takes_price_reference: bool = True
    """False where the price is none of the body's (a price_reference is then N14)."""
    takes_quantity_reference: bool = True
    immediate: bool = False
    """Whether validity IOC may be asked for (N22)."""
    discloses: bool = False
    """Whether disclosed_quantity is passed on (types as which plain orders run, N21)."""
    legs: bool = False
    """Whether the first answer lists its orders in `legs` whatever their number (rules 2.4.2)."""
    sees_market: bool = False
    """It must see the market: before the session it waits, after it 409 (order-engine 3.0, outside hours)."""
    any_day: bool = False
    """It outlives its day, so a closed market refuses nothing (gtt, daily_stop, opening_auction)."""
    name_of_part: Callable[[str], str] = lambda _: ""
    """How a sentence names the part at a place below the root (`children.0`) that the caller gave: `candidates.0`; empty = not."""
    refused_in_words: frozenset[str] = frozenset()
    """Fields that are no settings, but for which `read` has a sentence of its own."""
    is_shaped: Callable[[S], bool] = lambda _: True
    """Whether the settings say what `shape` would complete."""
    shape: Callable[[S, Body, Any], S] | None = None
    """Complete the settings by the stored volumes of the past (`presets.volumes.Volume`, oldest first), at intake."""
    settle: Callable[[S, Body, Positions], S] | None = None
    """Complete the settings by the positions there are, at intake. Raises Refusal 409, 503."""
    check_market: Callable[[S, Body, Market], None] | None = None
    """What only the market, the positions or the account tell, at intake, before anything is written. Raises Refusal 400, 409, 503."""

    @property
    def setting_names(self) -> frozenset[str]:
        return frozenset(field.name for field in attrs.fields(self.settings))  # type: ignore[arg-type]  # S is always one of attrs

    def expand(self, fields: Fields, defaults: Defaults, world: World, path: str) -> Part:
        """Make a preset part of a plan: `plan.reading.surroundings.Preset`."""
        body = Body(defaults=defaults, world=world, path=fields.path)
        self.check_body(body)
        return self.tree(self.settings_of(fields, body), body, path)

    def settings_of(self, fields: Fields, body: Body) -> S:
        """Read the settings, refusing what the type does not have (N14, N15)."""
        fields.only(*self.setting_names, *self.refused_in_words)
        return self.read(fields, body)

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
