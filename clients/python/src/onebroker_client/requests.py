"""What the routes take as a body. Where a field is None, it is not sent. Made by generate.py from the service's documents; do not change it by hand."""

from __future__ import annotations

from datetime import date
from typing import Literal, TypeAlias

from msgspec import Struct

from onebroker_client.values import Number
from onebroker_client.words import (
    AccountField,
    Adjusted,
    Anchor,
    AppliesTo,
    AtExpiry,
    ClosePositionsBodyProduct,
    Direction,
    Exchange,
    ExitOrder,
    ExposureHedgeOrderProduct,
    FillBasis,
    HaltMode,
    HedgeSide,
    Interval,
    Measure,
    OnCrossing,
    OnEnd,
    OptionType,
    OrderExchange,
    OrderType,
    OrderValidity,
    PriceReferenceKind,
    Product,
    QuantityReferenceKind,
    QuoteField,
    Ratio,
    Rounding,
    Rule,
    SegmentOrdered,
    Side,
    Since,
    StartThen,
    Touch,
    Unfilled,
    WatchField,
)


class AccountCondition(Struct, kw_only=True, omit_defaults=True):
    """A figure of the account reaches a level."""

    field: AccountField
    level: Number
    """Rupees, or percent of margin_cushion_percent."""
    direction: Direction | None = None


class AccountConditionalOrder(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="account_conditional"):
    """Sends the order when an account figure reaches a level."""

    closes_position: bool | None = None
    """True: the order may use the part of a broker's daily order cap that is kept for exits."""
    exits_follow_position: bool | None = None
    """(ours) An exit becomes smaller, or ends, when the position that it guards has become smaller without the plan."""
    hold_limits: bool | None = None
    """True: limits are kept in the engine until the market reaches them."""
    watch_field: AccountField
    """The figure that is watched."""
    trigger_level: Number
    """Rupees; percent for the cushion."""
    trigger_direction: Direction | None = None
    """The side from which the price must come; the level's side when the order is armed, when left out."""


class AccountConditionalPart(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="account_conditional"):
    """Sends the order when an account figure reaches a level."""

    part: Literal["preset"]
    instrument_id: str | None = None
    transaction_type: Side | None = None
    product: Product | None = None
    order_type: OrderType | None = None
    validity: OrderValidity | None = None
    quantity: int | None = None
    price: Number | None = None
    trigger_price: Number | None = None
    tag: str | None = None
    broker: str | None = None
    when: PlanCondition | None = None
    """The part waits until the condition is true."""
    lifetime: PlanLifetime | None = None
    watch_field: AccountField
    """The figure that is watched."""
    trigger_level: Number
    """Rupees; percent for the cushion."""
    trigger_direction: Direction | None = None
    """The side from which the price must come; the level's side when the order is armed, when left out."""


class AccumulationOrder(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="accumulation"):
    """Builds a position in pieces at a steady beat."""

    closes_position: bool | None = None
    """True: the order may use the part of a broker's daily order cap that is kept for exits."""
    exits_follow_position: bool | None = None
    """(ours) An exit becomes smaller, or ends, when the position that it guards has become smaller without the plan."""
    hold_limits: bool | None = None
    """True: limits are kept in the engine until the market reaches them."""
    piece_quantity: int
    """Units; whole lots, at most the quantity: checked with the tree."""
    every_seconds: Number | None = None
    """Seconds between two pieces."""
    randomise_percent: Number | None = None
    """How far a piece's size may differ by chance, in percent."""
    wait_for_fill: bool | None = None
    """The next piece waits until the piece before has filled."""
    catch_up: bool | None = None
    """Send the pieces that were missed."""
    worst_price: Number | None = None
    """Rupees. The worst price that is paid or taken."""
    until_time: str | None = None
    """India time at which the order ends."""


class AccumulationPart(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="accumulation"):
    """Builds a position in pieces at a steady beat."""

    part: Literal["preset"]
    instrument_id: str | None = None
    transaction_type: Side | None = None
    product: Product | None = None
    order_type: OrderType | None = None
    validity: OrderValidity | None = None
    quantity: int | None = None
    price: Number | None = None
    trigger_price: Number | None = None
    tag: str | None = None
    broker: str | None = None
    when: PlanCondition | None = None
    """The part waits until the condition is true."""
    lifetime: PlanLifetime | None = None
    piece_quantity: int
    """Units; whole lots, at most the quantity: checked with the tree."""
    every_seconds: Number | None = None
    """Seconds between two pieces."""
    randomise_percent: Number | None = None
    """How far a piece's size may differ by chance, in percent."""
    wait_for_fill: bool | None = None
    """The next piece waits until the piece before has filled."""
    catch_up: bool | None = None
    """Send the pieces that were missed."""
    worst_price: Number | None = None
    """Rupees. The worst price that is paid or taken."""
    until_time: str | None = None
    """India time at which the order ends."""


class AllAtOnceExecution(Struct, kw_only=True, omit_defaults=True, tag_field="kind", tag="all_at_once"):
    """One order."""


class AtrDistance(Struct, kw_only=True, omit_defaults=True):
    """The distance of a trail by the average true range, once `periods` + 1 bars have closed."""

    bar_minutes: Number | None = None
    periods: int | None = None
    multiple: Number | None = None


class AtrTrailOrder(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="atr_trail"):
    """Trailing stop whose distance is a multiple of the average true range."""

    closes_position: bool | None = None
    """True: the order may use the part of a broker's daily order cap that is kept for exits."""
    exits_follow_position: bool | None = None
    """(ours) An exit becomes smaller, or ends, when the position that it guards has become smaller without the plan."""
    hold_limits: bool | None = None
    """True: limits are kept in the engine until the market reaches them."""
    trail_points: Number
    """Rupees between the best price and the stop. The distance until there are enough bars."""
    stop_limit_offset: Number
    """Rupees from the stop's trigger to its limit."""
    bar_minutes: Number | None = None
    """Length of a bar in minutes."""
    periods: int | None = None
    """How many bars the average true range is taken over."""
    atr_multiple: Number | None = None
    """The trail is this multiple of the average true range."""
    step_ticks: int | None = None
    """The order moves when its price differs by this many ticks."""
    activate_at: Number | None = None
    """Rupees. The stop is placed only when the last price reaches this price."""


class AtrTrailPart(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="atr_trail"):
    """Trailing stop whose distance is a multiple of the average true range."""

    part: Literal["preset"]
    instrument_id: str | None = None
    transaction_type: Side | None = None
    product: Product | None = None
    order_type: OrderType | None = None
    validity: OrderValidity | None = None
    quantity: int | None = None
    price: Number | None = None
    trigger_price: Number | None = None
    tag: str | None = None
    broker: str | None = None
    when: PlanCondition | None = None
    """The part waits until the condition is true."""
    lifetime: PlanLifetime | None = None
    trail_points: Number
    """Rupees between the best price and the stop. The distance until there are enough bars."""
    stop_limit_offset: Number
    """Rupees from the stop's trigger to its limit."""
    bar_minutes: Number | None = None
    """Length of a bar in minutes."""
    periods: int | None = None
    """How many bars the average true range is taken over."""
    atr_multiple: Number | None = None
    """The trail is this multiple of the average true range."""
    step_ticks: int | None = None
    """The order moves when its price differs by this many ticks."""
    activate_at: Number | None = None
    """Rupees. The stop is placed only when the last price reaches this price."""


class AttachedHedgeOrder(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="attached_hedge"):
    """Hedges every fill in another instrument."""

    closes_position: bool | None = None
    """True: the order may use the part of a broker's daily order cap that is kept for exits."""
    exits_follow_position: bool | None = None
    """(ours) An exit becomes smaller, or ends, when the position that it guards has become smaller without the plan."""
    hold_limits: bool | None = None
    """True: limits are kept in the engine until the market reaches them."""
    hedge_instrument_id: str
    """The instrument of the hedge."""
    hedge_ratio: Number
    """Units of the hedge for one filled unit. Units of the hedge for each unit filled."""
    hedge_side: HedgeSide | None = None
    """The side of the hedge."""
    hedge_product: Product | None = None
    """The product of the hedge; the order's when left out. Left out: the body's."""
    rounding: Rounding | None = None
    """How the hedge is rounded to whole lots."""
    buffer_ticks: int | None = None
    """How many ticks past the best price of the other side the limit goes."""


class AttachedHedgePart(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="attached_hedge"):
    """Hedges every fill in another instrument."""

    part: Literal["preset"]
    instrument_id: str | None = None
    transaction_type: Side | None = None
    product: Product | None = None
    order_type: OrderType | None = None
    validity: OrderValidity | None = None
    quantity: int | None = None
    price: Number | None = None
    trigger_price: Number | None = None
    tag: str | None = None
    broker: str | None = None
    when: PlanCondition | None = None
    """The part waits until the condition is true."""
    lifetime: PlanLifetime | None = None
    hedge_instrument_id: str
    """The instrument of the hedge."""
    hedge_ratio: Number
    """Units of the hedge for one filled unit. Units of the hedge for each unit filled."""
    hedge_side: HedgeSide | None = None
    """The side of the hedge."""
    hedge_product: Product | None = None
    """The product of the hedge; the order's when left out. Left out: the body's."""
    rounding: Rounding | None = None
    """How the hedge is rounded to whole lots."""
    buffer_ticks: int | None = None
    """How many ticks past the best price of the other side the limit goes."""


class BarCondition(Struct, kw_only=True, omit_defaults=True):
    """A bar of last prices has closed past a level."""

    instrument_id: str | None = None
    field: Literal["last_price"] | None = None
    level: Number
    direction: Direction | None = None
    bar_minutes: Number | None = None


class BasketOrder(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="basket"):
    """Several instruments in one request."""

    closes_position: bool | None = None
    """True: the order may use the part of a broker's daily order cap that is kept for exits."""
    exits_follow_position: bool | None = None
    """(ours) An exit becomes smaller, or ends, when the position that it guards has become smaller without the plan."""
    hold_limits: bool | None = None
    """True: limits are kept in the engine until the market reaches them."""
    candidates: list[CandidateOrder]
    """The orders. What an order leaves out comes from the body."""


class BasketPart(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="basket"):
    """Several instruments in one request."""

    part: Literal["preset"]
    instrument_id: str | None = None
    transaction_type: Side | None = None
    product: Product | None = None
    order_type: OrderType | None = None
    validity: OrderValidity | None = None
    quantity: int | None = None
    price: Number | None = None
    trigger_price: Number | None = None
    tag: str | None = None
    broker: str | None = None
    when: PlanCondition | None = None
    """The part waits until the condition is true."""
    lifetime: PlanLifetime | None = None
    candidates: list[CandidateOrder]
    """The orders. What an order leaves out comes from the body."""


class BookDepthExecution(Struct, kw_only=True, omit_defaults=True, tag_field="kind", tag="book_depth"):
    """Sends only when enough is offered."""

    limit_price: Number
    minimum_quantity: int


class BracketOrder(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="bracket"):
    """Entry, then stop and target armed on first partial fill."""

    closes_position: bool | None = None
    """True: the order may use the part of a broker's daily order cap that is kept for exits."""
    exits_follow_position: bool | None = None
    """(ours) An exit becomes smaller, or ends, when the position that it guards has become smaller without the plan."""
    hold_limits: bool | None = None
    """True: limits are kept in the engine until the market reaches them."""
    stop_price: Number
    """Rupees. The trigger of the stop."""
    stop_limit_price: Number
    """Rupees. The limit of the stop."""
    target_price: Number
    """Rupees. The limit of the target."""


class BracketPart(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="bracket"):
    """Entry, then stop and target armed on first partial fill."""

    part: Literal["preset"]
    instrument_id: str | None = None
    transaction_type: Side | None = None
    product: Product | None = None
    order_type: OrderType | None = None
    validity: OrderValidity | None = None
    quantity: int | None = None
    price: Number | None = None
    trigger_price: Number | None = None
    tag: str | None = None
    broker: str | None = None
    when: PlanCondition | None = None
    """The part waits until the condition is true."""
    lifetime: PlanLifetime | None = None
    stop_price: Number
    """Rupees. The trigger of the stop."""
    stop_limit_price: Number
    """Rupees. The limit of the stop."""
    target_price: Number
    """Rupees. The limit of the target."""


class CancelOrderBody(Struct, kw_only=True, omit_defaults=True):
    order_id: str | int | None = None
    """The broker's own id: 1 to 64 letters, digits, hyphens or underscores; or an integer."""
    broker: str | None = None
    """Broker code; needed only when two brokers hold the id."""
    parent_id: str | None = None
    """UUID, in place of order_id: the whole parent."""
    part: str | None = None
    """With parent_id: the path of one part of the plan."""
    dry_run: bool | None = None
    """Send nothing; with parent_id list the resting legs."""
    orders: list[CancelOrderBodyItem] | None = None
    """Each named as in the single form; they may be mixed."""


class CancelOrderBodyItem(Struct, kw_only=True, omit_defaults=True):
    order_id: str | int | None = None
    """The broker's own id: 1 to 64 letters, digits, hyphens or underscores; or an integer."""
    broker: str | None = None
    """Broker code; needed only when two brokers hold the id."""
    parent_id: str | None = None
    """UUID, in place of order_id: the whole parent."""
    part: str | None = None
    """With parent_id: the path of one part of the plan."""


class CancelParentsBodyItem(Struct, kw_only=True, omit_defaults=True):
    parent_id: str | None = None
    """UUID of the parent."""


class CancelParentsBodyList(Struct, kw_only=True, omit_defaults=True):
    parents: list[CancelParentsBodyItem]
    """Objects, each with a parent_id."""
    dry_run: bool | None = None
    """List the resting legs and send nothing."""


class CancelParentsBodyOne(Struct, kw_only=True, omit_defaults=True):
    parent_id: str | None = None
    """UUID of the parent."""
    dry_run: bool | None = None
    """List the resting legs and send nothing."""


class CandidateOrder(Struct, kw_only=True, omit_defaults=True):
    """One order of a basket or of candidates. What it leaves out comes from the body."""

    instrument_id: str | None = None
    transaction_type: Side | None = None
    product: Product | None = None
    order_type: OrderType | None = None
    validity: OrderValidity | None = None
    quantity: int | None = None
    price: Number | None = None
    trigger_price: Number | None = None
    tag: str | None = None
    broker: str | None = None


class CandleCloseStopOrder(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="candle_close_stop"):
    """Hidden stop that fires only on a closed bar."""

    closes_position: bool | None = None
    """True: the order may use the part of a broker's daily order cap that is kept for exits."""
    exits_follow_position: bool | None = None
    """(ours) An exit becomes smaller, or ends, when the position that it guards has become smaller without the plan."""
    hold_limits: bool | None = None
    """True: limits are kept in the engine until the market reaches them."""
    trigger_price: Number
    """Rupees. The price that the order waits for."""
    backstop_price: Number | None = None
    """Rupees. The trigger of a real stop at the broker, behind the hidden one."""
    backstop_limit_price: Number | None = None
    """Rupees. The limit of the real stop at the broker."""
    buffer_ticks: int | None = None
    """How many ticks past the best price of the other side the limit goes."""
    bar_minutes: Number | None = None
    """Length of a bar in minutes."""


