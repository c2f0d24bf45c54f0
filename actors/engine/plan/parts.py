"""The plan grammar as values: parts, quantity forms, conditions, lifetimes (order-engine 1.2, 1.3, 1.6, 1.8).

Prices are in `price_kinds.py`, executions in `execution_kinds.py`. Only `reading/` and presets make a tree, and they check it.
The paths of a tree never change during a parent's life. Prices in rupees, quantities in units.
"""

from collections.abc import Iterator
from datetime import time
from decimal import Decimal
from enum import StrEnum
from typing import TypeAlias

import attrs

from onebroker.actors.engine.orders.reference_values import QuantityReference
from onebroker.actors.engine.plan.execution_kinds import Execution
from onebroker.actors.engine.plan.price_kinds import Price
from onebroker.config.money import Rounding

# --- quantities (1.3) --------------------------------------------------------------------------------------------------


@attrs.frozen
class Units:
    """A fixed number of units."""

    quantity: int


@attrs.frozen
class Share:
    """A share of the body's quantity; below a link, of the filled quantity."""

    share: Decimal
    """Above 0, at most 1."""
    of: int | None = None
    """The body's quantity in units; None below a link, where the share is of the filled quantity."""


@attrs.frozen(kw_only=True)
class FromFill:
    """`ratio` times the units that the part it hangs on has filled so far. The cumulative target is rounded to lots."""

    ratio: Decimal = Decimal(1)
    rounding: Rounding = "nearest"
    most: int | None = None
    """The largest target, in units."""


@attrs.frozen(kw_only=True)
class FromPosition:
    """The units that close the net positions as they are when the part becomes due; `ratio` 2 reverses the positions."""

    product: str | None
    """A position product, such as `intraday`; None = all."""
    instrument_ids: tuple[str, ...]
    """Empty with `every_instrument`."""
    every_instrument: bool = False
    ratio: int = 1
    cancel_resting_first: bool = True
    most: int | None = None
    """The most units of the net position that are used."""


@attrs.frozen
class Weighted:
    instrument_id: str
    weight: Decimal = Decimal(1)


class Measure(StrEnum):
    VALUE = "value"
    """Rupees: net quantity x last price x weight."""
    UNITS = "units"


@attrs.frozen(kw_only=True)
class FromExposure:
    """The signed units that bring a net exposure back into its band (section 3, exposure_hedge)."""

    instruments: tuple[Weighted, ...]
    measure: Measure
    target: Decimal
    band: Decimal
    hedge_weight: Decimal
    most: int | None
    product: str | None


Quantity: TypeAlias = Units | Share | FromFill | FromPosition | FromExposure


# --- conditions (1.6) --------------------------------------------------------------------------------------------------


class Direction(StrEnum):
    ABOVE = "above"
    """At or above."""
    BELOW = "below"
    """At or below."""


class QuoteField(StrEnum):
    LAST_PRICE = "last_price"
    BID = "bid"
    OFFER = "offer"
    MID = "mid"
    AVERAGE_PRICE = "average_price"
    VOLUME = "volume"
    OI = "oi"
    CHANGE_PERCENT = "change_percent"
    BUY_QUANTITY = "buy_quantity"
    SELL_QUANTITY = "sell_quantity"
    LAST_QUANTITY = "last_quantity"


ONLY_RISING = frozenset({QuoteField.VOLUME})
"""Fields that never fall within a day. A direction that the caller leaves out is `above`, whatever the present value."""


@attrs.frozen(kw_only=True)
class PriceAt:
    """A field of an instrument's quote reaches a level."""

    instrument_id: str
    field: QuoteField = QuoteField.LAST_PRICE
    level: Decimal
    direction: Direction | None
    """None = taken when the part is armed, from the side of the level on which the field is then."""


@attrs.frozen(kw_only=True)
class BarClosed:
    """A whole bar of last prices closes strictly past a level."""

    instrument_id: str
    level: Decimal
    direction: Direction | None
    bar_minutes: Decimal = Decimal(5)


@attrs.frozen
class TimeOfDay:
    """This time of day (India) has come."""

    at: time
    day: str | None = None
    """YYYY-MM-DD, where the day is known beforehand (opening_auction); None = the day on which the part became due."""


class AccountField(StrEnum):
    DAY_PNL = "day_pnl"
    REALIZED_PNL = "realized_pnl"
    UNREALIZED_PNL = "unrealized_pnl"
    AVAILABLE_BALANCE = "available_balance"
    TOTAL_BALANCE = "total_balance"
    MARGIN_UTILIZED = "margin_utilized"
    MARGIN_CUSHION_PERCENT = "margin_cushion_percent"


@attrs.frozen(kw_only=True)
class AccountAt:
    """A figure of the funds document reaches a level; rupees, or percent for the cushion."""

    field: AccountField
    level: Decimal
    direction: Direction | None


class Since(StrEnum):
    PLACEMENT = "placement"
    DAY = "day"


@attrs.frozen(kw_only=True)
class JointPnl:
    """The joint profit and loss of several positions passes a limit; rupees (section 3, strategy_stop)."""

    instrument_ids: tuple[str, ...]
    """Empty with `every_instrument`."""
    every_instrument: bool
    product: str | None
    loss: Decimal | None
    profit: Decimal | None
    give_back: Decimal | None
    since: Since


@attrs.frozen
class AllOf:
    conditions: tuple["Condition", ...]


@attrs.frozen
class AnyOf:
    conditions: tuple["Condition", ...]


Condition: TypeAlias = PriceAt | BarClosed | TimeOfDay | AccountAt | JointPnl | AllOf | AnyOf


# --- lifetimes (1.8) ---------------------------------------------------------------------------------------------------


