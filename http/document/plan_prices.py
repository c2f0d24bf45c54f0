"""`price` and `execution` of a part in a plan's body, by kind (order-engine 1.4, 1.5). `actors/engine/plan/reading/` reads them."""

from typing import Annotated

import msgspec

from onebroker.actors.engine.plan.price_kinds import Anchor, ExitOrder, FillBasis, Touch, WatchField
from onebroker.config.schema_marks import schema_of
from onebroker.http.document.plan_values import (
    AboveZero,
    InstrumentId,
    MinuteOfDay,
    NotNegative,
    Percent,
    Randomise,
    Rupees,
    Slices,
    Ticks,
    Units,
)


class _Kind(msgspec.Struct, kw_only=True, tag_field="kind", forbid_unknown_fields=True):
    pass


class FixedPrice(_Kind, tag="fixed", kw_only=True):
    """A limit that never moves."""

    price: Rupees | None = None
    """Left out: the body's price."""


class MarketablePrice(_Kind, tag="marketable", kw_only=True):
    """A limit past the best price of the other side at the moment of sending."""

    buffer_ticks: Ticks | None = 2
    reaches_size: bool | None = False
    """Measure from the deepest visible level that the quantity needs."""
    maximum_cost_bps: AboveZero | None = None
    """Refuse when crossing the spread costs more, in hundredths of a percent."""
    fill_within_seconds: AboveZero | None = None
    """Cancel the unfilled rest after this time."""
    follow: bool | None = False
    """Move the unfilled rest to the fresh price every few seconds."""


class NativeStopPrice(_Kind, tag="native_stop", kw_only=True):
    """A real stop at the broker. With no limit at all it is sent as SL-M."""

    trigger_price: Rupees
    limit_price: Rupees | None = None
    limit_offset: AboveZero | None = None
    """Rupees from the trigger to the limit, in place of limit_price."""
    marketable_after_seconds: AboveZero | None = None
    """Send the rest at the market when the stop fired this long ago."""


