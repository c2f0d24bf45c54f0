"""The parts of a plan's body with their conditions, ends and quantities (order-engine 1.2, 1.3, 1.6, 1.8). `actors/engine/plan/reading/` reads
them."""

from typing import Annotated, Literal

import msgspec

from onebroker.actors.engine.plan.parts import (
    AccountField,
    AppliesTo,
    Direction,
    Measure,
    OnEnd,
    QuoteField,
    Rule,
    Since,
    StartThen,
)
from onebroker.config.schema_marks import one_of, schema_of
from onebroker.config.vocabulary import SENDABLE_PRODUCTS, SENDABLE_VALIDITIES, Side
from onebroker.http.document.plan_values import (
    AboveZero,
    InstrumentId,
    PositionProduct,
    Rupees,
    TimeOfDay,
    Units,
)

Part = Annotated[msgspec.Raw, schema_of("PlanPart")]


class _Object(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    pass


# --- conditions and ends ----------------------------------------------------------------------------------------------------


class PriceCondition(_Object, kw_only=True):
    """A field of a quote reaches a level."""

    instrument_id: InstrumentId | None = None
    """Left out: the part's own instrument."""
    field: QuoteField | None = QuoteField.LAST_PRICE
    level: float
    """Rupees, units or percent, by the field."""
    direction: Direction | None = None
    """Left out: the side on which the level lies when the part is armed."""


class BarCondition(_Object, kw_only=True):
    """A bar of last prices has closed past a level."""

    instrument_id: InstrumentId | None = None
    field: Literal["last_price"] | None = None
    level: Rupees
    direction: Direction | None = None
    bar_minutes: AboveZero | None = 5


class AccountCondition(_Object, kw_only=True):
    """A figure of the account reaches a level."""

    field: AccountField
    level: float
    """Rupees, or percent of margin_cushion_percent."""
    direction: Direction | None = None


class PnlCondition(_Object, kw_only=True):
    """The joint profit and loss of positions passes a limit: one of loss, profit and give_back at least, in rupees."""

    instrument_ids: Annotated[list[InstrumentId], msgspec.Meta(min_length=1, max_length=50)] | None = None
    every_instrument: bool | None = False
    """In place of instrument_ids."""
    product: PositionProduct | None = None
    """Left out: all products."""
    loss: AboveZero | None = None
    profit: AboveZero | None = None
    give_back: AboveZero | None = None
    """Falls back by so much from its best."""
    since: Since | None = Since.PLACEMENT


class PlanConditionInGroup(_Object, kw_only=True):
    """One condition: exactly one of the fields."""

    price: PriceCondition | None = None
    bar_close: BarCondition | None = None
    time: TimeOfDay | None = None
    account: AccountCondition | None = None
    pnl: PnlCondition | None = None


class PlanCondition(PlanConditionInGroup, kw_only=True):
    """A condition, or several: exactly one of the fields."""

    all: Annotated[list[PlanConditionInGroup], msgspec.Meta(min_length=2, max_length=5)] | None = None
    any: Annotated[list[PlanConditionInGroup], msgspec.Meta(min_length=2, max_length=5)] | None = None


class PlanLifetime(_Object, kw_only=True):
    """The end of a part: at least one of at_time, after_minutes, after_days and when."""

    at_time: TimeOfDay | None = None
    """HH:MM or HH:MM:SS, India time."""
    after_minutes: AboveZero | None = None
    after_days: Annotated[int, msgspec.Meta(ge=1, le=365)] | None = None
    when: PlanCondition | None = None
    applies_to: AppliesTo | None = AppliesTo.BOTH
    """Which parts it ends: those that wait, those that work, or both."""
    on_end: OnEnd | None = OnEnd.CANCEL


# --- quantities -------------------------------------------------------------------------------------------------------------


class FilledQuantity(_Object, kw_only=True):
    """A multiple of the filled quantity of the part to which this part is linked, in lots."""

    ratio: AboveZero | None = 1
    round: Literal["nearest", "down", "up"] | None = "nearest"


class PositionQuantity(_Object, kw_only=True):
    """The quantity that closes the net positions when the part becomes due."""

    product: PositionProduct | None = None
    """Left out: all products."""
    instrument_ids: Annotated[list[InstrumentId], msgspec.Meta(min_length=1, max_length=50)] | None = None
    """Left out: the part's own instrument."""
    every_instrument: bool | None = False
    ratio: Annotated[int, one_of([1, 2])] | None = 1
    """2 reverses the positions."""
    cancel_resting_first: bool | None = True


class WeightedInstrument(_Object, kw_only=True):
    """An instrument of an exposure."""

    instrument_id: InstrumentId
    weight: float | None = 1


class ExposureQuantity(_Object, kw_only=True):
    """The quantity that brings a net exposure back to its target when it is outside the band; only with execution top_up."""

    instruments: Annotated[list[WeightedInstrument], msgspec.Meta(min_length=1, max_length=50)]
    measure: Measure | None = Measure.VALUE
    target: float | None = 0
    """Rupees, or units by the measure."""
    band: AboveZero
    hedge_weight: float | None = 1
    """Other than zero."""
    most: Units | None = None
    product: PositionProduct | None = None


class PlanQuantity(_Object, kw_only=True):
    """A quantity that is worked out: exactly one of share, from_fill, position and exposure."""

    share: Annotated[float, msgspec.Meta(gt=0, le=1)] | None = None
    """Of the body's quantity, or below `each_fill` of the filled quantity."""
    from_fill: FilledQuantity | None = None
    position: PositionQuantity | None = None
    exposure: ExposureQuantity | None = None
    most: Units | None = None
    """The most units; only with position."""


# --- parts ------------------------------------------------------------------------------------------------------------------


class _Part(msgspec.Struct, kw_only=True, tag_field="part", forbid_unknown_fields=True):
    when: PlanCondition | None = None
    """The part waits until the condition is true."""
    lifetime: PlanLifetime | None = None


class OrderPart(_Part, tag="order", kw_only=True):
    """Sends broker orders. What it leaves out comes from the body."""

    instrument_id: InstrumentId | None = None
    transaction_type: Side | None = None
    product: Annotated[str, one_of(map(str, SENDABLE_PRODUCTS))] | None = None
    validity: Annotated[str, one_of(map(str, SENDABLE_VALIDITIES))] | None = None
    tag: Annotated[str, msgspec.Meta(pattern="^[A-Za-z0-9]{1,20}$")] | None = None
    broker: str | None = None
    """Broker code."""
    quantity: Units | PlanQuantity | None = None
    """Units, whole lots. Left out: the body's quantity, or below `each_fill` the filled quantity."""
    price: Annotated[msgspec.Raw, schema_of("PlanPrice", "Null")] | msgspec.UnsetType = msgspec.UNSET
    """Left out: by the body's order_type and prices."""
    execution: Annotated[msgspec.Raw, schema_of("PlanExecution", "Null")] | msgspec.UnsetType = msgspec.UNSET
    """Left out: one order."""
    hold: bool | None = None
    """Keep the limit in the engine until the market reaches it."""
    closes: bool | None = False
    """The order closes a position, and may use what is kept for exits."""
    each_fill: Annotated[msgspec.Raw, schema_of("PlanPart", "Null")] | msgspec.UnsetType = msgspec.UNSET
    """A part that is sized to the fills of this part."""


class SequencePart(_Part, tag="sequence", kw_only=True):
    """`first`, and then `then`."""

    first: Part
    then: Part
    start_then: StartThen | None = StartThen.FILLED
    """`filled`: when first has filled; `done`: when first and all that hangs on it have ended."""


class TogetherPart(_Part, tag="together", kw_only=True):
    """Parts at once, independent of each other."""

    children: Annotated[list[Part], msgspec.Meta(min_length=1, max_length=20)]


class OneCancelsOthersPart(_Part, tag="one_cancels_others", kw_only=True):
    """Parts at once, of which one ends or shrinks the others."""

    children: Annotated[list[Part], msgspec.Meta(min_length=2, max_length=20)]
    rule: Rule | None = Rule.CANCEL
    """`cancel`: the first fill ends the others. `shrink`: each child keeps the quantity that the others have left. `trigger`: the first child
    whose `when` comes true ends the others before it sends."""


PARTS = (OrderPart, SequencePart, TogetherPart, OneCancelsOthersPart)


# --- orders inside the settings of a type -----------------------------------------------------------------------------------


class CandidateOrder(_Object, kw_only=True):
    """One order of a basket or of candidates. What it leaves out comes from the body."""

    instrument_id: InstrumentId | None = None
    transaction_type: Side | None = None
    product: Annotated[str, one_of(map(str, SENDABLE_PRODUCTS))] | None = None
    order_type: Annotated[str, one_of(["MARKET", "LIMIT", "SL", "SL-M"])] | None = None
    validity: Annotated[str, one_of(map(str, SENDABLE_VALIDITIES))] | None = None
    quantity: Units | None = None
    price: Annotated[float, msgspec.Meta(ge=0)] | None = None
    trigger_price: Annotated[float, msgspec.Meta(ge=0)] | None = None
    tag: Annotated[str, msgspec.Meta(pattern="^[A-Za-z0-9]{1,20}$")] | None = None
    broker: str | None = None


class SecondOrder(CandidateOrder, kw_only=True):
    """The second order of oto. Instrument, product and tag are the body's where it gives none; its quantity is the most that it sends."""

    price_reference: Annotated[msgspec.Raw, schema_of("PriceReference", "Null")] | msgspec.UnsetType = msgspec.UNSET
    """In the place of the price, worked out when the order is sent."""