class AppliesTo(StrEnum):
    WAITING = "waiting"
    WORKING = "working"
    BOTH = "both"


class OnEnd(StrEnum):
    CANCEL = "cancel"
    MARKETABLE = "marketable"
    CLOSE_FILLED = "close_filled"


@attrs.frozen(kw_only=True)
class Lifetime:
    """The conditions that end a part; the earliest one counts."""

    at_time: time | None = None
    after_minutes: Decimal | None = None
    """From the moment the part became due."""
    after_days: int | None = None
    """Calendar days; the part ends at the close of that day's session."""
    when: Condition | None = None
    applies_to: AppliesTo = AppliesTo.BOTH
    on_end: OnEnd = OnEnd.CANCEL


# --- parts (1.2) -------------------------------------------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class _Part:
    path: str
    """JSON path within the synthetic object: `root`, `root.each_fill.children.0`."""
    preset: str | None = None
    """The type from which the part was expanded. Until the part starts, it is shown and changed only as a whole."""
    when: Condition | None = None
    lifetime: Lifetime | None = None


@attrs.frozen(kw_only=True)
class OrderPart(_Part):
    """Sends broker orders."""

    instrument_id: str
    transaction_type: str
    product: str
    validity: str
    quantity: Quantity
    price: Price
    execution: Execution
    broker: str | None = None
    """The pinned broker."""
    tag: str | None = None
    closing: QuantityReference | None = None
    """The position that the part closes. Each order is at most what is left of this position when the order is sent (rules 2.6)."""
    disclosed_quantity: int = 0
    """Units shown to the market; 0 = all (plain orders that run as a marketable_limit or virtual_limit)."""
    hold: bool = False
    """Kept in the engine until the market reaches its limit (1.9)."""
    uncovered: str | None = None
    """For a linked part whose order was refused: the word for the units that filled without it (`unhedged`)."""
    release_ticks: int = 0
    """A held order is released this many ticks before the market reaches its limit (virtual_limit)."""
    is_exit: bool = False
    """Whether the part may use the rooms that are kept for exits (0, entry and exit)."""
    known_exit: bool = False
    """Whether the engine itself knows that the part closes something, not only from a caller's flag. Then the day's loss does not
    stop the part (4.7)."""
    exit_by_type: bool = False
    """Whether only the order type's name says that the part is an exit (trailing_stop, atr_trail). It waits and is told as an exit. But the part
    of a daily cap that is kept for exits needs the caller's own `closes_position` (rules 2.7), and a locked day refuses it at intake (4.7)."""
    exit_if_held: bool = False
    """Whether the part is an exit only where it was armed over held units: a single stop or target. Over nothing it is its caller's entry (1.13), and
    its plan then takes all three marks away."""
    compulsory: bool = False
    """A caller may not cancel the part while the part it hangs on is open (cover)."""
    each_fill: "Part | None" = None


class StartThen(StrEnum):
    FILLED = "filled"
    DONE = "done"


@attrs.frozen(kw_only=True)
class SequencePart(_Part):
    first: "Part"
    then: "Part"
    start_then: StartThen = StartThen.FILLED


@attrs.frozen(kw_only=True)
class TogetherPart(_Part):
    children: tuple["Part", ...]
    most_inventory: int | None = None
    """Units. The net of the group's fills plus the resting units of one side never exceeds this bound, long or short (grid,
    two_sided_quote)."""
    inseparable: bool = False
    """A child whose order is refused ends the other children too: the caller did not ask for one of them alone (two_sided_quote)."""


class Rule(StrEnum):
    CANCEL = "cancel"
    SHRINK = "shrink"
    TRIGGER = "trigger"


@attrs.frozen(kw_only=True)
class OneCancelsOthersPart(_Part):
    children: tuple["Part", ...]
    rule: Rule = Rule.CANCEL
    breakeven_after: int | None = None
    """The number of completed targets (all children except the first) after which the stop (the first child) moves to the entry's average
    (scale_out)."""


Part: TypeAlias = OrderPart | SequencePart | TogetherPart | OneCancelsOthersPart


def children_of(part: Part) -> tuple[Part, ...]:
    """Return the parts directly below a part, in tree order; the link is last."""
    match part:
        case OrderPart():
            return () if part.each_fill is None else (part.each_fill,)
        case SequencePart():
            return (part.first, part.then)
        case TogetherPart() | OneCancelsOthersPart():
            return part.children


def walk(part: Part) -> Iterator[Part]:
    """Yield the part and all parts below it, in tree order."""
    yield part
    for child in children_of(part):
        yield from walk(child)


def links_of(part: Part) -> Iterator[tuple[Part, Part]]:
    """Yield each part on whose fills another part hangs, together with that other part: an order and its link, or `first` and `then`
    of a sequence."""
    for inner_part in walk(part):
        match inner_part:
            case OrderPart(each_fill=link) if link is not None:
                yield inner_part, link
            case SequencePart():
                yield inner_part.first, inner_part.then


def orders_of(part: Part) -> Iterator[OrderPart]:
    """Yield the order parts of a tree, in tree order."""
    return (order for order in walk(part) if isinstance(order, OrderPart))


def own_orders_of(part: Part) -> Iterator[OrderPart]:
    """Yield the order parts of a part itself, without the order parts below a link (`each_fill`)."""
    if isinstance(part, OrderPart):
        yield part
        return
    for child in children_of(part):
        yield from own_orders_of(child)


def first_orders_of(part: Part) -> Iterator[OrderPart]:
    """Yield the order parts that a plan can send at its start, without the parts that hang on another part's fills or end."""
    match part:
        case OrderPart():
            yield part
        case SequencePart():
            yield from first_orders_of(part.first)
        case TogetherPart() | OneCancelsOthersPart():
            for child in part.children:
                yield from first_orders_of(child)