class CandleCloseStopPart(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="candle_close_stop"):
    """Hidden stop that fires only on a closed bar."""

    part: Literal["preset"]
    instrument_id: str | None = None
    transaction_type: Side | None = None
    product: Product | None = None
    order_type: OrderType | None = None
    validity: OrderValidity | None = None
    quantity: int | None = None
    price: Number | None = None
    trigger_price: Number
    """Rupees. The price that the order waits for."""
    tag: str | None = None
    broker: str | None = None
    when: PlanCondition | None = None
    """The part waits until the condition is true."""
    lifetime: PlanLifetime | None = None
    backstop_price: Number | None = None
    """Rupees. The trigger of a real stop at the broker, behind the hidden one."""
    backstop_limit_price: Number | None = None
    """Rupees. The limit of the real stop at the broker."""
    buffer_ticks: int | None = None
    """How many ticks past the best price of the other side the limit goes."""
    bar_minutes: Number | None = None
    """Length of a bar in minutes."""


class CapPrice(Struct, kw_only=True, omit_defaults=True, tag_field="kind", tag="cap"):
    """A price of another kind, never past `worst_price`. The kinds native_stop, trail and stages take no cap."""

    worst_price: Number
    of: PlanPrice


class ChasePrice(Struct, kw_only=True, omit_defaults=True, tag_field="kind", tag="chase"):
    """A limit that steps towards the other side until it is filled."""

    step_ticks: int | None = None
    step_seconds: Number | None = None
    cap_price: Number | None = None
    """The worst price."""
    cross_after_seconds: Number | None = None
    """Cross the spread after this time."""


class ChaserOrder(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="chaser"):
    """Steps towards the other side until filled."""

    closes_position: bool | None = None
    """True: the order may use the part of a broker's daily order cap that is kept for exits."""
    exits_follow_position: bool | None = None
    """(ours) An exit becomes smaller, or ends, when the position that it guards has become smaller without the plan."""
    hold_limits: bool | None = None
    """True: limits are kept in the engine until the market reaches them."""
    step_ticks: int | None = None
    """The order moves when its price differs by this many ticks."""
    step_seconds: Number | None = None
    """Seconds between two steps."""
    cap_price: Number | None = None
    """Rupees. The worst price that is paid or taken."""
    cross_after_seconds: Number | None = None
    """Seconds after which the limit crosses the spread."""


class ChaserPart(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="chaser"):
    """Steps towards the other side until filled."""

    part: Literal["preset"]
    instrument_id: str | None = None
    transaction_type: Side | None = None
    product: Product | None = None
    order_type: OrderType | None = None
    validity: OrderValidity | None = None
    quantity: int | None = None
    price: Number | None = None
    trigger_price: Number | None = None
    tag: str | None = None
    broker: str | None = None
    when: PlanCondition | None = None
    """The part waits until the condition is true."""
    lifetime: PlanLifetime | None = None
    step_ticks: int | None = None
    """The order moves when its price differs by this many ticks."""
    step_seconds: Number | None = None
    """Seconds between two steps."""
    cap_price: Number | None = None
    """Rupees. The worst price that is paid or taken."""
    cross_after_seconds: Number | None = None
    """Seconds after which the limit crosses the spread."""


class CloseOnTriggerOrder(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="close_on_trigger"):
    """Closes the position when a price is touched."""

    closes_position: bool | None = None
    """True: the order may use the part of a broker's daily order cap that is kept for exits."""
    exits_follow_position: bool | None = None
    """(ours) An exit becomes smaller, or ends, when the position that it guards has become smaller without the plan."""
    hold_limits: bool | None = None
    """True: limits are kept in the engine until the market reaches them."""
    trigger_price: Number
    """Rupees. The price that the order waits for."""
    trigger_direction: Direction | None = None
    """The side from which the price must come; the level's side when the order is armed, when left out. None until the position is known: then below for a long position, above for a short one."""
    limit_price: Number | None = None
    """Rupees. The limit to send; of a LIMIT body, its price when left out."""
    buffer_ticks: int | None = None
    """How many ticks past the best price of the other side the limit goes."""
    cancel_resting_first: bool | None = None
    """Cancel first what rests in the positions' instruments, whoever sent it."""


class CloseOnTriggerPart(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="close_on_trigger"):
    """Closes the position when a price is touched."""

    part: Literal["preset"]
    instrument_id: str | None = None
    transaction_type: Side | None = None
    product: Product | None = None
    order_type: OrderType | None = None
    validity: OrderValidity | None = None
    quantity: int | None = None
    price: Number | None = None
    trigger_price: Number
    """Rupees. The price that the order waits for."""
    tag: str | None = None
    broker: str | None = None
    when: PlanCondition | None = None
    """The part waits until the condition is true."""
    lifetime: PlanLifetime | None = None
    trigger_direction: Direction | None = None
    """The side from which the price must come; the level's side when the order is armed, when left out. None until the position is known: then below for a long position, above for a short one."""
    limit_price: Number | None = None
    """Rupees. The limit to send; of a LIMIT body, its price when left out."""
    buffer_ticks: int | None = None
    """How many ticks past the best price of the other side the limit goes."""
    cancel_resting_first: bool | None = None
    """Cancel first what rests in the positions' instruments, whoever sent it."""


class ClosePositionsBody(Struct, kw_only=True, omit_defaults=True):
    confirm: Literal["CLOSE"]
    """Exactly CLOSE."""
    broker: str | None = None
    """Broker code. At least one limit is needed; all must match."""
    instrument_id: str | None = None
    """The instrument, at every broker that lists it."""
    product: ClosePositionsBodyProduct | None = None
    """An order's or a position's word, in any case."""
    tag: str | None = None
    """Orders with this tag, and the units that today's orders with it opened."""
    skip_covered: bool | None = None
    """(ours) Leave delivery positions below zero as they are where the holdings cover them: they are sales out of the holdings."""
    dry_run: bool | None = None
    """List what would be cancelled and closed, and send nothing; any non-empty value counts."""


class ClosingPriceOrder(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="closing_price"):
    """Works towards the closing price."""

    closes_position: bool | None = None
    """True: the order may use the part of a broker's daily order cap that is kept for exits."""
    exits_follow_position: bool | None = None
    """(ours) An exit becomes smaller, or ends, when the position that it guards has become smaller without the plan."""
    hold_limits: bool | None = None
    """True: limits are kept in the engine until the market reaches them."""
    slices: int | None = None
    """How many pieces."""
    from_time: str | None = None
    """India time at which the first slice leaves."""
    until_time: str | None = None
    """India time at which the order ends."""
    volume_profile: list[Number] | None = None
    """One weight for each slice, not all zero; of the market's usual volume when left out. Left out: equal slices."""


class ClosingPricePart(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="closing_price"):
    """Works towards the closing price."""

    part: Literal["preset"]
    instrument_id: str | None = None
    transaction_type: Side | None = None
    product: Product | None = None
    order_type: OrderType | None = None
    validity: OrderValidity | None = None
    quantity: int | None = None
    price: Number | None = None
    trigger_price: Number | None = None
    tag: str | None = None
    broker: str | None = None
    when: PlanCondition | None = None
    """The part waits until the condition is true."""
    lifetime: PlanLifetime | None = None
    slices: int | None = None
    """How many pieces."""
    from_time: str | None = None
    """India time at which the first slice leaves."""
    until_time: str | None = None
    """India time at which the order ends."""
    volume_profile: list[Number] | None = None
    """One weight for each slice, not all zero; of the market's usual volume when left out. Left out: equal slices."""


class CoverOrder(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="cover"):
    """Entry with compulsory stop."""

    closes_position: bool | None = None
    """True: the order may use the part of a broker's daily order cap that is kept for exits."""
    exits_follow_position: bool | None = None
    """(ours) An exit becomes smaller, or ends, when the position that it guards has become smaller without the plan."""
    hold_limits: bool | None = None
    """True: limits are kept in the engine until the market reaches them."""
    stop_price: Number
    """Rupees. The trigger of the stop."""
    stop_limit_price: Number
    """Rupees. The limit of the stop."""


class CoverPart(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="cover"):
    """Entry with compulsory stop."""

    part: Literal["preset"]
    instrument_id: str | None = None
    transaction_type: Side | None = None
    product: Product | None = None
    order_type: OrderType | None = None
    validity: OrderValidity | None = None
    quantity: int | None = None
    price: Number | None = None
    trigger_price: Number | None = None
    tag: str | None = None
    broker: str | None = None
    when: PlanCondition | None = None
    """The part waits until the condition is true."""
    lifetime: PlanLifetime | None = None
    stop_price: Number
    """Rupees. The trigger of the stop."""
    stop_limit_price: Number
    """Rupees. The limit of the stop."""


class CrossInstrumentOrder(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="cross_instrument"):
    """Limit-if-touched watching another instrument."""

    closes_position: bool | None = None
    """True: the order may use the part of a broker's daily order cap that is kept for exits."""
    exits_follow_position: bool | None = None
    """(ours) An exit becomes smaller, or ends, when the position that it guards has become smaller without the plan."""
    hold_limits: bool | None = None
    """True: limits are kept in the engine until the market reaches them."""
    watch_instrument_id: str
    """The instrument that is watched."""
    trigger_price: Number
    """Rupees. The price that the order waits for. A price of the watched instrument, so its ticks are not checked."""
    limit_price: Number | None = None
    """Rupees. The limit to send; of a LIMIT body, its price when left out."""
    trigger_direction: Direction | None = None
    """The side from which the price must come; the level's side when the order is armed, when left out."""


class CrossInstrumentPart(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="cross_instrument"):
    """Limit-if-touched watching another instrument."""

    part: Literal["preset"]
    instrument_id: str | None = None
    transaction_type: Side | None = None
    product: Product | None = None
    order_type: OrderType | None = None
    validity: OrderValidity | None = None
    quantity: int | None = None
    price: Number | None = None
    trigger_price: Number
    """Rupees. The price that the order waits for. A price of the watched instrument, so its ticks are not checked."""
    tag: str | None = None
    broker: str | None = None
    when: PlanCondition | None = None
    """The part waits until the condition is true."""
    lifetime: PlanLifetime | None = None
    watch_instrument_id: str
    """The instrument that is watched."""
    limit_price: Number | None = None
    """Rupees. The limit to send; of a LIMIT body, its price when left out."""
    trigger_direction: Direction | None = None
    """The side from which the price must come; the level's side when the order is armed, when left out."""


class DailyExecution(Struct, kw_only=True, omit_defaults=True, tag_field="kind", tag="daily"):
    """A new order each trading morning."""

    arm_at: str | None = None
    valid_days: int | None = None


class DailyStopOrder(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="daily_stop"):
    """A fresh native stop each trading morning."""

    closes_position: bool | None = None
    """True: the order may use the part of a broker's daily order cap that is kept for exits."""
    exits_follow_position: bool | None = None
    """(ours) An exit becomes smaller, or ends, when the position that it guards has become smaller without the plan."""
    hold_limits: bool | None = None
    """True: limits are kept in the engine until the market reaches them."""
    stop_price: Number
    """Rupees. The trigger of the stop."""
    stop_limit_price: Number
    """Rupees. The limit of the stop."""
    arm_at: str | None = None
    """HH:MM, India time: when the stop is placed each morning."""
    valid_days: int | None = None
    """Days until the order ends."""


class DailyStopPart(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="daily_stop"):
    """A fresh native stop each trading morning."""

    part: Literal["preset"]
    instrument_id: str | None = None
    transaction_type: Side | None = None
    product: Product | None = None
    order_type: OrderType | None = None
    validity: OrderValidity | None = None
    quantity: int | None = None
    price: Number | None = None
    trigger_price: Number | None = None
    tag: str | None = None
    broker: str | None = None
    when: PlanCondition | None = None
    """The part waits until the condition is true."""
    lifetime: PlanLifetime | None = None
    stop_price: Number
    """Rupees. The trigger of the stop."""
    stop_limit_price: Number
    """Rupees. The limit of the stop."""
    arm_at: str | None = None
    """HH:MM, India time: when the stop is placed each morning."""
    valid_days: int | None = None
    """Days until the order ends."""


class DiscretionPrice(Struct, kw_only=True, omit_defaults=True, tag_field="kind", tag="discretion"):
    """A limit that takes a slightly worse price when it is offered."""

    price: Number
    points: Number
    """How much worse, in rupees."""
    quantity: int | None = None
    """The most units at a worse price; left out: all."""


class DiscretionaryOrder(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="discretionary"):
    """Shows one limit, quietly takes a slightly worse one when within reach."""

    closes_position: bool | None = None
    """True: the order may use the part of a broker's daily order cap that is kept for exits."""
    exits_follow_position: bool | None = None
    """(ours) An exit becomes smaller, or ends, when the position that it guards has become smaller without the plan."""
    hold_limits: bool | None = None
    """True: limits are kept in the engine until the market reaches them."""
    discretion_points: Number
    """Rupees by which a price may be worse than the limit."""
    discretion_quantity: int | None = None
    """The most units at a worse price; all when left out. Units; Left out: the whole quantity."""


class DiscretionaryPart(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="discretionary"):
    """Shows one limit, quietly takes a slightly worse one when within reach."""

    part: Literal["preset"]
    instrument_id: str | None = None
    transaction_type: Side | None = None
    product: Product | None = None
    order_type: OrderType | None = None
    validity: OrderValidity | None = None
    quantity: int | None = None
    price: Number | None = None
    trigger_price: Number | None = None
    tag: str | None = None
    broker: str | None = None
    when: PlanCondition | None = None
    """The part waits until the condition is true."""
    lifetime: PlanLifetime | None = None
    discretion_points: Number
    """Rupees by which a price may be worse than the limit."""
    discretion_quantity: int | None = None
    """The most units at a worse price; all when left out. Units; Left out: the whole quantity."""


class ExposureHedgeOrder(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="exposure_hedge"):
    """Keeps a portfolio's net exposure within a band."""

    closes_position: bool | None = None
    """True: the order may use the part of a broker's daily order cap that is kept for exits."""
    exits_follow_position: bool | None = None
    """(ours) An exit becomes smaller, or ends, when the position that it guards has become smaller without the plan."""
    hold_limits: bool | None = None
    """True: limits are kept in the engine until the market reaches them."""
    exposure_instruments: list[WeightedInstrument]
    """The instruments of the exposure, with weights."""
    measure: Measure | None = None
    """What the exposure is counted in: rupees or units."""
    product: ExposureHedgeOrderProduct | None = None
    """Product of the positions; all products when left out. Left out: all position products."""
    target_exposure: Number | None = None
    """Rupees, or units by `measure`."""
    band: Number
    """How far the exposure may be from the target, either way."""
    hedge_weight: Number | None = None
    """Rupees or units of exposure for one of the hedge, where the list does not name it."""
    check_seconds: Number | None = None
    """Seconds between two looks at the exposure."""
    buffer_ticks: int | None = None
    """How many ticks past the best price of the other side the limit goes."""


