"""The plan grammar as values: parts, quantity forms, conditions, lifetimes (order-engine 1.2, 1.3, 1.6, 1.8).

Prices stand in `prices.py`, executions in `executions.py`. A tree is only made by `reading/` and by presets, which check it;
its paths never change during a parent's life. Prices in rupees, quantities in units.
"""

from collections.abc import Iterator
from datetime import time
from decimal import Decimal
from enum import StrEnum
from typing import TypeAlias

import attrs

from onebroker.actors.engine.orders.references import QuantityReference
from onebroker.actors.engine.plan.executions import Execution
from onebroker.actors.engine.plan.prices import Price
from onebroker.config.money import Rounding

# --- quantities (1.3) --------------------------------------------------------------------------------------------------


@attrs.frozen
class Units:
    """So many units."""

    quantity: int


@attrs.frozen
class Share:
    """A part of the body's quantity; below a link, of what has filled."""

    share: Decimal
    """Above 0, at most 1."""
    of: int | None = None
    """The body's quantity; None below a link: there it is of what has filled."""


@attrs.frozen(kw_only=True)
class FromFill:
    """`ratio` times what the part it hangs on has filled so far; the cumulative target is rounded to lots."""

    ratio: Decimal = Decimal(1)
    rounding: Rounding = "nearest"
    most: int | None = None
    """Units; the most it comes to."""


@attrs.frozen(kw_only=True)
class FromPosition:
    """What closes the net positions as they are when the part becomes due; `ratio` 2 turns them round."""

    product: str | None
    """A position product, such as `intraday`; None = all."""
    instrument_ids: tuple[str, ...]
    """Empty with `every_instrument`."""
    every_instrument: bool = False
    ratio: int = 1
    cancel_resting_first: bool = True
    most: int | None = None
    """Units of the net position used at the most."""


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
    """What brings a net exposure back into its band (section 3, exposure_hedge); signed."""

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
"""Fields that never fall within a day: a direction left to the present value is `above`."""


@attrs.frozen(kw_only=True)
class PriceAt:
    """A field of an instrument's quote reaches a level."""

    instrument_id: str
    field: QuoteField = QuoteField.LAST_PRICE
    level: Decimal
    direction: Direction | None
    """None = taken from the side the field is on when the part is armed."""


@attrs.frozen(kw_only=True)
class BarClosed:
    """A whole bar of last prices closes past a level (strictly)."""

    instrument_id: str
    level: Decimal
    direction: Direction | None
    bar_minutes: Decimal = Decimal(5)


@attrs.frozen
class TimeOfDay:
    """The day has come to this time (India)."""

    at: time
    day: str | None = None
    """YYYY-MM-DD, known beforehand (opening_auction); None = the day on which the part became due."""


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
    """What ends a part; the earliest counts."""

    at_time: time | None = None
    after_minutes: Decimal | None = None
    """From the moment the part became due."""
    after_days: int | None = None
    """Calendar days; the end is the close of that day's session."""
    when: Condition | None = None
    applies_to: AppliesTo = AppliesTo.BOTH
    on_end: OnEnd = OnEnd.CANCEL


# --- parts (1.2) -------------------------------------------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class _Part:
    path: str
    """JSON path within the synthetic object: `root`, `root.each_fill.children.0`."""
    preset: str | None = None
    """The type it was expanded from; until it starts it is shown, and changed, only as a whole."""
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
    """The position that it takes apart: each order is bounded by what is left of it when it is sent (rules 2.6)."""
    disclosed_quantity: int = 0
    """Units shown to the market; 0 = all (plain orders that run as a marketable_limit or virtual_limit)."""
    hold: bool = False
    """Kept in the engine until the market reaches its limit (1.9)."""
    uncovered: str | None = None
    """Of a linked part: what the units are called that have filled without it, once its order was refused (`unhedged`)."""
    release_ticks: int = 0
    """Released so many ticks before that (virtual_limit)."""
    is_exit: bool = False
    """Whether it may use the rooms kept for exits (0, entry and exit)."""
    known_exit: bool = False
    """Whether the engine itself knows that it closes something, not by a caller's flag alone: then the day's loss does not stop it
    (4.7)."""
    compulsory: bool = False
    """A caller may not cancel it while what it hangs on is open (cover)."""
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
    """Units that the net of its fills, with what rests on one side, never passes either way (grid, two_sided_quote)."""
    inseparable: bool = False
    """A child whose order is refused takes the others with it: one of them alone is not what was asked for (two_sided_quote)."""


class Rule(StrEnum):
    CANCEL = "cancel"
    SHRINK = "shrink"
    TRIGGER = "trigger"


@attrs.frozen(kw_only=True)
class OneCancelsOthersPart(_Part):
    children: tuple["Part", ...]
    rule: Rule = Rule.CANCEL
    breakeven_after: int | None = None
    """So many completed targets (children but the first) move the stop, the first child, to the entry's average (scale_out)."""


Part: TypeAlias = OrderPart | SequencePart | TogetherPart | OneCancelsOthersPart


def children_of(part: Part) -> tuple[Part, ...]:
    """Return the parts right below, in tree order; a link last."""
    match part:
        case OrderPart():
            return () if part.each_fill is None else (part.each_fill,)
        case SequencePart():
            return (part.first, part.then)
        case TogetherPart() | OneCancelsOthersPart():
            return part.children


def walk(part: Part) -> Iterator[Part]:
    """Yield the part and all below it, in tree order."""
    yield part
    for child in children_of(part):
        yield from walk(child)


def links_of(part: Part) -> Iterator[tuple[Part, Part]]:
    """Yield what has other parts hanging on its fills, with these: an order and its link, the two of a sequence."""
    for one in walk(part):
        match one:
            case OrderPart(each_fill=link) if link is not None:
                yield one, link
            case SequencePart():
                yield one.first, one.then


def orders_of(part: Part) -> Iterator[OrderPart]:
    """Yield the order parts of a tree, in tree order."""
    return (one for one in walk(part) if isinstance(one, OrderPart))


def own_orders_of(part: Part) -> Iterator[OrderPart]:
    """Yield the order parts of a part itself: without those that hang on another's fills."""
    if isinstance(part, OrderPart):
        yield part
        return
    for child in children_of(part):
        yield from own_orders_of(child)


def first_orders_of(part: Part) -> Iterator[OrderPart]:
    """Yield the order parts that a plan's start can send: without those that hang on another's fills or end."""
    match part:
        case OrderPart():
            yield part
        case SequencePart():
            yield from first_orders_of(part.first)
        case TogetherPart() | OneCancelsOthersPart():
            for child in part.children:
                yield from first_orders_of(child)
