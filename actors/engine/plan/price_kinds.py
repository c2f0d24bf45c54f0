"""The pricing kinds of the plan grammar as values (order-engine 1.4); `pricing/` works out their prices.

Prices in rupees, distances in rupees unless named percent or ticks, times in seconds.
"""

from decimal import Decimal
from enum import StrEnum
from typing import TypeAlias

import attrs

from onebroker.actors.engine.orders.reference_values import PriceReference


class Crossing(StrEnum):
    """What happens to a limit that would trade at once."""

    REFUSE = "refuse"
    REST = "rest"
    """The limit moves to one tick short of the other side."""


@attrs.frozen
class Fixed:
    """A limit that never moves; with `Referenced`, the only kinds that can be held."""

    price: Decimal
    on_crossing: Crossing | None = None
    """Judged once, before the first order of the part is sent (post_only); None = the limit is sent unchanged."""


@attrs.frozen
class Referenced:
    """A limit worked out from a price reference when each order is sent, or when its holding begins. After that it never moves.

    Only types make this kind, never a caller (rules 2.6, resolved at each later order, or when its time has come).
    """

    reference: PriceReference


@attrs.frozen(kw_only=True)
class Marketable:
    """A limit `buffer_ticks` past the opposite touch at the moment of sending."""

    buffer_ticks: int = 2
    reaches_size: bool = False
    """The touch is then the deepest visible level that the quantity needs."""
    maximum_cost_bps: Decimal | None = None
    fill_within_seconds: Decimal | None = None
    follow: bool = False
    """An unfilled rest is moved to the fresh touch every few seconds (`follow_seconds`)."""


@attrs.frozen(kw_only=True)
class NativeStop:
    """A real stop order. With no limit at all it is sent as SL-M."""

    trigger_price: Decimal
    limit_price: Decimal | None = None
    limit_offset: Decimal | None = None
    marketable_after_seconds: Decimal | None = None
    limit_reference: PriceReference | None = None
    """Used instead of a limit: worked out when the stop is sent."""


@attrs.frozen(kw_only=True)
class Atr:
    """The trail's distance is `multiple` times Wilder's average true range once `periods` + 1 bars have closed."""

    bar_minutes: Decimal = Decimal(5)
    periods: int = 14
    multiple: Decimal = Decimal(2)


@attrs.frozen(kw_only=True)
class Trail:
    """A real stop-limit that follows the best last price since the start. It never moves back."""

    points: Decimal | None = None
    percent: Decimal | None = None
    limit_offset: Decimal
    step_ticks: int = 1
    activate_at: Decimal | None = None
    atr: Atr | None = None
    marketable_after_seconds: Decimal | None = None


@attrs.frozen(kw_only=True)
class Milestone:
    """From `gain` on, the stop is at entry plus `stop_at_gain` (in the position's favour), or it trails by `trail_points`."""

    gain: Decimal
    stop_at_gain: Decimal | None = None
    trail_points: Decimal | None = None


@attrs.frozen(kw_only=True)
class Stages:
    """A stop that milestones move, only in the position's favour."""

    entry_price: Decimal | None
    """None = the average price of the fills that the stop hangs on."""
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
    """A limit that is re-priced to the book: `offset_ticks` away from the market; a negative offset is towards the market."""

    reference: Touch = Touch.OWN_TOUCH
    offset_ticks: int = 0
    cap_price: Decimal | None = None
    requote_ticks: int = 1
    """The order moves when the wanted price is at least this many ticks away (two_sided_quote)."""
    passive: bool = False
    """The limit is never at the opposite touch or past it (two_sided_quote)."""
    skew_ticks: int = 0
    """The limit is this many ticks lower for each `skew_quantity` units that its group is long, and higher when the group is short."""
    skew_quantity: int = 1
    centre: PriceReference | None = None
    """Used instead of the touch: worked out again at every look (two_sided_quote)."""


@attrs.frozen(kw_only=True)
class Chase:
    """A limit that steps towards the other side until it is filled."""

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
    """A price measured from the average fill price of the part it hangs on. It moves with that average."""

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
    """A price measured from the one fill that made the instance. It never moves."""

    distance: Decimal | None = None
    percent: Decimal | None = None
    order: ExitOrder
    limit_offset: Decimal | None = None
    basis: FillBasis = FillBasis.FILL
    marketable_after_seconds: Decimal | None = None


@attrs.frozen(kw_only=True)
class Discretion:
    """A limit that rests at `price` and accepts a price up to `points` worse when the market offers it."""

    price: Decimal
    points: Decimal
    quantity: int | None = None
    """Units; None = all."""


@attrs.frozen(kw_only=True)
class Cap:
    """The price of the inner rule, but never past `worst_price`."""

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
    """Return a marketable rule with `follow` set, so that its unfilled rest moves to the fresh touch; any other kind unchanged."""
    match price:
        case Cap():
            return attrs.evolve(price, of=followed_rest(price.of))
        case Marketable():
            return attrs.evolve(price, follow=True)
    return price


RESTING = (Fixed, Referenced)
"""Plain limits: they stay at the price they were sent at, and the engine can hold them."""
SWAPPED = (*RESTING, FromParentFill, FromFillPrice)
"""Limits of targets that are kept in the engine while their stop rests (order-engine 1.12), also where the entry's fill gives the price."""


def is_stop(price: Price) -> bool:
    """Whether an order of this kind rests at the broker as a stop."""
    match price:
        case NativeStop() | Trail() | Stages():
            return True
        case FromParentFill() | FromFillPrice():
            return price.order is ExitOrder.STOP
    return False