class AtrDistance(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The distance of a trail by the average true range, once `periods` + 1 bars have closed."""

    bar_minutes: AboveZero | None = 5
    periods: Annotated[int, msgspec.Meta(ge=2, le=49)] | None = 14
    multiple: AboveZero | None = 2


class TrailPrice(_Kind, tag="trail", kw_only=True):
    """A real stop-limit that follows the best last price since its start. It never moves back. Give points or percent."""

    points: AboveZero | None = None
    """Rupees."""
    percent: Annotated[float, msgspec.Meta(gt=0, lt=100)] | None = None
    limit_offset: AboveZero
    """Rupees from the trigger to the limit."""
    step_ticks: Units | None = 1
    """Move only when the trigger moves by this many ticks."""
    activate_at: Rupees | None = None
    """Place the stop only when the last price reaches this price."""
    atr: AtrDistance | None = None
    marketable_after_seconds: AboveZero | None = None


class Milestone(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """From `gain` on, the stop is at entry plus `stop_at_gain`, or it trails by `trail_points`. Give one of the two."""

    gain: AboveZero
    """Rupees in the position's favour; larger than in the rule before."""
    stop_at_gain: float | None = None
    """Rupees in the position's favour; less than `gain`."""
    trail_points: AboveZero | None = None
    """Rupees; only in the last rule."""


class StagesPrice(_Kind, tag="stages", kw_only=True):
    """A stop that milestones move, only in the position's favour."""

    entry_price: Rupees | None = None
    """Left out: the body's price; below `each_fill`: the average price of the fills."""
    stop_price: Rupees
    limit_offset: AboveZero
    """Rupees from the trigger to the limit."""
    rules: Annotated[list[Milestone], msgspec.Meta(min_length=1, max_length=20)]
    step_ticks: Units | None = 1
    marketable_after_seconds: AboveZero | None = None


class PegPrice(_Kind, tag="peg", kw_only=True):
    """A limit that is re-priced to the book."""

    reference: Touch | None = Touch.OWN_TOUCH
    offset_ticks: int | None = 0
    """Away from the market; a negative offset is towards it."""
    cap_price: Rupees | None = None
    """The worst price."""


class ChasePrice(_Kind, tag="chase", kw_only=True):
    """A limit that steps towards the other side until it is filled."""

    step_ticks: Units | None = 1
    step_seconds: AboveZero | None = 5
    cap_price: Rupees | None = None
    """The worst price."""
    cross_after_seconds: AboveZero | None = None
    """Cross the spread after this time."""


class FollowInstrumentPrice(_Kind, tag="follow_instrument", kw_only=True):
    """A limit that follows another instrument."""

    watch_instrument_id: InstrumentId
    delta: float
    """Rupees for one rupee of the watched instrument; negative for a put."""
    base_price: float | None = None
    """Left out: the body's price."""
    anchor: Anchor | None = Anchor.START
    watch_field: WatchField | None = WatchField.LAST_PRICE
    lowest_price: Rupees | None = None
    highest_price: Rupees | None = None
    step_ticks: Units | None = 1


class OptionModelPrice(_Kind, tag="option_model", kw_only=True):
    """An option's limit from a volatility, by Black-76. The body's price is the worst that is accepted."""

    watch_instrument_id: InstrumentId
    volatility: Annotated[float, msgspec.Meta(gt=0, le=500)]
    """Percent a year."""
    interest_rate: float | None = 0
    """Percent a year."""
    lowest_price: Rupees | None = None
    highest_price: Rupees | None = None
    step_ticks: Units | None = 1


class FromParentFillPrice(_Kind, tag="from_parent_fill", kw_only=True):
    """A price measured from the average of all fills of the part above. Give distance or percent; zero means break even."""

    distance: NotNegative | None = None
    """Rupees."""
    percent: NotNegative | None = None
    order: ExitOrder
    limit_offset: AboveZero | None = None
    """Of a stop: rupees from the trigger to the limit."""
    marketable_after_seconds: AboveZero | None = None
    """Of a stop."""


class FromFillPrice(_Kind, tag="from_fill", kw_only=True):
    """A price measured from each fill of the part above. Give distance or percent; zero means break even."""

    distance: NotNegative | None = None
    """Rupees."""
    percent: NotNegative | None = None
    order: ExitOrder
    limit_offset: AboveZero | None = None
    """Of a stop: rupees from the trigger to the limit."""
    basis: FillBasis | None = FillBasis.FILL
    marketable_after_seconds: AboveZero | None = None
    """Of a stop."""


class DiscretionPrice(_Kind, tag="discretion", kw_only=True):
    """A limit that takes a slightly worse price when it is offered."""

    price: Rupees
    points: Rupees
    """How much worse, in rupees."""
    quantity: Units | None = None
    """The most units at a worse price; left out: all."""


class CapPrice(_Kind, tag="cap", kw_only=True):
    """A price of another kind, never past `worst_price`. The kinds native_stop, trail and stages take no cap."""

    worst_price: Rupees
    of: Annotated[msgspec.Raw, schema_of("PlanPrice")]


PRICES = (
    FixedPrice, MarketablePrice, NativeStopPrice, TrailPrice, StagesPrice, PegPrice, ChasePrice, FollowInstrumentPrice, OptionModelPrice,
    FromParentFillPrice, FromFillPrice, DiscretionPrice, CapPrice,
)  # fmt: skip


class AllAtOnceExecution(_Kind, tag="all_at_once", kw_only=True):
    """One order."""


class IcebergExecution(_Kind, tag="iceberg", kw_only=True):
    """One slice after the other."""

    slice_quantity: Units
    randomise_percent: Randomise | None = 0


class TwapExecution(_Kind, tag="twap", kw_only=True):
    """Equal slices at even intervals."""

    slices: Slices
    over_minutes: AboveZero


class VwapExecution(_Kind, tag="vwap", kw_only=True):
    """Slices by weights, at even intervals."""

    slices: Slices
    over_minutes: AboveZero
    volume_profile: list[NotNegative]
    """One weight for each slice, not all zero."""


class FrontLoadedExecution(_Kind, tag="front_loaded", kw_only=True):
    """Shrinking slices."""

    slices: Slices
    over_minutes: AboveZero
    urgency: Annotated[float, msgspec.Meta(ge=0, le=1)] | None = 0.5


class ParticipationExecution(_Kind, tag="participation", kw_only=True):
    """Pieces by the market's volume."""

    percent: Percent
    most_slices: Units | None = 60


class BookDepthExecution(_Kind, tag="book_depth", kw_only=True):
    """Sends only when enough is offered."""

    limit_price: Rupees
    minimum_quantity: Units


class TopUpExecution(_Kind, tag="top_up", kw_only=True):
    """Pieces at a steady beat."""

    piece_quantity: Units
    every_seconds: Annotated[float, msgspec.Meta(ge=1, le=3600)] | None = 60
    randomise_percent: Randomise | None = 0
    wait_for_fill: bool | None = True
    catch_up: bool | None = False


class DailyExecution(_Kind, tag="daily", kw_only=True):
    """A new order each trading morning."""

    arm_at: MinuteOfDay | None = "09:20"
    valid_days: Annotated[int, msgspec.Meta(ge=1, le=365)] | None = 30


class LadderExecution(_Kind, tag="ladder", kw_only=True):
    """Evenly spaced limits between two prices."""

    from_price: Rupees
    to_price: Rupees
    steps: Annotated[int, msgspec.Meta(ge=2, le=20)]
    one_at_a_time: bool | None = False
    restore: bool | None = False


class FreezeLimitExecution(_Kind, tag="freeze_limit", kw_only=True):
    """As many orders as the freeze quantity makes necessary, at most 20."""


EXECUTIONS = (
    AllAtOnceExecution, IcebergExecution, TwapExecution, VwapExecution, FrontLoadedExecution, ParticipationExecution, BookDepthExecution,
    TopUpExecution, DailyExecution, LadderExecution, FreezeLimitExecution,
)  # fmt: skip