class ExposureHedgePart(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="exposure_hedge"):
    """Keeps a portfolio's net exposure within a band."""

    part: Literal["preset"]
    instrument_id: str | None = None
    transaction_type: Side | None = None
    product: ExposureHedgeOrderProduct | None = None
    """Product of the positions; all products when left out. Left out: all position products."""
    order_type: OrderType | None = None
    validity: OrderValidity | None = None
    quantity: int | None = None
    price: Number | None = None
    trigger_price: Number | None = None
    tag: str | None = None
    broker: str | None = None
    when: PlanCondition | None = None
    """The part waits until the condition is true."""
    lifetime: PlanLifetime | None = None
    exposure_instruments: list[WeightedInstrument]
    """The instruments of the exposure, with weights."""
    measure: Measure | None = None
    """What the exposure is counted in: rupees or units."""
    target_exposure: Number | None = None
    """Rupees, or units by `measure`."""
    band: Number
    """How far the exposure may be from the target, either way."""
    hedge_weight: Number | None = None
    """Rupees or units of exposure for one of the hedge, where the list does not name it."""
    check_seconds: Number | None = None
    """Seconds between two looks at the exposure."""
    buffer_ticks: int | None = None
    """How many ticks past the best price of the other side the limit goes."""


class ExposureQuantity(Struct, kw_only=True, omit_defaults=True):
    """The quantity that brings a net exposure back to its target when it is outside the band; only with execution top_up."""

    instruments: list[WeightedInstrument]
    measure: Measure | None = None
    target: Number | None = None
    """Rupees, or units by the measure."""
    band: Number
    hedge_weight: Number | None = None
    """Other than zero."""
    most: int | None = None
    product: ExposureHedgeOrderProduct | None = None


class FilledQuantity(Struct, kw_only=True, omit_defaults=True):
    """A multiple of the filled quantity of the part to which this part is linked, in lots."""

    ratio: Number | None = None
    round: Rounding | None = None


class FixedPrice(Struct, kw_only=True, omit_defaults=True, tag_field="kind", tag="fixed"):
    """A limit that never moves."""

    price: Number | None = None
    """Left out: the body's price."""


class FlattenBody(Struct, kw_only=True, omit_defaults=True):
    confirm: Literal["FLATTEN"]
    """Exactly FLATTEN."""
    skip_covered: bool | None = None
    """(ours) Leave delivery positions below zero as they are where the holdings cover them: they are sales out of the holdings."""
    dry_run: bool | None = None
    """List what would be cancelled and closed, and send nothing; any non-empty value counts."""


class FollowInstrumentPrice(Struct, kw_only=True, omit_defaults=True, tag_field="kind", tag="follow_instrument"):
    """A limit that follows another instrument."""

    watch_instrument_id: str
    delta: Number
    """Rupees for one rupee of the watched instrument; negative for a put."""
    base_price: Number | None = None
    """Left out: the body's price."""
    anchor: Anchor | None = None
    watch_field: WatchField | None = None
    lowest_price: Number | None = None
    highest_price: Number | None = None
    step_ticks: int | None = None


class FreezeLimitExecution(Struct, kw_only=True, omit_defaults=True, tag_field="kind", tag="freeze_limit"):
    """As many orders as the freeze quantity makes necessary, at most 20."""


class FreezeSlicerOrder(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="freeze_slicer"):
    """Splits above the freeze quantity into whole-lot orders that each fit."""

    closes_position: bool | None = None
    """True: the order may use the part of a broker's daily order cap that is kept for exits."""
    exits_follow_position: bool | None = None
    """(ours) An exit becomes smaller, or ends, when the position that it guards has become smaller without the plan."""
    hold_limits: bool | None = None
    """True: limits are kept in the engine until the market reaches them."""


class FreezeSlicerPart(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="freeze_slicer"):
    """Splits above the freeze quantity into whole-lot orders that each fit."""

    part: Literal["preset"]
    instrument_id: str | None = None
    transaction_type: Side | None = None
    product: Product | None = None
    order_type: OrderType | None = None
    validity: OrderValidity | None = None
    quantity: int | None = None
    price: Number | None = None
    trigger_price: Number | None = None
    tag: str | None = None
    broker: str | None = None
    when: PlanCondition | None = None
    """The part waits until the condition is true."""
    lifetime: PlanLifetime | None = None


class FromFillPrice(Struct, kw_only=True, omit_defaults=True, tag_field="kind", tag="from_fill"):
    """A price measured from each fill of the part above. Give distance or percent; zero means break even."""

    distance: Number | None = None
    """Rupees."""
    percent: Number | None = None
    order: ExitOrder
    limit_offset: Number | None = None
    """Of a stop: rupees from the trigger to the limit."""
    basis: FillBasis | None = None
    marketable_after_seconds: Number | None = None
    """Of a stop."""


class FromParentFillPrice(Struct, kw_only=True, omit_defaults=True, tag_field="kind", tag="from_parent_fill"):
    """A price measured from the average of all fills of the part above. Give distance or percent; zero means break even."""

    distance: Number | None = None
    """Rupees."""
    percent: Number | None = None
    order: ExitOrder
    limit_offset: Number | None = None
    """Of a stop: rupees from the trigger to the limit."""
    marketable_after_seconds: Number | None = None
    """Of a stop."""


class FrontLoadedExecution(Struct, kw_only=True, omit_defaults=True, tag_field="kind", tag="front_loaded"):
    """Shrinking slices."""

    slices: int
    over_minutes: Number
    urgency: Number | None = None


class GetAdditionalDetailsListBody(Struct, kw_only=True, omit_defaults=True):
    instruments: list[InstrumentNamed]
    """Each named by `instrument_id`, or by `exchange`, `segment` and the identity fields; the spellings may be mixed."""
    date: date | str | None = None
    """Answer from the latest mapping on or before this day; the latest when not given."""


class GetDetailsListBody(Struct, kw_only=True, omit_defaults=True):
    instruments: list[InstrumentNamed]
    """Each named by `instrument_id`, or by `exchange`, `segment` and the identity fields; the spellings may be mixed."""
    date: date | str | None = None
    """Answer from the latest mapping on or before this day; the latest when not given."""


class GetLtpListBody(Struct, kw_only=True, omit_defaults=True):
    instruments: list[InstrumentNamed]
    """Each named by `instrument_id`, or by `exchange`, `segment` and the identity fields; the spellings may be mixed."""


class GetOhlcListBody(Struct, kw_only=True, omit_defaults=True):
    instruments: list[InstrumentNamed]
    """Each named by `instrument_id`, or by `exchange`, `segment` and the identity fields; the spellings may be mixed."""


class GetPricesListBody(Struct, kw_only=True, omit_defaults=True, rename={"from_": "from"}):
    instruments: list[InstrumentNamed]
    """Each named by `instrument_id`, or by `exchange`, `segment` and the identity fields; the spellings may be mixed."""
    interval: Interval
    """One of day, 1minute, 2minute, 3minute, 4minute, 5minute, 10minute, 15minute, 20minute, 25minute, 30minute, 45minute, 60minute, 120minute, 180minute, 240minute."""
    from_: date | str | None = None
    """First India calendar day; with `to`, or give `days`."""
    to: date | str | None = None
    """Last India calendar day, included."""
    days: int | str | None = None
    """Instead of from and to: today back so many days, both ends included."""
    adjusted: bool | Adjusted | str | None = None
    """Whether equities, exchange traded funds and investment trusts are adjusted for corporate actions; true when absent."""
    known_as_of: date | str | None = None
    """Only adjustment factors with an ex-date on or before this day apply; ignored unless the basis is adjusted."""


class GetQuoteListBody(Struct, kw_only=True, omit_defaults=True):
    instruments: list[InstrumentNamed]
    """Each named by `instrument_id`, or by `exchange`, `segment` and the identity fields; the spellings may be mixed."""


class GetTicksListBody(Struct, kw_only=True, omit_defaults=True):
    instruments: list[InstrumentNamed]
    """Each named by `instrument_id`, or by `exchange`, `segment` and the identity fields; the spellings may be mixed."""
    start: str
    """First instant, included; India time without an offset."""
    end: str
    """First instant that is not included."""
    adjusted: bool | Adjusted | str | None = None
    """Whether equities, exchange traded funds and investment trusts are adjusted for corporate actions; true when absent."""


class GoodTillTimeOrder(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="good_till_time"):
    """Placed now; at a time the unfilled is cancelled or made marketable."""

    closes_position: bool | None = None
    """True: the order may use the part of a broker's daily order cap that is kept for exits."""
    exits_follow_position: bool | None = None
    """(ours) An exit becomes smaller, or ends, when the position that it guards has become smaller without the plan."""
    hold_limits: bool | None = None
    """True: limits are kept in the engine until the market reaches them."""
    until_time: str
    """India time at which the order ends."""
    at_expiry: AtExpiry | None = None
    """What happens to the unfilled rest at the time."""


class GoodTillTimePart(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="good_till_time"):
    """Placed now; at a time the unfilled is cancelled or made marketable."""

    part: Literal["preset"]
    instrument_id: str | None = None
    transaction_type: Side | None = None
    product: Product | None = None
    order_type: OrderType | None = None
    validity: OrderValidity | None = None
    quantity: int | None = None
    price: Number | None = None
    trigger_price: Number | None = None
    tag: str | None = None
    broker: str | None = None
    when: PlanCondition | None = None
    """The part waits until the condition is true."""
    lifetime: PlanLifetime | None = None
    until_time: str
    """India time at which the order ends."""
    at_expiry: AtExpiry | None = None
    """What happens to the unfilled rest at the time."""


class GridOrder(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="grid"):
    """Buys below and sells above market, each fill places its opposite."""

    closes_position: bool | None = None
    """True: the order may use the part of a broker's daily order cap that is kept for exits."""
    exits_follow_position: bool | None = None
    """(ours) An exit becomes smaller, or ends, when the position that it guards has become smaller without the plan."""
    hold_limits: bool | None = None
    """True: limits are kept in the engine until the market reaches them."""
    levels: int
    """How many orders. On each side."""
    step_points: Number
    """Rupees between two orders."""
    most_inventory: int | None = None
    """The most units that are held. Units, either way."""


class GridPart(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="grid"):
    """Buys below and sells above market, each fill places its opposite."""

    part: Literal["preset"]
    instrument_id: str | None = None
    transaction_type: Side | None = None
    product: Product | None = None
    order_type: OrderType | None = None
    validity: OrderValidity | None = None
    quantity: int | None = None
    price: Number | None = None
    trigger_price: Number | None = None
    tag: str | None = None
    broker: str | None = None
    when: PlanCondition | None = None
    """The part waits until the condition is true."""
    lifetime: PlanLifetime | None = None
    levels: int
    """How many orders. On each side."""
    step_points: Number
    """Rupees between two orders."""
    most_inventory: int | None = None
    """The most units that are held. Units, either way."""


class GttOrder(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="gtt"):
    """Good till triggered, kept for up to a year."""

    closes_position: bool | None = None
    """True: the order may use the part of a broker's daily order cap that is kept for exits."""
    exits_follow_position: bool | None = None
    """(ours) An exit becomes smaller, or ends, when the position that it guards has become smaller without the plan."""
    hold_limits: bool | None = None
    """True: limits are kept in the engine until the market reaches them."""
    trigger_price: Number
    """Rupees. The price that the order waits for."""
    limit_price: Number | None = None
    """Rupees. The limit to send; of a LIMIT body, its price when left out."""
    trigger_direction: Direction | None = None
    """The side from which the price must come; the level's side when the order is armed, when left out. Always known for a pair: the price reaches the lower trigger from above."""
    second_trigger_price: Number | None = None
    """Rupees. A second price that the order waits for; the first that is reached ends the other."""
    second_limit_price: Number | None = None
    """Rupees. The limit of the second trigger."""
    valid_days: int | None = None
    """Days until the order ends. Calendar days; an order in a derivative ends with its contract in any case."""


class GttPart(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="gtt"):
    """Good till triggered, kept for up to a year."""

    part: Literal["preset"]
    instrument_id: str | None = None
    transaction_type: Side | None = None
    product: Product | None = None
    order_type: OrderType | None = None
    validity: OrderValidity | None = None
    quantity: int | None = None
    price: Number | None = None
    trigger_price: Number
    """Rupees. The price that the order waits for."""
    tag: str | None = None
    broker: str | None = None
    when: PlanCondition | None = None
    """The part waits until the condition is true."""
    lifetime: PlanLifetime | None = None
    limit_price: Number | None = None
    """Rupees. The limit to send; of a LIMIT body, its price when left out."""
    trigger_direction: Direction | None = None
    """The side from which the price must come; the level's side when the order is armed, when left out. Always known for a pair: the price reaches the lower trigger from above."""
    second_trigger_price: Number | None = None
    """Rupees. A second price that the order waits for; the first that is reached ends the other."""
    second_limit_price: Number | None = None
    """Rupees. The limit of the second trigger."""
    valid_days: int | None = None
    """Days until the order ends. Calendar days; an order in a derivative ends with its contract in any case."""


class HaltTradingBody(Struct, kw_only=True, omit_defaults=True):
    confirm: Literal["HALT"]
    """Exactly HALT."""
    mode: HaltMode | None = None
    """reduce_only (default): exits and cancels leave. nothing: only cancels leave."""
    reason: str
    """1 to 200 characters; refusals repeat it."""


class HiddenStopOrder(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="hidden_stop"):
    """Stop kept in the engine with optional real backstop."""

    closes_position: bool | None = None
    """True: the order may use the part of a broker's daily order cap that is kept for exits."""
    exits_follow_position: bool | None = None
    """(ours) An exit becomes smaller, or ends, when the position that it guards has become smaller without the plan."""
    hold_limits: bool | None = None
    """True: limits are kept in the engine until the market reaches them."""
    trigger_price: Number
    """Rupees. The price that the order waits for."""
    backstop_price: Number | None = None
    """Rupees. The trigger of a real stop at the broker, behind the hidden one."""
    backstop_limit_price: Number | None = None
    """Rupees. The limit of the real stop at the broker."""
    buffer_ticks: int | None = None
    """How many ticks past the best price of the other side the limit goes."""


class HiddenStopPart(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="hidden_stop"):
    """Stop kept in the engine with optional real backstop."""

    part: Literal["preset"]
    instrument_id: str | None = None
    transaction_type: Side | None = None
    product: Product | None = None
    order_type: OrderType | None = None
    validity: OrderValidity | None = None
    quantity: int | None = None
    price: Number | None = None
    trigger_price: Number
    """Rupees. The price that the order waits for."""
    tag: str | None = None
    broker: str | None = None
    when: PlanCondition | None = None
    """The part waits until the condition is true."""
    lifetime: PlanLifetime | None = None
    backstop_price: Number | None = None
    """Rupees. The trigger of a real stop at the broker, behind the hidden one."""
    backstop_limit_price: Number | None = None
    """Rupees. The limit of the real stop at the broker."""
    buffer_ticks: int | None = None
    """How many ticks past the best price of the other side the limit goes."""


