"""Parents of the order engine and the parts of their plans, as callers see them (rules 2.2.5; order-engine 5.4, 5.5)."""

from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from onebroker.actors.engine.orders.parent_records import LegState, ParentState
from onebroker.actors.engine.orders.part_state import PartState
from onebroker.actors.engine.plan.kinds import CONDITIONS, EXECUTIONS, MADE_PRICES, PARTS, PRICES
from onebroker.actors.engine.plan.parts import AppliesTo, OnEnd, Rule, StartThen
from onebroker.config.schema_marks import one_of, schema_of
from onebroker.config.vocabulary import OrderType, Side, Validity
from onebroker.http.answers.place import TriggerDirection
from onebroker.http.answers.shared import INTENT_ID, PARENT_ID, SHARE, UNSET, Unset, UuidText

Numbers: TypeAlias = dict[str, Any]


class ShownPrice(msgspec.Struct, kw_only=True):
    """The price of an order part, with the settings of its kind as in a plan's body and defaults filled in."""

    kind: Annotated[str, one_of([*PRICES, *MADE_PRICES])]


class ShownExecution(msgspec.Struct, kw_only=True):
    """The execution of an order part, with the settings of its kind as in a plan's body and defaults filled in."""

    kind: Annotated[str, one_of(EXECUTIONS)]


class ShownQuantity(msgspec.Struct, kw_only=True):
    """A quantity that is not a number of units, as in a plan's body."""

    share: float | Unset = UNSET
    from_fill: Numbers | Unset = UNSET
    position: Numbers | Unset = UNSET
    exposure: Numbers | Unset = UNSET
    most: int | Unset = UNSET


ShownWhen: TypeAlias = Annotated[
    dict[str, Any],
    msgspec.Meta(
        description="A condition as in a plan's body: an object by its kind.",
        extra_json_schema={"propertyNames": {"enum": [*CONDITIONS, "day"]}, "minProperties": 1},
    ),
]


class ShownLifetime(msgspec.Struct, kw_only=True):
    """The end of a part, as in a plan's body."""

    at_time: str | Unset = UNSET
    after_minutes: float | Unset = UNSET
    after_days: int | Unset = UNSET
    when: ShownWhen | Unset = UNSET
    applies_to: AppliesTo | Unset = UNSET
    on_end: OnEnd | Unset = UNSET


PlanChild: TypeAlias = Annotated[msgspec.Raw, schema_of("ShownPlan")]


class ShownPlan(msgspec.Struct, kw_only=True):
    """A part of a plan with the parts below it. Fields that do not apply are left out."""

    part: Annotated[str, one_of(PARTS)]
    path: str
    preset: str | Unset = UNSET
    """The order type that the part was made of."""
    instrument_id: UuidText | Unset = UNSET
    transaction_type: Side | Unset = UNSET
    product: str | Unset = UNSET
    validity: Validity | Unset = UNSET
    tag: str | Unset = UNSET
    broker: str | Unset = UNSET
    quantity: int | ShownQuantity | Unset = UNSET
    price: ShownPrice | Unset = UNSET
    execution: ShownExecution | Unset = UNSET
    hold: bool | Unset = UNSET
    closes: bool | Unset = UNSET
    """Whether the order is an exit."""
    each_fill: PlanChild | Unset = UNSET
    first: PlanChild | Unset = UNSET
    then: PlanChild | Unset = UNSET
    start_then: StartThen | Unset = UNSET
    children: list[PlanChild] | Unset = UNSET
    most_inventory: int | Unset = UNSET
    rule: Rule | Unset = UNSET
    breakeven_after: int | Unset = UNSET
    when: ShownWhen | Unset = UNSET
    lifetime: ShownLifetime | Unset = UNSET


class PartView(msgspec.Struct, kw_only=True):
    """The present state of a part. Fields that do not apply are left out."""

    part: str
    """Kind of the part; the order type, for a preset that has not started."""
    state: PartState
    status_message: str | Unset = UNSET
    instrument_id: UuidText | Unset = UNSET
    transaction_type: Side | Unset = UNSET
    quantity: int | ShownQuantity | Unset = UNSET
    """Units once they are known."""
    filled_quantity: int | Unset = UNSET
    average_price: float | Unset = UNSET
    """Rupees."""
    price: ShownPrice | Unset = UNSET
    execution: ShownExecution | Unset = UNSET
    when: ShownWhen | Unset = UNSET
    lifetime: ShownLifetime | Unset = UNSET
    trigger_direction: TriggerDirection | Unset | None = UNSET
    trigger_level: float | Unset | None = UNSET
    next_at: float | Unset = UNSET
    """Epoch seconds at which the clock next moves the part."""
    watermark: float | Unset = UNSET
    """The best last price since the start of a trail, in rupees."""


