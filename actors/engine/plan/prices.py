"""The pricing kinds of the plan grammar as values (order-engine 1.4); what they come to is worked out in `pricing/`.

Prices in rupees, distances in rupees unless named percent or ticks, times in seconds.
"""

from decimal import Decimal
from enum import StrEnum
from typing import TypeAlias

import attrs

from onebroker.actors.engine.orders.references import PriceReference


class Crossing(StrEnum):
    """What becomes of a limit that would trade at once."""

    REFUSE = "refuse"
    REST = "rest"
    """It goes one tick short of the other side."""


@attrs.frozen
class Fixed:
    """Never moves; the only kind that can be held."""

    price: Decimal
    on_crossing: Crossing | None = None
    """Judged once, before its first order is sent (post_only); None = sent as it is."""


@attrs.frozen
class Referenced:
    """A limit worked out from a price reference at the moment each order is sent, or its holding begins; it never moves then.

    Only types make it (rules 2.6, resolved at each later order, or when its time has come).
    """

    reference: PriceReference


@attrs.frozen(kw_only=True)
class Marketable:
    """A limit `buffer_ticks` past the opposite touch at the moment of sending."""

    buffer_ticks: int = 2
    reaches_size: bool = False
    """The touch is the deepest visible level that the quantity needs."""
    maximum_cost_bps: Decimal | None = None
    fill_within_seconds: Decimal | None = None
    follow: bool = False
    """An unfilled rest is moved to the fresh touch every few seconds (`follow_seconds`)."""


@attrs.frozen(kw_only=True)
class NativeStop:
    """A real stop order; neither limit: sent as SL-M."""

    trigger_price: Decimal
    limit_price: Decimal | None = None
    limit_offset: Decimal | None = None
    marketable_after_seconds: Decimal | None = None
    limit_reference: PriceReference | None = None
    """In the place of a limit: worked out when the stop is sent."""


@attrs.frozen(kw_only=True)
class Atr:
    """The trail's distance is `multiple` times Wilder's average true range once `periods` + 1 bars have closed."""

    bar_minutes: Decimal = Decimal(5)
    periods: int = 14
    multiple: Decimal = Decimal(2)


@attrs.frozen(kw_only=True)
class Trail:
    """A real stop-limit that follows the best last price since the start; never moves back."""

    points: Decimal | None = None
    percent: Decimal | None = None
    limit_offset: Decimal
    step_ticks: int = 1
    activate_at: Decimal | None = None
    atr: Atr | None = None
    marketable_after_seconds: Decimal | None = None


@attrs.frozen(kw_only=True)
class Milestone:
    """From `gain` on: the stop at entry plus `stop_at_gain` (in the position's favour), or trailing by `trail_points`."""

    gain: Decimal
    stop_at_gain: Decimal | None = None
    trail_points: Decimal | None = None


@attrs.frozen(kw_only=True)
class Stages:
    """A stop moved by milestones, only in the position's favour."""

    entry_price: Decimal | None
    """None = the average of the fills it hangs on."""
    stop_price: Decimal
    limit_offset: Decimal
    rules: tuple[Milestone, ...]
    step_ticks: int = 1
    marketable_after_seconds: Decimal | None = None


class Touch(StrEnum):
    OWN_TOUCH = "own_touch"
    MID = "mid"
    OPPOSITE_TOUCH = "opposite_touch"


@attrs.frozen(kw_only=True)
class Peg:
    """Re-priced to the book; `offset_ticks` away from the market, negative towards it."""

    reference: Touch = Touch.OWN_TOUCH
    offset_ticks: int = 0
    cap_price: Decimal | None = None
    requote_ticks: int = 1
    """Moved when the wanted price is at least so many ticks away (two_sided_quote)."""
    passive: bool = False
    """Never at the opposite touch or past it (two_sided_quote)."""
    skew_ticks: int = 0
    """It stands so many ticks lower for each `skew_quantity` units that its group is long, higher when it is short."""
    skew_quantity: int = 1
    centre: PriceReference | None = None
    """In the place of the touch: worked out anew at every look (two_sided_quote)."""