class IcebergExecution(Struct, kw_only=True, omit_defaults=True, tag_field="kind", tag="iceberg"):
    """One slice after the other."""

    slice_quantity: int
    randomise_percent: Number | None = None


class IcebergOrder(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="iceberg"):
    """One slice at a time."""

    closes_position: bool | None = None
    """True: the order may use the part of a broker's daily order cap that is kept for exits."""
    exits_follow_position: bool | None = None
    """(ours) An exit becomes smaller, or ends, when the position that it guards has become smaller without the plan."""
    hold_limits: bool | None = None
    """True: limits are kept in the engine until the market reaches them."""
    slice_quantity: int
    """Units; whole lots, below the quantity: checked with the tree."""
    randomise_percent: Number | None = None
    """How far a piece's size may differ by chance, in percent."""


class IcebergPart(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="iceberg"):
    """One slice at a time."""

    part: Literal["preset"]
    instrument_id: str | None = None
    transaction_type: Side | None = None
    product: Product | None = None
    order_type: OrderType | None = None
    validity: OrderValidity | None = None
    quantity: int | None = None
    price: Number | None = None
    trigger_price: Number | None = None
    tag: str | None = None
    broker: str | None = None
    when: PlanCondition | None = None
    """The part waits until the condition is true."""
    lifetime: PlanLifetime | None = None
    slice_quantity: int
    """Units; whole lots, below the quantity: checked with the tree."""
    randomise_percent: Number | None = None
    """How far a piece's size may differ by chance, in percent."""


class ImplementationShortfallOrder(
    Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="implementation_shortfall"
):
    """Shrinking slices."""

    closes_position: bool | None = None
    """True: the order may use the part of a broker's daily order cap that is kept for exits."""
    exits_follow_position: bool | None = None
    """(ours) An exit becomes smaller, or ends, when the position that it guards has become smaller without the plan."""
    hold_limits: bool | None = None
    """True: limits are kept in the engine until the market reaches them."""
    slices: int
    """How many pieces."""
    over_minutes: Number
    """Minutes over which the slices are spread."""
    urgency: Number | None = None
    """0: nearly equal slices; 1: the first are much larger."""


class ImplementationShortfallPart(
    Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="implementation_shortfall"
):
    """Shrinking slices."""

    part: Literal["preset"]
    instrument_id: str | None = None
    transaction_type: Side | None = None
    product: Product | None = None
    order_type: OrderType | None = None
    validity: OrderValidity | None = None
    quantity: int | None = None
    price: Number | None = None
    trigger_price: Number | None = None
    tag: str | None = None
    broker: str | None = None
    when: PlanCondition | None = None
    """The part waits until the condition is true."""
    lifetime: PlanLifetime | None = None
    slices: int
    """How many pieces."""
    over_minutes: Number
    """Minutes over which the slices are spread."""
    urgency: Number | None = None
    """0: nearly equal slices; 1: the first are much larger."""


class IndicatorTriggeredOrder(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="indicator_triggered"):
    """Limit when a quote field crosses a level."""

    closes_position: bool | None = None
    """True: the order may use the part of a broker's daily order cap that is kept for exits."""
    exits_follow_position: bool | None = None
    """(ours) An exit becomes smaller, or ends, when the position that it guards has become smaller without the plan."""
    hold_limits: bool | None = None
    """True: limits are kept in the engine until the market reaches them."""
    watch_field: QuoteField
    """The figure that is watched."""
    trigger_price: Number
    """Rupees. The price that the order waits for. In the unit of the field: rupees, units, percent."""
    limit_price: Number | None = None
    """Rupees. The limit to send; of a LIMIT body, its price when left out."""
    trigger_direction: Direction | None = None
    """The side from which the price must come; the level's side when the order is armed, when left out."""
    watch_instrument_id: str | None = None
    """The instrument that is watched. By default the instrument that is traded."""


class IndicatorTriggeredPart(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="indicator_triggered"):
    """Limit when a quote field crosses a level."""

    part: Literal["preset"]
    instrument_id: str | None = None
    transaction_type: Side | None = None
    product: Product | None = None
    order_type: OrderType | None = None
    validity: OrderValidity | None = None
    quantity: int | None = None
    price: Number | None = None
    trigger_price: Number
    """Rupees. The price that the order waits for. In the unit of the field: rupees, units, percent."""
    tag: str | None = None
    broker: str | None = None
    when: PlanCondition | None = None
    """The part waits until the condition is true."""
    lifetime: PlanLifetime | None = None
    watch_field: QuoteField
    """The figure that is watched."""
    limit_price: Number | None = None
    """Rupees. The limit to send; of a LIMIT body, its price when left out."""
    trigger_direction: Direction | None = None
    """The side from which the price must come; the level's side when the order is armed, when left out."""
    watch_instrument_id: str | None = None
    """The instrument that is watched. By default the instrument that is traded."""


class InstrumentNamed(Struct, kw_only=True, omit_defaults=True):
    """One instrument: by instrument_id, or by exchange, segment and the identity fields of the segment's shape. An item that is wrong is answered in its entry."""

    instrument_id: str | None = None
    exchange: Exchange | None = None
    segment: str | None = None
    symbol: str | None = None
    underlying_symbol: str | None = None
    expiry_date: date | str | None = None
    strike_price: Number | str | None = None
    option_type: OptionType | None = None


class LadderExecution(Struct, kw_only=True, omit_defaults=True, tag_field="kind", tag="ladder"):
    """Evenly spaced limits between two prices."""

    from_price: Number
    to_price: Number
    steps: int
    one_at_a_time: bool | None = None
    restore: bool | None = None


class LadderOrder(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="ladder"):
    """Evenly spaced limits between two prices."""

    closes_position: bool | None = None
    """True: the order may use the part of a broker's daily order cap that is kept for exits."""
    exits_follow_position: bool | None = None
    """(ours) An exit becomes smaller, or ends, when the position that it guards has become smaller without the plan."""
    hold_limits: bool | None = None
    """True: limits are kept in the engine until the market reaches them."""
    from_price: Number
    """Rupees. The first limit."""
    to_price: Number
    """Rupees. The last limit."""
    steps: int
    """How many limits."""


class LadderPart(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="ladder"):
    """Evenly spaced limits between two prices."""

    part: Literal["preset"]
    instrument_id: str | None = None
    transaction_type: Side | None = None
    product: Product | None = None
    order_type: OrderType | None = None
    validity: OrderValidity | None = None
    quantity: int | None = None
    price: Number | None = None
    trigger_price: Number | None = None
    tag: str | None = None
    broker: str | None = None
    when: PlanCondition | None = None
    """The part waits until the condition is true."""
    lifetime: PlanLifetime | None = None
    from_price: Number
    """Rupees. The first limit."""
    to_price: Number
    """Rupees. The last limit."""
    steps: int
    """How many limits."""


class LeggedSpreadOrder(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="legged_spread"):
    """Works one leg passively then takes the other to make the net."""

    closes_position: bool | None = None
    """True: the order may use the part of a broker's daily order cap that is kept for exits."""
    exits_follow_position: bool | None = None
    """(ours) An exit becomes smaller, or ends, when the position that it guards has become smaller without the plan."""
    hold_limits: bool | None = None
    """True: limits are kept in the engine until the market reaches them."""
    second_instrument_id: str
    """The instrument of the second leg."""
    second_transaction_type: Side | None = None
    """The side of the second leg; the opposite of the first when left out."""
    second_ratio: Number | None = None
    """Units of the second instrument for each unit of the first."""
    second_product: Product | None = None
    """Left out: the body's."""
    net_price: Number
    """Rupees: the most to pay for one unit of the first together with its second, less what sales bring; may be negative."""
    step_ticks: int | None = None
    """The order moves when its price differs by this many ticks."""
    buffer_ticks: int | None = None
    """How many ticks past the best price of the other side the limit goes."""


class LeggedSpreadPart(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="legged_spread"):
    """Works one leg passively then takes the other to make the net."""

    part: Literal["preset"]
    instrument_id: str | None = None
    transaction_type: Side | None = None
    product: Product | None = None
    order_type: OrderType | None = None
    validity: OrderValidity | None = None
    quantity: int | None = None
    price: Number | None = None
    trigger_price: Number | None = None
    tag: str | None = None
    broker: str | None = None
    when: PlanCondition | None = None
    """The part waits until the condition is true."""
    lifetime: PlanLifetime | None = None
    second_instrument_id: str
    """The instrument of the second leg."""
    second_transaction_type: Side | None = None
    """The side of the second leg; the opposite of the first when left out."""
    second_ratio: Number | None = None
    """Units of the second instrument for each unit of the first."""
    second_product: Product | None = None
    """Left out: the body's."""
    net_price: Number
    """Rupees: the most to pay for one unit of the first together with its second, less what sales bring; may be negative."""
    step_ticks: int | None = None
    """The order moves when its price differs by this many ticks."""
    buffer_ticks: int | None = None
    """How many ticks past the best price of the other side the limit goes."""


class LimitIfTouchedOrder(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="limit_if_touched"):
    """Waits for a price, then rests a limit."""

    closes_position: bool | None = None
    """True: the order may use the part of a broker's daily order cap that is kept for exits."""
    exits_follow_position: bool | None = None
    """(ours) An exit becomes smaller, or ends, when the position that it guards has become smaller without the plan."""
    hold_limits: bool | None = None
    """True: limits are kept in the engine until the market reaches them."""
    trigger_price: Number
    """Rupees. The price that the order waits for."""
    limit_price: Number | None = None
    """Rupees. The limit to send; of a LIMIT body, its price when left out."""
    trigger_direction: Direction | None = None
    """The side from which the price must come; the level's side when the order is armed, when left out."""


class LimitIfTouchedPart(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="limit_if_touched"):
    """Waits for a price, then rests a limit."""

    part: Literal["preset"]
    instrument_id: str | None = None
    transaction_type: Side | None = None
    product: Product | None = None
    order_type: OrderType | None = None
    validity: OrderValidity | None = None
    quantity: int | None = None
    price: Number | None = None
    trigger_price: Number
    """Rupees. The price that the order waits for."""
    tag: str | None = None
    broker: str | None = None
    when: PlanCondition | None = None
    """The part waits until the condition is true."""
    lifetime: PlanLifetime | None = None
    limit_price: Number | None = None
    """Rupees. The limit to send; of a LIMIT body, its price when left out."""
    trigger_direction: Direction | None = None
    """The side from which the price must come; the level's side when the order is armed, when left out."""


class LiquiditySeekingOrder(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="liquidity_seeking"):
    """Strikes only when enough size appears."""

    closes_position: bool | None = None
    """True: the order may use the part of a broker's daily order cap that is kept for exits."""
    exits_follow_position: bool | None = None
    """(ours) An exit becomes smaller, or ends, when the position that it guards has become smaller without the plan."""
    hold_limits: bool | None = None
    """True: limits are kept in the engine until the market reaches them."""
    limit_price: Number
    """Rupees. The limit to send; of a LIMIT body, its price when left out."""
    minimum_quantity: int
    """Units that must be offered before anything is sent. Units; whole lots, at most the quantity: checked with the tree."""


class LiquiditySeekingPart(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="liquidity_seeking"):
    """Strikes only when enough size appears."""

    part: Literal["preset"]
    instrument_id: str | None = None
    transaction_type: Side | None = None
    product: Product | None = None
    order_type: OrderType | None = None
    validity: OrderValidity | None = None
    quantity: int | None = None
    price: Number | None = None
    trigger_price: Number | None = None
    tag: str | None = None
    broker: str | None = None
    when: PlanCondition | None = None
    """The part waits until the condition is true."""
    lifetime: PlanLifetime | None = None
    limit_price: Number
    """Rupees. The limit to send; of a LIMIT body, its price when left out."""
    minimum_quantity: int
    """Units that must be offered before anything is sent. Units; whole lots, at most the quantity: checked with the tree."""


class MarketIfTouchedOrder(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="market_if_touched"):
    """Waits unseen for a price, then marketable limit."""

    closes_position: bool | None = None
    """True: the order may use the part of a broker's daily order cap that is kept for exits."""
    exits_follow_position: bool | None = None
    """(ours) An exit becomes smaller, or ends, when the position that it guards has become smaller without the plan."""
    hold_limits: bool | None = None
    """True: limits are kept in the engine until the market reaches them."""
    trigger_price: Number
    """Rupees. The price that the order waits for."""
    trigger_direction: Direction | None = None
    """The side from which the price must come; the level's side when the order is armed, when left out."""
    buffer_ticks: int | None = None
    """How many ticks past the best price of the other side the limit goes."""


class MarketIfTouchedPart(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="market_if_touched"):
    """Waits unseen for a price, then marketable limit."""

    part: Literal["preset"]
    instrument_id: str | None = None
    transaction_type: Side | None = None
    product: Product | None = None
    order_type: OrderType | None = None
    validity: OrderValidity | None = None
    quantity: int | None = None
    price: Number | None = None
    trigger_price: Number
    """Rupees. The price that the order waits for."""
    tag: str | None = None
    broker: str | None = None
    when: PlanCondition | None = None
    """The part waits until the condition is true."""
    lifetime: PlanLifetime | None = None
    trigger_direction: Direction | None = None
    """The side from which the price must come; the level's side when the order is armed, when left out."""
    buffer_ticks: int | None = None
    """How many ticks past the best price of the other side the limit goes."""


class MarketableLimitOrder(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="marketable_limit"):
    """Market order as limit past the touch."""

    closes_position: bool | None = None
    """True: the order may use the part of a broker's daily order cap that is kept for exits."""
    exits_follow_position: bool | None = None
    """(ours) An exit becomes smaller, or ends, when the position that it guards has become smaller without the plan."""
    hold_limits: bool | None = None
    """True: limits are kept in the engine until the market reaches them."""
    buffer_ticks: int | None = None
    """How many ticks past the best price of the other side the limit goes."""
    fill_within_seconds: Number | None = None
    """Seconds after which the unfilled rest is cancelled."""
    maximum_cost_bps: Number | None = None
    """Refuse when crossing the spread costs more, in hundredths of a percent."""
    reaches_size: bool | None = None
    """Measure from the deepest visible level that the quantity needs."""


class MarketableLimitPart(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="marketable_limit"):
    """Market order as limit past the touch."""

    part: Literal["preset"]
    instrument_id: str | None = None
    transaction_type: Side | None = None
    product: Product | None = None
    order_type: OrderType | None = None
    validity: OrderValidity | None = None
    quantity: int | None = None
    price: Number | None = None
    trigger_price: Number | None = None
    tag: str | None = None
    broker: str | None = None
    when: PlanCondition | None = None
    """The part waits until the condition is true."""
    lifetime: PlanLifetime | None = None
    buffer_ticks: int | None = None
    """How many ticks past the best price of the other side the limit goes."""
    fill_within_seconds: Number | None = None
    """Seconds after which the unfilled rest is cancelled."""
    maximum_cost_bps: Number | None = None
    """Refuse when crossing the spread costs more, in hundredths of a percent."""
    reaches_size: bool | None = None
    """Measure from the deepest visible level that the quantity needs."""