class ParentLeg(msgspec.Struct, kw_only=True):
    """One broker order of a parent. Quantities in units, prices in rupees, times in epoch seconds."""

    leg_id: str
    part: str
    """The part of the plan; `entry` for a simple order."""
    broker: str
    order_id: str | None
    """Null while the broker has not told it."""
    state: LegState
    status_message: str | None
    transaction_type: str
    product: str
    order_type: OrderType
    quantity: int
    filled_quantity: int
    pending_quantity: int
    price: float | None
    trigger_price: float | None
    average_price: float | None
    sent_at: float | None
    updated_at: float


class ParentParameters(msgspec.Struct, kw_only=True):
    """The settings of the parent's type with defaults filled in, and the present state of its parts."""

    closes_position: bool | Unset = UNSET
    hold_limits: bool | Unset = UNSET
    exits_follow_position: bool | Unset = UNSET
    """(ours) Present where the caller gave it."""
    parts: dict[str, PartView] | Unset = UNSET
    """Path -> part of the plan, in the order of the tree; left out for a simple order."""


class Parent(msgspec.Struct, kw_only=True):
    """One order that was asked of the engine, with the broker orders that it placed."""

    parent_order_id: UuidText
    synthetic_type: Literal["simple", "plan"]
    routed_from: str | None
    """The order type that was asked for; null for a simple order and a plan."""
    state: ParentState
    status_message: str | None
    """What was said at its last change, and what is wrong with it now."""
    instrument_id: UuidText
    intent_id: UuidText
    created_at: float
    """Epoch seconds."""
    updated_at: float
    """Epoch seconds."""
    over_filled_quantity: int
    """Units by which exits closed more than there was, because two filled in the same moment."""
    open_units: dict[str, int] = msgspec.field(default_factory=dict)
    """(ours) Instrument id -> units that the entries have filled and that the exits which hang on them have not closed."""
    body: dict[str, Any]
    """The order as its caller sent it."""
    parameters: ParentParameters
    legs: list[ParentLeg]


class OpenParents(msgspec.Struct, kw_only=True):
    """Every unfinished parent, oldest first."""

    parents: list[Parent]
    unreadable_parents: list[str] | Unset = UNSET
    """Ids of parents whose record cannot be read; left out when there are none."""


class EndedParents(msgspec.Struct, kw_only=True):
    """Parents that ended on a day, the newest end first."""

    parents: list[Parent]
    cursor: str | None
    """For the next request; null when no parent was listed."""
    more: bool
    """Whether further parents ended on that day, before these."""
    unreadable_parents: list[str] | Unset = UNSET
    """Ids of parents whose record cannot be read; left out when there are none."""


OPEN = (ShownPrice, ShownExecution, ParentParameters)
"""Objects with further fields, by their kind or by the type of the order."""


# --- examples ---------------------------------------------------------------------------------------------------------------

EXAMPLE: dict[str, Any] = {
    "parent_order_id": PARENT_ID,
    "synthetic_type": "plan",
    "routed_from": "post_only",
    "state": "working",
    "status_message": None,
    "instrument_id": SHARE["instrument_id"],
    "intent_id": INTENT_ID,
    "created_at": 1795578304.2,
    "updated_at": 1795578304.4,
    "over_filled_quantity": 0,
    "open_units": {},
    "body": {
        "instrument_id": SHARE["instrument_id"],
        "transaction_type": "BUY",
        "product": "CNC",
        "order_type": "LIMIT",
        "quantity": 10,
        "price": 1480.0,
        "synthetic": {"type": "post_only"},
    },
    "parameters": {
        "on_crossing": "refuse",
        "closes_position": False,
        "hold_limits": False,
        "parts": {
            "root": {
                "part": "order",
                "state": "working",
                "instrument_id": SHARE["instrument_id"],
                "transaction_type": "BUY",
                "quantity": 10,
                "filled_quantity": 0,
                "price": {"kind": "fixed", "price": 1480.0, "on_crossing": "refuse"},
                "execution": {"kind": "all_at_once"},
            }
        },
    },
    "legs": [
        {
            "leg_id": "5d7c8a52-3d1f-4a63-9a4f-7d6f1f3f1a11",
            "part": "root",
            "broker": "zerodha",
            "order_id": "251125000012345",
            "state": "open",
            "status_message": None,
            "transaction_type": "BUY",
            "product": "CNC",
            "order_type": "LIMIT",
            "quantity": 10,
            "filled_quantity": 0,
            "pending_quantity": 10,
            "price": 1480.0,
            "trigger_price": None,
            "average_price": None,
            "sent_at": 1795578304.3,
            "updated_at": 1795578304.4,
        }
    ],
}
OPEN_EXAMPLE = {"parents": [EXAMPLE]}
ENDED_EXAMPLE = {
    "parents": [{**EXAMPLE, "state": "completed"}],
    "cursor": f"1795578304.400 {PARENT_ID}",
    "more": False,
}