@attrs.frozen(kw_only=True)
class Chase:
    """Steps towards the other side until filled."""

    start_price: Decimal | None
    """None = own touch."""
    step_ticks: int = 1
    step_seconds: Decimal = Decimal(5)
    cap_price: Decimal | None = None
    cross_after_seconds: Decimal | None = None


class Anchor(StrEnum):
    START = "start"
    ZERO = "zero"


class WatchField(StrEnum):
    LAST_PRICE = "last_price"
    BID = "bid"
    OFFER = "offer"


@attrs.frozen(kw_only=True)
class FollowInstrument:
    """base + delta x (watched now - watched at the start); anchor `zero`: base + delta x watched now."""

    watch_instrument_id: str
    delta: Decimal
    base_price: Decimal
    anchor: Anchor = Anchor.START
    watch_field: WatchField = WatchField.LAST_PRICE
    lowest_price: Decimal | None = None
    highest_price: Decimal | None = None
    step_ticks: int = 1


@attrs.frozen(kw_only=True)
class OptionModel:
    """Black-76 premium from a volatility; never worse than `worst_price`."""

    watch_instrument_id: str
    volatility: Decimal
    """Percent a year."""
    interest_rate: Decimal = Decimal(0)
    """Percent a year."""
    lowest_price: Decimal | None = None
    highest_price: Decimal | None = None
    step_ticks: int = 1
    worst_price: Decimal | None = None


class ExitOrder(StrEnum):
    LIMIT = "limit"
    """On the profit side."""
    STOP = "stop"
    """On the losing side."""


@attrs.frozen(kw_only=True)
class FromParentFill:
    """Measured from the average fill price of the part it hangs on; moves with that average."""

    distance: Decimal | None = None
    percent: Decimal | None = None
    order: ExitOrder
    limit_offset: Decimal | None = None
    marketable_after_seconds: Decimal | None = None


class FillBasis(StrEnum):
    FILL = "fill"
    LIMIT = "limit"
    """The filled leg's own limit price."""


@attrs.frozen(kw_only=True)
class FromFillPrice:
    """Measured from the one fill that made the instance; never moves."""

    distance: Decimal | None = None
    percent: Decimal | None = None
    order: ExitOrder
    limit_offset: Decimal | None = None
    basis: FillBasis = FillBasis.FILL
    marketable_after_seconds: Decimal | None = None


@attrs.frozen(kw_only=True)
class Discretion:
    """Rests at `price`; takes up to `points` worse when that is offered."""

    price: Decimal
    points: Decimal
    quantity: int | None = None
    """Units; None = all."""


@attrs.frozen(kw_only=True)
class Cap:
    """The inner rule, never past `worst_price`."""

    worst_price: Decimal
    of: "Price"


Stop: TypeAlias = NativeStop | Trail | Stages
Price: TypeAlias = (
    Fixed
    | Referenced
    | Marketable
    | NativeStop
    | Trail
    | Stages
    | Peg
    | Chase
    | FollowInstrument
    | OptionModel
    | FromParentFill
    | FromFillPrice
    | Discretion
    | Cap
)


def uncapped(price: Price) -> Price:
    """The rule itself, without the caps around it."""
    return uncapped(price.of) if isinstance(price, Cap) else price


def followed_rest(price: Price) -> Price:
    """The rule with an unfilled rest at the market moved to the fresh touch; any other kind as it is."""
    match price:
        case Cap():
            return attrs.evolve(price, of=followed_rest(price.of))
        case Marketable():
            return attrs.evolve(price, follow=True)
    return price


RESTING = (Fixed, Referenced)
"""Plain limits: they stay where they were sent, and can be held in the engine."""


def is_stop(price: Price) -> bool:
    """Whether the kind rests at the broker as a stop."""
    match price:
        case NativeStop() | Trail() | Stages():
            return True
        case FromParentFill() | FromFillPrice():
            return price.order is ExitOrder.STOP
    return False