class MarketablePrice(Struct, kw_only=True, omit_defaults=True, tag_field="kind", tag="marketable"):
    """A limit past the best price of the other side at the moment of sending."""

    buffer_ticks: int | None = None
    reaches_size: bool | None = None
    """Measure from the deepest visible level that the quantity needs."""
    maximum_cost_bps: Number | None = None
    """Refuse when crossing the spread costs more, in hundredths of a percent."""
    fill_within_seconds: Number | None = None
    """Cancel the unfilled rest after this time."""
    follow: bool | None = None
    """Move the unfilled rest to the fresh price every few seconds."""


class Milestone(Struct, kw_only=True, omit_defaults=True):
    """From `gain` on, the stop is at entry plus `stop_at_gain`, or it trails by `trail_points`. Give one of the two."""

    gain: Number
    """Rupees in the position's favour; larger than in the rule before."""
    stop_at_gain: Number | None = None
    """Rupees in the position's favour; less than `gain`."""
    trail_points: Number | None = None
    """Rupees; only in the last rule."""


class ModifyOrderBodyItem(Struct, kw_only=True, omit_defaults=True):
    order_id: str | int | None = None
    """The broker's own id: 1 to 64 letters, digits, hyphens or underscores; or an integer."""
    broker: str | None = None
    """Broker code; needed only when two brokers hold the id."""
    parent_id: str | None = None
    """UUID, in place of order_id: its one held order."""
    part: str | None = None
    """With parent_id: a part that has sent nothing yet."""
    price: Number | None = None
    """Rupees, whole ticks."""
    trigger_price: Number | None = None
    """Rupees, whole ticks."""
    quantity: int | None = None
    """New total in units, whole lots, not below what has filled."""
    order_type: OrderType | None = None
    """MARKET, LIMIT, SL or SL-M; not of synthetic orders."""
    validity: OrderValidity | None = None
    """DAY or IOC; not of synthetic orders."""
    disclosed_quantity: int | None = None
    """Units, at most quantity; not of synthetic orders."""


class ModifyOrderBodyList(Struct, kw_only=True, omit_defaults=True):
    orders: list[ModifyOrderBodyItem]
    """Each with what the single form takes."""
    dry_run: bool | None = None
    """Build the broker's request and send nothing."""


class ModifyOrderBodyOne(Struct, kw_only=True, omit_defaults=True):
    order_id: str | int | None = None
    """The broker's own id: 1 to 64 letters, digits, hyphens or underscores; or an integer."""
    broker: str | None = None
    """Broker code; needed only when two brokers hold the id."""
    parent_id: str | None = None
    """UUID, in place of order_id: its one held order."""
    part: str | None = None
    """With parent_id: a part that has sent nothing yet."""
    price: Number | None = None
    """Rupees, whole ticks."""
    trigger_price: Number | None = None
    """Rupees, whole ticks."""
    quantity: int | None = None
    """New total in units, whole lots, not below what has filled."""
    order_type: OrderType | None = None
    """MARKET, LIMIT, SL or SL-M; not of synthetic orders."""
    validity: OrderValidity | None = None
    """DAY or IOC; not of synthetic orders."""
    disclosed_quantity: int | None = None
    """Units, at most quantity; not of synthetic orders."""
    dry_run: bool | None = None
    """Build the broker's request and send nothing."""


class NativeStopPrice(Struct, kw_only=True, omit_defaults=True, tag_field="kind", tag="native_stop"):
    """A real stop at the broker. With no limit at all it is sent as SL-M."""

    trigger_price: Number
    limit_price: Number | None = None
    limit_offset: Number | None = None
    """Rupees from the trigger to the limit, in place of limit_price."""
    marketable_after_seconds: Number | None = None
    """Send the rest at the market when the stop fired this long ago."""


class OcaOrder(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="oca"):
    """Candidate entries, rest cancelled on first fill."""

    closes_position: bool | None = None
    """True: the order may use the part of a broker's daily order cap that is kept for exits."""
    exits_follow_position: bool | None = None
    """(ours) An exit becomes smaller, or ends, when the position that it guards has become smaller without the plan."""
    hold_limits: bool | None = None
    """True: limits are kept in the engine until the market reaches them."""
    candidates: list[CandidateOrder]
    """The orders. What an order leaves out comes from the body."""


class OcaPart(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="oca"):
    """Candidate entries, rest cancelled on first fill."""

    part: Literal["preset"]
    instrument_id: str | None = None
    transaction_type: Side | None = None
    product: Product | None = None
    order_type: OrderType | None = None
    validity: OrderValidity | None = None
    quantity: int | None = None
    price: Number | None = None
    trigger_price: Number | None = None
    tag: str | None = None
    broker: str | None = None
    when: PlanCondition | None = None
    """The part waits until the condition is true."""
    lifetime: PlanLifetime | None = None
    candidates: list[CandidateOrder]
    """The orders. What an order leaves out comes from the body."""


class OcoOrder(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="oco"):
    """Stop and target on a held position, each shrinking as the other fills."""

    closes_position: bool | None = None
    """True: the order may use the part of a broker's daily order cap that is kept for exits."""
    exits_follow_position: bool | None = None
    """(ours) An exit becomes smaller, or ends, when the position that it guards has become smaller without the plan."""
    hold_limits: bool | None = None
    """True: limits are kept in the engine until the market reaches them."""
    stop_price: Number
    """Rupees. The trigger of the stop."""
    stop_limit_price: Number
    """Rupees. The limit of the stop."""
    target_price: Number
    """Rupees. The limit of the target."""


class OcoPart(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="oco"):
    """Stop and target on a held position, each shrinking as the other fills."""

    part: Literal["preset"]
    instrument_id: str | None = None
    transaction_type: Side | None = None
    product: Product | None = None
    order_type: OrderType | None = None
    validity: OrderValidity | None = None
    quantity: int | None = None
    price: Number | None = None
    trigger_price: Number | None = None
    tag: str | None = None
    broker: str | None = None
    when: PlanCondition | None = None
    """The part waits until the condition is true."""
    lifetime: PlanLifetime | None = None
    stop_price: Number
    """Rupees. The trigger of the stop."""
    stop_limit_price: Number
    """Rupees. The limit of the stop."""
    target_price: Number
    """Rupees. The limit of the target."""


class OneCancelsOthersPart(Struct, kw_only=True, omit_defaults=True, tag_field="part", tag="one_cancels_others"):
    """Parts at once, of which one ends or shrinks the others."""

    when: PlanCondition | None = None
    """The part waits until the condition is true."""
    lifetime: PlanLifetime | None = None
    children: list[PlanPart]
    rule: Rule | None = None
    """`cancel`: the first fill ends the others. `shrink`: each child keeps the quantity that the others have left. `trigger`: the first child whose `when` comes true ends the others before it sends."""


class OpeningAuctionOrder(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="opening_auction"):
    """Limit for the pre-open session."""

    closes_position: bool | None = None
    """True: the order may use the part of a broker's daily order cap that is kept for exits."""
    exits_follow_position: bool | None = None
    """(ours) An exit becomes smaller, or ends, when the position that it guards has become smaller without the plan."""
    hold_limits: bool | None = None
    """True: limits are kept in the engine until the market reaches them."""
    at_time: str | None = None
    """India time at which the order leaves."""
    unfilled: Unfilled | None = None
    """What happens to what the auction leaves."""


class OpeningAuctionPart(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="opening_auction"):
    """Limit for the pre-open session."""

    part: Literal["preset"]
    instrument_id: str | None = None
    transaction_type: Side | None = None
    product: Product | None = None
    order_type: OrderType | None = None
    validity: OrderValidity | None = None
    quantity: int | None = None
    price: Number | None = None
    trigger_price: Number | None = None
    tag: str | None = None
    broker: str | None = None
    when: PlanCondition | None = None
    """The part waits until the condition is true."""
    lifetime: PlanLifetime | None = None
    at_time: str | None = None
    """India time at which the order leaves."""
    unfilled: Unfilled | None = None
    """What happens to what the auction leaves."""


class OptionModelPrice(Struct, kw_only=True, omit_defaults=True, tag_field="kind", tag="option_model"):
    """An option's limit from a volatility, by Black-76. The body's price is the worst that is accepted."""

    watch_instrument_id: str
    volatility: Number
    """Percent a year."""
    interest_rate: Number | None = None
    """Percent a year."""
    lowest_price: Number | None = None
    highest_price: Number | None = None
    step_ticks: int | None = None


class OrderPart(Struct, kw_only=True, omit_defaults=True):
    """Sends broker orders. What it leaves out comes from the body."""

    part: Literal["order"] | None = None
    when: PlanCondition | None = None
    """The part waits until the condition is true."""
    lifetime: PlanLifetime | None = None
    instrument_id: str | None = None
    transaction_type: Side | None = None
    product: Product | None = None
    validity: OrderValidity | None = None
    tag: str | None = None
    broker: str | None = None
    """Broker code."""
    quantity: int | PlanQuantity | None = None
    """Units, whole lots. Left out: the body's quantity, or below `each_fill` the filled quantity."""
    price: PlanPrice | None = None
    """Left out: by the body's order_type and prices."""
    execution: PlanExecution | None = None
    """Left out: one order."""
    hold: bool | None = None
    """Keep the limit in the engine until the market reaches it."""
    closes: bool | None = None
    """The order closes a position, and may use what is kept for exits."""
    each_fill: PlanPart | None = None
    """A part that is sized to the fills of this part."""


class OtoOrder(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="oto"):
    """Second order sized to what filled once the first fills."""

    closes_position: bool | None = None
    """True: the order may use the part of a broker's daily order cap that is kept for exits."""
    exits_follow_position: bool | None = None
    """(ours) An exit becomes smaller, or ends, when the position that it guards has become smaller without the plan."""
    hold_limits: bool | None = None
    """True: limits are kept in the engine until the market reaches them."""
    then: SecondOrder
    """The second order. What it leaves out comes from the body."""
    ratio: Number | None = None
    """Units of the second order for one filled unit. Share of the first order's filled quantity."""


class OtoPart(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="oto"):
    """Second order sized to what filled once the first fills."""

    part: Literal["preset"]
    instrument_id: str | None = None
    transaction_type: Side | None = None
    product: Product | None = None
    order_type: OrderType | None = None
    validity: OrderValidity | None = None
    quantity: int | None = None
    price: Number | None = None
    trigger_price: Number | None = None
    tag: str | None = None
    broker: str | None = None
    when: PlanCondition | None = None
    """The part waits until the condition is true."""
    lifetime: PlanLifetime | None = None
    then: SecondOrder
    """The second order. What it leaves out comes from the body."""
    ratio: Number | None = None
    """Units of the second order for one filled unit. Share of the first order's filled quantity."""


class ParticipationExecution(Struct, kw_only=True, omit_defaults=True, tag_field="kind", tag="participation"):
    """Pieces by the market's volume."""

    percent: Number
    most_slices: int | None = None


class ParticipationOrder(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="participation"):
    """Fixed share of market volume."""

    closes_position: bool | None = None
    """True: the order may use the part of a broker's daily order cap that is kept for exits."""
    exits_follow_position: bool | None = None
    """(ours) An exit becomes smaller, or ends, when the position that it guards has become smaller without the plan."""
    hold_limits: bool | None = None
    """True: limits are kept in the engine until the market reaches them."""
    participation_percent: Number
    """Share of the market's volume, in percent."""
    most_slices: int | None = None
    """The most pieces."""


class ParticipationPart(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="participation"):
    """Fixed share of market volume."""

    part: Literal["preset"]
    instrument_id: str | None = None
    transaction_type: Side | None = None
    product: Product | None = None
    order_type: OrderType | None = None
    validity: OrderValidity | None = None
    quantity: int | None = None
    price: Number | None = None
    trigger_price: Number | None = None
    tag: str | None = None
    broker: str | None = None
    when: PlanCondition | None = None
    """The part waits until the condition is true."""
    lifetime: PlanLifetime | None = None
    participation_percent: Number
    """Share of the market's volume, in percent."""
    most_slices: int | None = None
    """The most pieces."""


class PegOrder(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="peg"):
    """Limit re-priced to the book."""

    closes_position: bool | None = None
    """True: the order may use the part of a broker's daily order cap that is kept for exits."""
    exits_follow_position: bool | None = None
    """(ours) An exit becomes smaller, or ends, when the position that it guards has become smaller without the plan."""
    hold_limits: bool | None = None
    """True: limits are kept in the engine until the market reaches them."""
    reference: Touch | None = None
    """The price of the book that the limit follows."""
    offset_ticks: int | None = None
    """Away from the market; a negative value moves towards it."""
    cap_price: Number | None = None
    """Rupees. The worst price that is paid or taken."""


class PegPart(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="peg"):
    """Limit re-priced to the book."""

    part: Literal["preset"]
    instrument_id: str | None = None
    transaction_type: Side | None = None
    product: Product | None = None
    order_type: OrderType | None = None
    validity: OrderValidity | None = None
    quantity: int | None = None
    price: Number | None = None
    trigger_price: Number | None = None
    tag: str | None = None
    broker: str | None = None
    when: PlanCondition | None = None
    """The part waits until the condition is true."""
    lifetime: PlanLifetime | None = None
    reference: Touch | None = None
    """The price of the book that the limit follows."""
    offset_ticks: int | None = None
    """Away from the market; a negative value moves towards it."""
    cap_price: Number | None = None
    """Rupees. The worst price that is paid or taken."""


class PegPrice(Struct, kw_only=True, omit_defaults=True, tag_field="kind", tag="peg"):
    """A limit that is re-priced to the book."""

    reference: Touch | None = None
    offset_ticks: int | None = None
    """Away from the market; a negative offset is towards it."""
    cap_price: Number | None = None
    """The worst price."""


class PlaceOrderBodyItem(Struct, kw_only=True, omit_defaults=True):
    instrument_id: str | None = None
    """UUID of the instrument; or name it by exchange, segment and identity fields."""
    exchange: OrderExchange | None = None
    """nse, bse, mcx or ncdex."""
    segment: SegmentOrdered | None = None
    """Segment of the exchange, with or without its prefix."""
    symbol: str | None = None
    """For a security segment."""
    underlying_symbol: str | None = None
    """For a future or option segment."""
    expiry_date: date | str | None = None
    """For a future or option segment."""
    strike_price: Number | None = None
    """For an option segment, in rupees."""
    option_type: OptionType | None = None
    """For an option segment: CE or PE."""
    transaction_type: Side | None = None
    """BUY or SELL. This, product and order_type are required but for basket, oca and plan."""
    product: Product | None = None
    """CNC, MIS or NRML."""
    order_type: OrderType | None = None
    """MARKET, LIMIT, SL or SL-M."""
    validity: OrderValidity | None = None
    """DAY (default) or IOC."""
    quantity: int | None = None
    """Units, at least 1, whole lots; required unless quantity_reference, the position or the parts give it."""
    disclosed_quantity: int | None = None
    """Units, at most quantity."""
    price: Number | None = None
    """Rupees; for LIMIT and SL, whole ticks; not needed with price_reference."""
    trigger_price: Number | None = None
    """Rupees; for SL and SL-M, whole ticks."""
    price_reference: PriceReference | None = None
    """In the place of a price, worked out from the live quote just before the order is built. Offsets are towards filling."""
    quantity_reference: QuantityReference | None = None
    """What the quantity is measured by; reduce_position and liquidate_position send the side that closes the position."""
    after_market: bool | None = None
    """Send outside market hours."""
    tag: str | None = None
    """1 to 20 letters and digits; comes back in the order book."""
    broker: str | None = None
    """Broker code to use instead of the service's choice."""
    synthetic: SyntheticOrder | None = None
    """The type of the order with its settings (docs/order-types.md). Without it an order is simple, but a MARKET order runs as a marketable_limit while that mode is on."""


class PlaceOrderBodyList(Struct, kw_only=True, omit_defaults=True):
    orders: list[PlaceOrderBodyItem]
    """Orders as in the single form, without dry_run; at most place_list_maximum (500). Each is answered by itself, in this order."""
    dry_run: bool | None = None
    """Of the whole list."""


class PlaceOrderBodyOne(Struct, kw_only=True, omit_defaults=True):
    instrument_id: str | None = None
    """UUID of the instrument; or name it by exchange, segment and identity fields."""
    exchange: OrderExchange | None = None
    """nse, bse, mcx or ncdex."""
    segment: SegmentOrdered | None = None
    """Segment of the exchange, with or without its prefix."""
    symbol: str | None = None
    """For a security segment."""
    underlying_symbol: str | None = None
    """For a future or option segment."""
    expiry_date: date | str | None = None
    """For a future or option segment."""
    strike_price: Number | None = None
    """For an option segment, in rupees."""
    option_type: OptionType | None = None
    """For an option segment: CE or PE."""
    transaction_type: Side | None = None
    """BUY or SELL. This, product and order_type are required but for basket, oca and plan."""
    product: Product | None = None
    """CNC, MIS or NRML."""
    order_type: OrderType | None = None
    """MARKET, LIMIT, SL or SL-M."""
    validity: OrderValidity | None = None
    """DAY (default) or IOC."""
    quantity: int | None = None
    """Units, at least 1, whole lots; required unless quantity_reference, the position or the parts give it."""
    disclosed_quantity: int | None = None
    """Units, at most quantity."""
    price: Number | None = None
    """Rupees; for LIMIT and SL, whole ticks; not needed with price_reference."""
    trigger_price: Number | None = None
    """Rupees; for SL and SL-M, whole ticks."""
    price_reference: PriceReference | None = None
    """In the place of a price, worked out from the live quote just before the order is built. Offsets are towards filling."""
    quantity_reference: QuantityReference | None = None
    """What the quantity is measured by; reduce_position and liquidate_position send the side that closes the position."""
    after_market: bool | None = None
    """Send outside market hours."""
    dry_run: bool | None = None
    """Build the broker's request and send nothing."""
    tag: str | None = None
    """1 to 20 letters and digits; comes back in the order book."""
    broker: str | None = None
    """Broker code to use instead of the service's choice."""
    synthetic: SyntheticOrder | None = None
    """The type of the order with its settings (docs/order-types.md). Without it an order is simple, but a MARKET order runs as a marketable_limit while that mode is on."""


class PlanCondition(Struct, kw_only=True, omit_defaults=True):
    """A condition, or several: exactly one of the fields."""

    price: PriceCondition | None = None
    bar_close: BarCondition | None = None
    time: str | None = None
    account: AccountCondition | None = None
    pnl: PnlCondition | None = None
    all: list[PlanConditionInGroup] | None = None
    any: list[PlanConditionInGroup] | None = None


class PlanConditionInGroup(Struct, kw_only=True, omit_defaults=True):
    """One condition: exactly one of the fields."""

    price: PriceCondition | None = None
    bar_close: BarCondition | None = None
    time: str | None = None
    account: AccountCondition | None = None
    pnl: PnlCondition | None = None


class PlanLifetime(Struct, kw_only=True, omit_defaults=True):
    """The end of a part: at least one of at_time, after_minutes, after_days and when."""

    at_time: str | None = None
    """HH:MM or HH:MM:SS, India time."""
    after_minutes: Number | None = None
    after_days: int | None = None
    when: PlanCondition | None = None
    applies_to: AppliesTo | None = None
    """Which parts it ends: those that wait, those that work, or both."""
    on_end: OnEnd | None = None


class PlanOrder(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="plan"):
    """Parts that send and manage broker orders (docs/plans.md)."""

    closes_position: bool | None = None
    """True: the order may use the part of a broker's daily order cap that is kept for exits."""
    exits_follow_position: bool | None = None
    """(ours) An exit becomes smaller, or ends, when the position that it guards has become smaller without the plan."""
    hold_limits: bool | None = None
    """True: limits are kept in the engine until the market reaches them."""
    root: PlanPart


class PlanQuantity(Struct, kw_only=True, omit_defaults=True):
    """A quantity that is worked out: exactly one of share, from_fill, position and exposure."""

    share: Number | None = None
    """Of the body's quantity, or below `each_fill` of the filled quantity."""
    from_fill: FilledQuantity | None = None
    position: PositionQuantity | None = None
    exposure: ExposureQuantity | None = None
    most: int | None = None
    """The most units; only with position."""


class PnlCondition(Struct, kw_only=True, omit_defaults=True):
    """The joint profit and loss of positions passes a limit: one of loss, profit and give_back at least, in rupees."""

    instrument_ids: list[str] | None = None
    every_instrument: bool | None = None
    """In place of instrument_ids."""
    product: ExposureHedgeOrderProduct | None = None
    """Left out: all products."""
    loss: Number | None = None
    profit: Number | None = None
    give_back: Number | None = None
    """Falls back by so much from its best."""
    since: Since | None = None


class PositionQuantity(Struct, kw_only=True, omit_defaults=True):
    """The quantity that closes the net positions when the part becomes due."""

    product: ExposureHedgeOrderProduct | None = None
    """Left out: all products."""
    instrument_ids: list[str] | None = None
    """Left out: the part's own instrument."""
    every_instrument: bool | None = None
    ratio: Ratio | None = None
    """2 reverses the positions."""
    cancel_resting_first: bool | None = None


class PostOnlyOrder(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="post_only"):
    """Checks a limit would rest."""

    closes_position: bool | None = None
    """True: the order may use the part of a broker's daily order cap that is kept for exits."""
    exits_follow_position: bool | None = None
    """(ours) An exit becomes smaller, or ends, when the position that it guards has become smaller without the plan."""
    hold_limits: bool | None = None
    """True: limits are kept in the engine until the market reaches them."""
    on_crossing: OnCrossing | None = None
    """What happens to a limit that would trade at once."""


class PostOnlyPart(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="post_only"):
    """Checks a limit would rest."""

    part: Literal["preset"]
    instrument_id: str | None = None
    transaction_type: Side | None = None
    product: Product | None = None
    order_type: OrderType | None = None
    validity: OrderValidity | None = None
    quantity: int | None = None
    price: Number | None = None
    trigger_price: Number | None = None
    tag: str | None = None
    broker: str | None = None
    when: PlanCondition | None = None
    """The part waits until the condition is true."""
    lifetime: PlanLifetime | None = None
    on_crossing: OnCrossing | None = None
    """What happens to a limit that would trade at once."""


class PriceCondition(Struct, kw_only=True, omit_defaults=True):
    """A field of a quote reaches a level."""

    instrument_id: str | None = None
    """Left out: the part's own instrument."""
    field: QuoteField | None = None
    level: Number
    """Rupees, units or percent, by the field."""
    direction: Direction | None = None
    """Left out: the side on which the level lies when the part is armed."""


class PriceReference(Struct, kw_only=True, omit_defaults=True):
    """A price that is worked out from the live quote just before the order is built."""

    kind: PriceReferenceKind
    price: Number | None = None
    """Rupees; required for absolute."""
    level: int | None = None
    """Of bid_level and offer_level; 1 is the best."""
    buffer_percent: Number | None = None
    """Applied first; negative improves the price."""
    offset_percent: Number | None = None
    """Applied after buffer_percent."""
    offset_ticks: int | None = None
    """Applied last, in whole ticks."""


class QuantityReference(Struct, kw_only=True, omit_defaults=True):
    """What the quantity is measured by."""

    kind: QuantityReferenceKind
    product: ExposureHedgeOrderProduct | None = None
    """Product of the position; all products when left out."""


class ScaleOutOrder(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="scale_out"):
    """Bracket with several targets."""

    closes_position: bool | None = None
    """True: the order may use the part of a broker's daily order cap that is kept for exits."""
    exits_follow_position: bool | None = None
    """(ours) An exit becomes smaller, or ends, when the position that it guards has become smaller without the plan."""
    hold_limits: bool | None = None
    """True: limits are kept in the engine until the market reaches them."""
    target_prices: list[Number]
    """Rupees. The limits of the targets, the nearest first."""
    stop_price: Number
    """Rupees. The trigger of the stop."""
    stop_limit_price: Number
    """Rupees. The limit of the stop."""
    breakeven_after: int | None = None
    """After this many filled targets the stop moves to the entry's average."""
    target_quantities: list[int] | None = None
    """Units; None while the order's quantity is not known."""


class ScaleOutPart(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="scale_out"):
    """Bracket with several targets."""

    part: Literal["preset"]
    instrument_id: str | None = None
    transaction_type: Side | None = None
    product: Product | None = None
    order_type: OrderType | None = None
    validity: OrderValidity | None = None
    quantity: int | None = None
    price: Number | None = None
    trigger_price: Number | None = None
    tag: str | None = None
    broker: str | None = None
    when: PlanCondition | None = None
    """The part waits until the condition is true."""
    lifetime: PlanLifetime | None = None
    target_prices: list[Number]
    """Rupees. The limits of the targets, the nearest first."""
    stop_price: Number
    """Rupees. The trigger of the stop."""
    stop_limit_price: Number
    """Rupees. The limit of the stop."""
    breakeven_after: int | None = None
    """After this many filled targets the stop moves to the entry's average."""
    target_quantities: list[int] | None = None
    """Units; None while the order's quantity is not known."""


class ScaleWithProfitTakerOrder(
    Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="scale_with_profit_taker"
):
    """Scale in down a ladder, each fill with a profit order."""

    closes_position: bool | None = None
    """True: the order may use the part of a broker's daily order cap that is kept for exits."""
    exits_follow_position: bool | None = None
    """(ours) An exit becomes smaller, or ends, when the position that it guards has become smaller without the plan."""
    hold_limits: bool | None = None
    """True: limits are kept in the engine until the market reaches them."""
    levels: int
    """How many orders."""
    step_points: Number
    """Rupees between two orders."""
    profit_points: Number
    """Rupees between a fill and its profit taker."""
    from_price: Number | None = None
    """Rupees. The first limit."""
    restore: bool | None = None
    """Send a rung again when its profit taker has filled."""


class ScaleWithProfitTakerPart(
    Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="scale_with_profit_taker"
):
    """Scale in down a ladder, each fill with a profit order."""

    part: Literal["preset"]
    instrument_id: str | None = None
    transaction_type: Side | None = None
    product: Product | None = None
    order_type: OrderType | None = None
    validity: OrderValidity | None = None
    quantity: int | None = None
    price: Number | None = None
    trigger_price: Number | None = None
    tag: str | None = None
    broker: str | None = None
    when: PlanCondition | None = None
    """The part waits until the condition is true."""
    lifetime: PlanLifetime | None = None
    levels: int
    """How many orders."""
    step_points: Number
    """Rupees between two orders."""
    profit_points: Number
    """Rupees between a fill and its profit taker."""
    from_price: Number | None = None
    """Rupees. The first limit."""
    restore: bool | None = None
    """Send a rung again when its profit taker has filled."""


class ScheduledOrder(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="scheduled"):
    """Holds until a time of day."""

    closes_position: bool | None = None
    """True: the order may use the part of a broker's daily order cap that is kept for exits."""
    exits_follow_position: bool | None = None
    """(ours) An exit becomes smaller, or ends, when the position that it guards has become smaller without the plan."""
    hold_limits: bool | None = None
    """True: limits are kept in the engine until the market reaches them."""
    at_time: str
    """India time at which the order leaves."""


class ScheduledPart(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="scheduled"):
    """Holds until a time of day."""

    part: Literal["preset"]
    instrument_id: str | None = None
    transaction_type: Side | None = None
    product: Product | None = None
    order_type: OrderType | None = None
    validity: OrderValidity | None = None
    quantity: int | None = None
    price: Number | None = None
    trigger_price: Number | None = None
    tag: str | None = None
    broker: str | None = None
    when: PlanCondition | None = None
    """The part waits until the condition is true."""
    lifetime: PlanLifetime | None = None
    at_time: str
    """India time at which the order leaves."""


class SecondOrder(Struct, kw_only=True, omit_defaults=True):
    """The second order of oto. Instrument, product and tag are the body's where it gives none; its quantity is the most that it sends."""

    instrument_id: str | None = None
    transaction_type: Side | None = None
    product: Product | None = None
    order_type: OrderType | None = None
    validity: OrderValidity | None = None
    quantity: int | None = None
    price: Number | None = None
    trigger_price: Number | None = None
    tag: str | None = None
    broker: str | None = None
    price_reference: PriceReference | None = None
    """In the place of the price, worked out when the order is sent."""


class SequencePart(Struct, kw_only=True, omit_defaults=True, tag_field="part", tag="sequence"):
    """`first`, and then `then`."""

    when: PlanCondition | None = None
    """The part waits until the condition is true."""
    lifetime: PlanLifetime | None = None
    first: PlanPart
    then: PlanPart
    start_then: StartThen | None = None
    """`filled`: when first has filled; `done`: when first and all that hangs on it have ended."""


class SimpleOrder(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="simple"):
    """One order to one broker."""

    closes_position: bool | None = None
    """True: the order may use the part of a broker's daily order cap that is kept for exits."""
    exits_follow_position: bool | None = None
    """(ours) An exit becomes smaller, or ends, when the position that it guards has become smaller without the plan."""
    hold_limits: bool | None = None
    """True: limits are kept in the engine until the market reaches them."""


class SquareOffOrder(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="square_off"):
    """Closes positions at a time of day."""

    closes_position: bool | None = None
    """True: the order may use the part of a broker's daily order cap that is kept for exits."""
    exits_follow_position: bool | None = None
    """(ours) An exit becomes smaller, or ends, when the position that it guards has become smaller without the plan."""
    hold_limits: bool | None = None
    """True: limits are kept in the engine until the market reaches them."""
    at_time: str | None = None
    """India time at which the order leaves."""
    now: bool | None = None
    """Close at once."""
    products: list[ExposureHedgeOrderProduct] | None = None
    """Products of the positions."""
    every_instrument: bool | None = None
    """All positions, in the place of instrument_ids."""
    instrument_ids: list[str] | None = None
    """The instruments of the positions."""
    cancel_resting_first: bool | None = None
    """Cancel first what rests in the positions' instruments, whoever sent it."""
    buffer_ticks: int | None = None
    """How many ticks past the best price of the other side the limit goes."""


class SquareOffPart(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="square_off"):
    """Closes positions at a time of day."""

    part: Literal["preset"]
    instrument_id: str | None = None
    transaction_type: Side | None = None
    product: Product | None = None
    order_type: OrderType | None = None
    validity: OrderValidity | None = None
    quantity: int | None = None
    price: Number | None = None
    trigger_price: Number | None = None
    tag: str | None = None
    broker: str | None = None
    when: PlanCondition | None = None
    """The part waits until the condition is true."""
    lifetime: PlanLifetime | None = None
    at_time: str | None = None
    """India time at which the order leaves."""
    now: bool | None = None
    """Close at once."""
    products: list[ExposureHedgeOrderProduct] | None = None
    """Products of the positions."""
    every_instrument: bool | None = None
    """All positions, in the place of instrument_ids."""
    instrument_ids: list[str] | None = None
    """The instruments of the positions."""
    cancel_resting_first: bool | None = None
    """Cancel first what rests in the positions' instruments, whoever sent it."""
    buffer_ticks: int | None = None
    """How many ticks past the best price of the other side the limit goes."""


class StagesPrice(Struct, kw_only=True, omit_defaults=True, tag_field="kind", tag="stages"):
    """A stop that milestones move, only in the position's favour."""

    entry_price: Number | None = None
    """Left out: the body's price; below `each_fill`: the average price of the fills."""
    stop_price: Number
    limit_offset: Number
    """Rupees from the trigger to the limit."""
    rules: list[Milestone]
    step_ticks: int | None = None
    marketable_after_seconds: Number | None = None


class SteppedStopOrder(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="stepped_stop"):
    """Stop moved by milestones."""

    closes_position: bool | None = None
    """True: the order may use the part of a broker's daily order cap that is kept for exits."""
    exits_follow_position: bool | None = None
    """(ours) An exit becomes smaller, or ends, when the position that it guards has become smaller without the plan."""
    hold_limits: bool | None = None
    """True: limits are kept in the engine until the market reaches them."""
    entry_price: Number
    """Rupees. The price of the position, from which gains are counted."""
    stop_price: Number
    """Rupees. The trigger of the stop."""
    stop_limit_offset: Number
    """Rupees from the stop's trigger to its limit."""
    rules: list[Milestone]
    """The milestones, the smallest gain first."""
    step_ticks: int | None = None
    """The order moves when its price differs by this many ticks."""


class SteppedStopPart(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="stepped_stop"):
    """Stop moved by milestones."""

    part: Literal["preset"]
    instrument_id: str | None = None
    transaction_type: Side | None = None
    product: Product | None = None
    order_type: OrderType | None = None
    validity: OrderValidity | None = None
    quantity: int | None = None
    price: Number | None = None
    trigger_price: Number | None = None
    tag: str | None = None
    broker: str | None = None
    when: PlanCondition | None = None
    """The part waits until the condition is true."""
    lifetime: PlanLifetime | None = None
    entry_price: Number
    """Rupees. The price of the position, from which gains are counted."""
    stop_price: Number
    """Rupees. The trigger of the stop."""
    stop_limit_offset: Number
    """Rupees from the stop's trigger to its limit."""
    rules: list[Milestone]
    """The milestones, the smallest gain first."""
    step_ticks: int | None = None
    """The order moves when its price differs by this many ticks."""


class StopAndReverseOrder(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="stop_and_reverse"):
    """Closes the position at a level and opens the opposite."""

    closes_position: bool | None = None
    """True: the order may use the part of a broker's daily order cap that is kept for exits."""
    exits_follow_position: bool | None = None
    """(ours) An exit becomes smaller, or ends, when the position that it guards has become smaller without the plan."""
    hold_limits: bool | None = None
    """True: limits are kept in the engine until the market reaches them."""
    trigger_price: Number
    """Rupees. The price that the order waits for."""
    trigger_direction: Direction | None = None
    """The side from which the price must come; the level's side when the order is armed, when left out. None until the position is known: then below for a long position, above for a short one."""
    buffer_ticks: int | None = None
    """How many ticks past the best price of the other side the limit goes."""
    cancel_resting_first: bool | None = None
    """Cancel first what rests in the positions' instruments, whoever sent it."""


class StopAndReversePart(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="stop_and_reverse"):
    """Closes the position at a level and opens the opposite."""

    part: Literal["preset"]
    instrument_id: str | None = None
    transaction_type: Side | None = None
    product: Product | None = None
    order_type: OrderType | None = None
    validity: OrderValidity | None = None
    quantity: int | None = None
    price: Number | None = None
    trigger_price: Number
    """Rupees. The price that the order waits for."""
    tag: str | None = None
    broker: str | None = None
    when: PlanCondition | None = None
    """The part waits until the condition is true."""
    lifetime: PlanLifetime | None = None
    trigger_direction: Direction | None = None
    """The side from which the price must come; the level's side when the order is armed, when left out. None until the position is known: then below for a long position, above for a short one."""
    buffer_ticks: int | None = None
    """How many ticks past the best price of the other side the limit goes."""
    cancel_resting_first: bool | None = None
    """Cancel first what rests in the positions' instruments, whoever sent it."""


class StrategyStopOrder(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="strategy_stop"):
    """Closes several positions when their joint profit and loss passes a limit."""

    closes_position: bool | None = None
    """True: the order may use the part of a broker's daily order cap that is kept for exits."""
    exits_follow_position: bool | None = None
    """(ours) An exit becomes smaller, or ends, when the position that it guards has become smaller without the plan."""
    hold_limits: bool | None = None
    """True: limits are kept in the engine until the market reaches them."""
    instrument_ids: list[str] | None = None
    """The instruments of the positions."""
    every_instrument: bool | None = None
    """All positions, in the place of instrument_ids."""
    product: ExposureHedgeOrderProduct | None = None
    """Product of the positions; all products when left out."""
    max_loss: Number | None = None
    """Rupees. Close when the joint loss reaches this. Rupees, as are target_profit and give_back."""
    target_profit: Number | None = None
    """Rupees. Close when the joint profit reaches this."""
    give_back: Number | None = None
    """Rupees. Close when the profit falls back by so much from its best. Measured from the best figure."""
    since: Since | None = None
    """From when the profit and loss is counted."""
    buffer_ticks: int | None = None
    """How many ticks past the best price of the other side the limit goes."""
    cancel_resting_first: bool | None = None
    """Cancel first what rests in the positions' instruments, whoever sent it."""


class StrategyStopPart(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="strategy_stop"):
    """Closes several positions when their joint profit and loss passes a limit."""

    part: Literal["preset"]
    instrument_id: str | None = None
    transaction_type: Side | None = None
    product: ExposureHedgeOrderProduct | None = None
    """Product of the positions; all products when left out."""
    order_type: OrderType | None = None
    validity: OrderValidity | None = None
    quantity: int | None = None
    price: Number | None = None
    trigger_price: Number | None = None
    tag: str | None = None
    broker: str | None = None
    when: PlanCondition | None = None
    """The part waits until the condition is true."""
    lifetime: PlanLifetime | None = None
    instrument_ids: list[str] | None = None
    """The instruments of the positions."""
    every_instrument: bool | None = None
    """All positions, in the place of instrument_ids."""
    max_loss: Number | None = None
    """Rupees. Close when the joint loss reaches this. Rupees, as are target_profit and give_back."""
    target_profit: Number | None = None
    """Rupees. Close when the joint profit reaches this."""
    give_back: Number | None = None
    """Rupees. Close when the profit falls back by so much from its best. Measured from the best figure."""
    since: Since | None = None
    """From when the profit and loss is counted."""
    buffer_ticks: int | None = None
    """How many ticks past the best price of the other side the limit goes."""
    cancel_resting_first: bool | None = None
    """Cancel first what rests in the positions' instruments, whoever sent it."""


class TimeStopOrder(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="time_stop"):
    """Entry, closes what filled at a time or after minutes."""

    closes_position: bool | None = None
    """True: the order may use the part of a broker's daily order cap that is kept for exits."""
    exits_follow_position: bool | None = None
    """(ours) An exit becomes smaller, or ends, when the position that it guards has become smaller without the plan."""
    hold_limits: bool | None = None
    """True: limits are kept in the engine until the market reaches them."""
    until_time: str | None = None
    """India time at which the order ends."""
    minutes: Number | None = None
    """Minutes after which the filled quantity is closed. Counted from the placement, including the time that it waits."""


class TimeStopPart(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="time_stop"):
    """Entry, closes what filled at a time or after minutes."""

    part: Literal["preset"]
    instrument_id: str | None = None
    transaction_type: Side | None = None
    product: Product | None = None
    order_type: OrderType | None = None
    validity: OrderValidity | None = None
    quantity: int | None = None
    price: Number | None = None
    trigger_price: Number | None = None
    tag: str | None = None
    broker: str | None = None
    when: PlanCondition | None = None
    """The part waits until the condition is true."""
    lifetime: PlanLifetime | None = None
    until_time: str | None = None
    """India time at which the order ends."""
    minutes: Number | None = None
    """Minutes after which the filled quantity is closed. Counted from the placement, including the time that it waits."""


class TogetherPart(Struct, kw_only=True, omit_defaults=True, tag_field="part", tag="together"):
    """Parts at once, independent of each other."""

    when: PlanCondition | None = None
    """The part waits until the condition is true."""
    lifetime: PlanLifetime | None = None
    children: list[PlanPart]


class TopUpExecution(Struct, kw_only=True, omit_defaults=True, tag_field="kind", tag="top_up"):
    """Pieces at a steady beat."""

    piece_quantity: int
    every_seconds: Number | None = None
    randomise_percent: Number | None = None
    wait_for_fill: bool | None = None
    catch_up: bool | None = None


class TrailPrice(Struct, kw_only=True, omit_defaults=True, tag_field="kind", tag="trail"):
    """A real stop-limit that follows the best last price since its start. It never moves back. Give points or percent."""

    points: Number | None = None
    """Rupees."""
    percent: Number | None = None
    limit_offset: Number
    """Rupees from the trigger to the limit."""
    step_ticks: int | None = None
    """Move only when the trigger moves by this many ticks."""
    activate_at: Number | None = None
    """Place the stop only when the last price reaches this price."""
    atr: AtrDistance | None = None
    marketable_after_seconds: Number | None = None


class TrailingEntryOrder(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="trailing_entry"):
    """A stop entry that follows the market."""

    closes_position: bool | None = None
    """True: the order may use the part of a broker's daily order cap that is kept for exits."""
    exits_follow_position: bool | None = None
    """(ours) An exit becomes smaller, or ends, when the position that it guards has become smaller without the plan."""
    hold_limits: bool | None = None
    """True: limits are kept in the engine until the market reaches them."""
    trail_points: Number | None = None
    """Rupees between the best price and the stop."""
    trail_percent: Number | None = None
    """Percent between the best price and the stop. Give this or trail_points."""
    stop_limit_offset: Number
    """Rupees from the stop's trigger to its limit."""
    step_ticks: int | None = None
    """The order moves when its price differs by this many ticks."""
    activate_at: Number | None = None
    """Rupees. The stop is placed only when the last price reaches this price."""


class TrailingEntryPart(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="trailing_entry"):
    """A stop entry that follows the market."""

    part: Literal["preset"]
    instrument_id: str | None = None
    transaction_type: Side | None = None
    product: Product | None = None
    order_type: OrderType | None = None
    validity: OrderValidity | None = None
    quantity: int | None = None
    price: Number | None = None
    trigger_price: Number | None = None
    tag: str | None = None
    broker: str | None = None
    when: PlanCondition | None = None
    """The part waits until the condition is true."""
    lifetime: PlanLifetime | None = None
    trail_points: Number | None = None
    """Rupees between the best price and the stop."""
    trail_percent: Number | None = None
    """Percent between the best price and the stop. Give this or trail_points."""
    stop_limit_offset: Number
    """Rupees from the stop's trigger to its limit."""
    step_ticks: int | None = None
    """The order moves when its price differs by this many ticks."""
    activate_at: Number | None = None
    """Rupees. The stop is placed only when the last price reaches this price."""


class TrailingStopOrder(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="trailing_stop"):
    """Real stop whose trigger follows the market."""

    closes_position: bool | None = None
    """True: the order may use the part of a broker's daily order cap that is kept for exits."""
    exits_follow_position: bool | None = None
    """(ours) An exit becomes smaller, or ends, when the position that it guards has become smaller without the plan."""
    hold_limits: bool | None = None
    """True: limits are kept in the engine until the market reaches them."""
    trail_points: Number | None = None
    """Rupees between the best price and the stop."""
    trail_percent: Number | None = None
    """Percent between the best price and the stop. Give this or trail_points."""
    stop_limit_offset: Number
    """Rupees from the stop's trigger to its limit."""
    step_ticks: int | None = None
    """The order moves when its price differs by this many ticks."""
    activate_at: Number | None = None
    """Rupees. The stop is placed only when the last price reaches this price."""


class TrailingStopPart(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="trailing_stop"):
    """Real stop whose trigger follows the market."""

    part: Literal["preset"]
    instrument_id: str | None = None
    transaction_type: Side | None = None
    product: Product | None = None
    order_type: OrderType | None = None
    validity: OrderValidity | None = None
    quantity: int | None = None
    price: Number | None = None
    trigger_price: Number | None = None
    tag: str | None = None
    broker: str | None = None
    when: PlanCondition | None = None
    """The part waits until the condition is true."""
    lifetime: PlanLifetime | None = None
    trail_points: Number | None = None
    """Rupees between the best price and the stop."""
    trail_percent: Number | None = None
    """Percent between the best price and the stop. Give this or trail_points."""
    stop_limit_offset: Number
    """Rupees from the stop's trigger to its limit."""
    step_ticks: int | None = None
    """The order moves when its price differs by this many ticks."""
    activate_at: Number | None = None
    """Rupees. The stop is placed only when the last price reaches this price."""


class TwapExecution(Struct, kw_only=True, omit_defaults=True, tag_field="kind", tag="twap"):
    """Equal slices at even intervals."""

    slices: int
    over_minutes: Number


class TwapOrder(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="twap"):
    """Equal slices at even intervals."""

    closes_position: bool | None = None
    """True: the order may use the part of a broker's daily order cap that is kept for exits."""
    exits_follow_position: bool | None = None
    """(ours) An exit becomes smaller, or ends, when the position that it guards has become smaller without the plan."""
    hold_limits: bool | None = None
    """True: limits are kept in the engine until the market reaches them."""
    slices: int
    """How many pieces."""
    over_minutes: Number
    """Minutes over which the slices are spread."""


class TwapPart(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="twap"):
    """Equal slices at even intervals."""

    part: Literal["preset"]
    instrument_id: str | None = None
    transaction_type: Side | None = None
    product: Product | None = None
    order_type: OrderType | None = None
    validity: OrderValidity | None = None
    quantity: int | None = None
    price: Number | None = None
    trigger_price: Number | None = None
    tag: str | None = None
    broker: str | None = None
    when: PlanCondition | None = None
    """The part waits until the condition is true."""
    lifetime: PlanLifetime | None = None
    slices: int
    """How many pieces."""
    over_minutes: Number
    """Minutes over which the slices are spread."""


class TwoSidedBreakoutOrder(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="two_sided_breakout"):
    """Buy stop above and sell stop below a range, exits set from the fill."""

    closes_position: bool | None = None
    """True: the order may use the part of a broker's daily order cap that is kept for exits."""
    exits_follow_position: bool | None = None
    """(ours) An exit becomes smaller, or ends, when the position that it guards has become smaller without the plan."""
    hold_limits: bool | None = None
    """True: limits are kept in the engine until the market reaches them."""
    buy_trigger: Number
    """Rupees. The trigger of the buy stop, above the range."""
    buy_limit: Number
    """Rupees. The limit of the buy stop."""
    sell_trigger: Number
    """Rupees. The trigger of the sell stop, below the range."""
    sell_limit: Number
    """Rupees. The limit of the sell stop."""
    stop_distance: Number
    """Rupees from the fill to the stop."""
    stop_limit_offset: Number
    """Rupees from the stop's trigger to its limit."""
    target_distance: Number | None = None
    """Rupees from the fill to the target."""


class TwoSidedBreakoutPart(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="two_sided_breakout"):
    """Buy stop above and sell stop below a range, exits set from the fill."""

    part: Literal["preset"]
    instrument_id: str | None = None
    transaction_type: Side | None = None
    product: Product | None = None
    order_type: OrderType | None = None
    validity: OrderValidity | None = None
    quantity: int | None = None
    price: Number | None = None
    trigger_price: Number | None = None
    tag: str | None = None
    broker: str | None = None
    when: PlanCondition | None = None
    """The part waits until the condition is true."""
    lifetime: PlanLifetime | None = None
    buy_trigger: Number
    """Rupees. The trigger of the buy stop, above the range."""
    buy_limit: Number
    """Rupees. The limit of the buy stop."""
    sell_trigger: Number
    """Rupees. The trigger of the sell stop, below the range."""
    sell_limit: Number
    """Rupees. The limit of the sell stop."""
    stop_distance: Number
    """Rupees from the fill to the stop."""
    stop_limit_offset: Number
    """Rupees from the stop's trigger to its limit."""
    target_distance: Number | None = None
    """Rupees from the fill to the target."""


class TwoSidedQuoteOrder(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="two_sided_quote"):
    """Keeps a bid and an offer around the middle."""

    closes_position: bool | None = None
    """True: the order may use the part of a broker's daily order cap that is kept for exits."""
    exits_follow_position: bool | None = None
    """(ours) An exit becomes smaller, or ends, when the position that it guards has become smaller without the plan."""
    hold_limits: bool | None = None
    """True: limits are kept in the engine until the market reaches them."""
    half_spread_ticks: int | None = None
    """Ticks between the middle and each quote."""
    requote_ticks: int | None = None
    """A quote moves only after the middle has moved this far."""
    skew_ticks: int | None = None
    """Both quotes move this many ticks lower for each order quantity held, and higher for each order quantity sold short."""
    most_inventory: int | None = None
    """The most units that are held. Units, either way."""


class TwoSidedQuotePart(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="two_sided_quote"):
    """Keeps a bid and an offer around the middle."""

    part: Literal["preset"]
    instrument_id: str | None = None
    transaction_type: Side | None = None
    product: Product | None = None
    order_type: OrderType | None = None
    validity: OrderValidity | None = None
    quantity: int | None = None
    price: Number | None = None
    trigger_price: Number | None = None
    tag: str | None = None
    broker: str | None = None
    when: PlanCondition | None = None
    """The part waits until the condition is true."""
    lifetime: PlanLifetime | None = None
    half_spread_ticks: int | None = None
    """Ticks between the middle and each quote."""
    requote_ticks: int | None = None
    """A quote moves only after the middle has moved this far."""
    skew_ticks: int | None = None
    """Both quotes move this many ticks lower for each order quantity held, and higher for each order quantity sold short."""
    most_inventory: int | None = None
    """The most units that are held. Units, either way."""


class UnderlyingPegOrder(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="underlying_peg"):
    """Limit that follows another instrument by delta."""

    closes_position: bool | None = None
    """True: the order may use the part of a broker's daily order cap that is kept for exits."""
    exits_follow_position: bool | None = None
    """(ours) An exit becomes smaller, or ends, when the position that it guards has become smaller without the plan."""
    hold_limits: bool | None = None
    """True: limits are kept in the engine until the market reaches them."""
    watch_instrument_id: str
    """The instrument that is watched."""
    delta: Number
    """Rupees for one rupee of the watched instrument; negative for a put. Negative for a put."""
    lowest_price: Number | None = None
    """Rupees. The limit never goes below this price."""
    highest_price: Number | None = None
    """Rupees. The limit never goes above this price."""
    step_ticks: int | None = None
    """The order moves when its price differs by this many ticks."""


class UnderlyingPegPart(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="underlying_peg"):
    """Limit that follows another instrument by delta."""

    part: Literal["preset"]
    instrument_id: str | None = None
    transaction_type: Side | None = None
    product: Product | None = None
    order_type: OrderType | None = None
    validity: OrderValidity | None = None
    quantity: int | None = None
    price: Number | None = None
    trigger_price: Number | None = None
    tag: str | None = None
    broker: str | None = None
    when: PlanCondition | None = None
    """The part waits until the condition is true."""
    lifetime: PlanLifetime | None = None
    watch_instrument_id: str
    """The instrument that is watched."""
    delta: Number
    """Rupees for one rupee of the watched instrument; negative for a put. Negative for a put."""
    lowest_price: Number | None = None
    """Rupees. The limit never goes below this price."""
    highest_price: Number | None = None
    """Rupees. The limit never goes above this price."""
    step_ticks: int | None = None
    """The order moves when its price differs by this many ticks."""


class VirtualLimitOrder(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="virtual_limit"):
    """A limit kept in the engine until the market reaches it."""

    closes_position: bool | None = None
    """True: the order may use the part of a broker's daily order cap that is kept for exits."""
    exits_follow_position: bool | None = None
    """(ours) An exit becomes smaller, or ends, when the position that it guards has become smaller without the plan."""
    hold_limits: bool | None = None
    """True: limits are kept in the engine until the market reaches them."""
    release_ticks: int | None = None
    """The limit is released this many ticks early."""


class VirtualLimitPart(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="virtual_limit"):
    """A limit kept in the engine until the market reaches it."""

    part: Literal["preset"]
    instrument_id: str | None = None
    transaction_type: Side | None = None
    product: Product | None = None
    order_type: OrderType | None = None
    validity: OrderValidity | None = None
    quantity: int | None = None
    price: Number | None = None
    trigger_price: Number | None = None
    tag: str | None = None
    broker: str | None = None
    when: PlanCondition | None = None
    """The part waits until the condition is true."""
    lifetime: PlanLifetime | None = None
    release_ticks: int | None = None
    """The limit is released this many ticks early."""


class VolatilityOrder(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="volatility"):
    """Option limit priced from a volatility."""

    closes_position: bool | None = None
    """True: the order may use the part of a broker's daily order cap that is kept for exits."""
    exits_follow_position: bool | None = None
    """(ours) An exit becomes smaller, or ends, when the position that it guards has become smaller without the plan."""
    hold_limits: bool | None = None
    """True: limits are kept in the engine until the market reaches them."""
    watch_instrument_id: str
    """The instrument that is watched."""
    volatility: Number
    """Percent a year."""
    interest_rate: Number | None = None
    """Percent a year."""
    lowest_price: Number | None = None
    """Rupees. The limit never goes below this price."""
    highest_price: Number | None = None
    """Rupees. The limit never goes above this price."""
    step_ticks: int | None = None
    """The order moves when its price differs by this many ticks."""


class VolatilityPart(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="volatility"):
    """Option limit priced from a volatility."""

    part: Literal["preset"]
    instrument_id: str | None = None
    transaction_type: Side | None = None
    product: Product | None = None
    order_type: OrderType | None = None
    validity: OrderValidity | None = None
    quantity: int | None = None
    price: Number | None = None
    trigger_price: Number | None = None
    tag: str | None = None
    broker: str | None = None
    when: PlanCondition | None = None
    """The part waits until the condition is true."""
    lifetime: PlanLifetime | None = None
    watch_instrument_id: str
    """The instrument that is watched."""
    volatility: Number
    """Percent a year."""
    interest_rate: Number | None = None
    """Percent a year."""
    lowest_price: Number | None = None
    """Rupees. The limit never goes below this price."""
    highest_price: Number | None = None
    """Rupees. The limit never goes above this price."""
    step_ticks: int | None = None
    """The order moves when its price differs by this many ticks."""


class VwapExecution(Struct, kw_only=True, omit_defaults=True, tag_field="kind", tag="vwap"):
    """Slices by weights, at even intervals."""

    slices: int
    over_minutes: Number
    volume_profile: list[Number]
    """One weight for each slice, not all zero."""


class VwapOrder(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="vwap"):
    """Twap with volume-shaped slices."""

    closes_position: bool | None = None
    """True: the order may use the part of a broker's daily order cap that is kept for exits."""
    exits_follow_position: bool | None = None
    """(ours) An exit becomes smaller, or ends, when the position that it guards has become smaller without the plan."""
    hold_limits: bool | None = None
    """True: limits are kept in the engine until the market reaches them."""
    slices: int
    """How many pieces."""
    over_minutes: Number
    """Minutes over which the slices are spread."""
    volume_profile: list[Number] | None = None
    """One weight for each slice, not all zero; of the market's usual volume when left out. Left out: the usual profile of the market's volume, which is known at intake."""


class VwapPart(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="vwap"):
    """Twap with volume-shaped slices."""

    part: Literal["preset"]
    instrument_id: str | None = None
    transaction_type: Side | None = None
    product: Product | None = None
    order_type: OrderType | None = None
    validity: OrderValidity | None = None
    quantity: int | None = None
    price: Number | None = None
    trigger_price: Number | None = None
    tag: str | None = None
    broker: str | None = None
    when: PlanCondition | None = None
    """The part waits until the condition is true."""
    lifetime: PlanLifetime | None = None
    slices: int
    """How many pieces."""
    over_minutes: Number
    """Minutes over which the slices are spread."""
    volume_profile: list[Number] | None = None
    """One weight for each slice, not all zero; of the market's usual volume when left out. Left out: the usual profile of the market's volume, which is known at intake."""


class WeightedInstrument(Struct, kw_only=True, omit_defaults=True):
    """An instrument of an exposure."""

    instrument_id: str
    weight: Number | None = None


CancelParentsBody: TypeAlias = CancelParentsBodyOne | CancelParentsBodyList

ModifyOrderBody: TypeAlias = ModifyOrderBodyOne | ModifyOrderBodyList

PlaceOrderBody: TypeAlias = PlaceOrderBodyOne | PlaceOrderBodyList

PlanExecution: TypeAlias = (
    AllAtOnceExecution
    | IcebergExecution
    | TwapExecution
    | VwapExecution
    | FrontLoadedExecution
    | ParticipationExecution
    | BookDepthExecution
    | TopUpExecution
    | DailyExecution
    | LadderExecution
    | FreezeLimitExecution
)

PlanPrice: TypeAlias = (
    FixedPrice
    | MarketablePrice
    | NativeStopPrice
    | TrailPrice
    | StagesPrice
    | PegPrice
    | ChasePrice
    | FollowInstrumentPrice
    | OptionModelPrice
    | FromParentFillPrice
    | FromFillPrice
    | DiscretionPrice
    | CapPrice
)

PresetPart: TypeAlias = (
    AccountConditionalPart
    | AccumulationPart
    | AtrTrailPart
    | AttachedHedgePart
    | BasketPart
    | BracketPart
    | CandleCloseStopPart
    | ChaserPart
    | CloseOnTriggerPart
    | ClosingPricePart
    | CoverPart
    | CrossInstrumentPart
    | DailyStopPart
    | DiscretionaryPart
    | ExposureHedgePart
    | FreezeSlicerPart
    | GoodTillTimePart
    | GridPart
    | GttPart
    | HiddenStopPart
    | IcebergPart
    | ImplementationShortfallPart
    | IndicatorTriggeredPart
    | LadderPart
    | LeggedSpreadPart
    | LimitIfTouchedPart
    | LiquiditySeekingPart
    | MarketIfTouchedPart
    | MarketableLimitPart
    | OcaPart
    | OcoPart
    | OpeningAuctionPart
    | OtoPart
    | ParticipationPart
    | PegPart
    | PostOnlyPart
    | ScaleOutPart
    | ScaleWithProfitTakerPart
    | ScheduledPart
    | SquareOffPart
    | SteppedStopPart
    | StopAndReversePart
    | StrategyStopPart
    | TimeStopPart
    | TrailingEntryPart
    | TrailingStopPart
    | TwapPart
    | TwoSidedBreakoutPart
    | TwoSidedQuotePart
    | UnderlyingPegPart
    | VirtualLimitPart
    | VolatilityPart
    | VwapPart
)
"""An order type in the place of a part, with its settings and place fields."""
SyntheticOrder: TypeAlias = (
    AccountConditionalOrder
    | AccumulationOrder
    | AtrTrailOrder
    | AttachedHedgeOrder
    | BasketOrder
    | BracketOrder
    | CandleCloseStopOrder
    | ChaserOrder
    | CloseOnTriggerOrder
    | ClosingPriceOrder
    | CoverOrder
    | CrossInstrumentOrder
    | DailyStopOrder
    | DiscretionaryOrder
    | ExposureHedgeOrder
    | FreezeSlicerOrder
    | GoodTillTimeOrder
    | GridOrder
    | GttOrder
    | HiddenStopOrder
    | IcebergOrder
    | ImplementationShortfallOrder
    | IndicatorTriggeredOrder
    | LadderOrder
    | LeggedSpreadOrder
    | LimitIfTouchedOrder
    | LiquiditySeekingOrder
    | MarketIfTouchedOrder
    | MarketableLimitOrder
    | OcaOrder
    | OcoOrder
    | OpeningAuctionOrder
    | OtoOrder
    | ParticipationOrder
    | PegOrder
    | PlanOrder
    | PostOnlyOrder
    | ScaleOutOrder
    | ScaleWithProfitTakerOrder
    | ScheduledOrder
    | SimpleOrder
    | SquareOffOrder
    | SteppedStopOrder
    | StopAndReverseOrder
    | StrategyStopOrder
    | TimeStopOrder
    | TrailingEntryOrder
    | TrailingStopOrder
    | TwapOrder
    | TwoSidedBreakoutOrder
    | TwoSidedQuoteOrder
    | UnderlyingPegOrder
    | VirtualLimitOrder
    | VolatilityOrder
    | VwapOrder
)
"""The type of an order, with its settings."""
PlanPart: TypeAlias = OrderPart | SequencePart | TogetherPart | OneCancelsOthersPart | PresetPart
