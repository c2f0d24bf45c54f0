"""Answers of modify, cancel and parents (rules 2.4.4 to 2.4.6; order-engine 5.6)."""

from typing import Annotated, Any, Literal

import msgspec

from onebroker.actors.engine.orders.parent_records import LegState, ParentState
from onebroker.actors.engine.orders.part_state import PartState
from onebroker.config.schema_marks import known_words, schema_of
from onebroker.config.vocabulary import OrderStatus, Outcome
from onebroker.http.answers.place import ShownRequest, Timing
from onebroker.http.answers.shared import (
    INTENT_ID,
    PARENT_ID,
    SHARE,
    UNSET,
    Instrument,
    Json,
    Unset,
    UuidText,
    results_of,
)


class FieldChange(msgspec.Struct, kw_only=True):
    """The change of one field."""

    from_: float | str | None = msgspec.field(name="from")
    """Null where the order has no such price."""
    to: float | str | None


class Modified(msgspec.Struct, kw_only=True):
    """The answer to the change of an order at its broker. On a dry run `dry_run` and `request` take the place of the outcome."""

    broker: str
    order_id: str
    instrument: Instrument | None
    """Null when the catalogue does not know the broker's token."""
    status_before_modify: Annotated[str, known_words(OrderStatus)]
    changes: dict[str, FieldChange]
    """The fields that differ from the present order; empty: nothing was to be sent."""
    dry_run: Literal[True] | Unset = UNSET
    request: ShownRequest | Unset = UNSET
    outcome: Outcome | Unset = UNSET
    status_message: str | Unset | None = UNSET
    broker_response: Json | Unset = UNSET
    timing_ms: Timing
    parent_id: UuidText | Unset = UNSET
    """Of an order that the engine placed: its parent, the part, and the intent of this change."""
    part: str | Unset = UNSET
    intent_id: UuidText | Unset = UNSET


class PartModified(msgspec.Struct, kw_only=True):
    """The answer to the change of a held order, or of a part that has sent nothing."""

    parent_id: UuidText
    part: str
    instrument: Instrument | None
    state: PartState
    changes: dict[str, FieldChange]
    dry_run: Literal[True] | Unset = UNSET
    outcome: Outcome | Unset = UNSET
    status_message: str | Unset | None = UNSET
    intent_id: UuidText | Unset = UNSET


class ModifyEntry(msgspec.Struct, kw_only=True):
    """The answer to one change of a list."""

    request_index: int
    status: int
    """The status that the single form would give."""
    response: Annotated[msgspec.Raw, schema_of("Modified", "PartModified", "Failure")]


ModifyResults: Any = results_of("Modify", ModifyEntry)


class CancelRequest(msgspec.Struct, kw_only=True):
    method: str
    url: str


class Cancelled(msgspec.Struct, kw_only=True):
    """The answer to the cancel of an order. On a dry run `dry_run` and `request` take the place of the outcome."""

    broker: str
    order_id: str
    status_before_cancel: Annotated[str, known_words(OrderStatus)]
    dry_run: Literal[True] | Unset = UNSET
    request: CancelRequest | Unset = UNSET
    outcome: Outcome | Unset = UNSET
    status_message: str | Unset | None = UNSET
    broker_response: Json | Unset = UNSET
    warnings: list[str] | Unset = UNSET
    """(ours) The units that stay open without this stop, where the order is the stop of a parent."""
    timing_ms: Timing


class CancelledLeg(msgspec.Struct, kw_only=True):
    """The cancel of one resting order of a parent."""

    leg_id: str
    broker: str
    order_id: str | None
    outcome: Outcome
    status_message: str | None


class CancelledOrder(CancelledLeg, kw_only=True):
    """The cancel of one resting order of a part."""

    cancel_accepted: bool


class RestingLeg(msgspec.Struct, kw_only=True):
    """An order whose cancel would be tried."""

    leg_id: str
    part: str
    broker: str
    order_id: str | None
    state: LegState
    transaction_type: str
    quantity: int
    filled_quantity: int
    price: float | None
    trigger_price: float | None


class ParentCancelled(msgspec.Struct, kw_only=True):
    """The answer to the cancel of a parent."""

    parent_id: UuidText
    synthetic_type: Literal["simple", "plan"]
    state: ParentState
    cancelled_legs: list[CancelledLeg]
    """The orders whose cancel was tried now."""
    open_units: dict[str, int] | Unset = UNSET
    """(ours) Instrument id -> units that the parent's entries have filled and its exits have not closed. Nobody closes them any more. Left out
    where there are none."""
    warnings: list[str] | Unset = UNSET
    """(ours) The units that stay open without their stop."""
    intent_id: UuidText


class PartCancelled(msgspec.Struct, kw_only=True):
    """The answer to the cancel of a part of a plan. The other parts go on."""

    parent_id: UuidText
    synthetic_type: Literal["plan"]
    part: str
    state: PartState
    orders: list[CancelledOrder]
    outcome: Outcome
    """`partial`: some cancels were accepted; `rejected`: none was."""
    status_message: str | None
    warnings: list[str] | Unset = UNSET
    """(ours) The units that stay open without their stop."""
    intent_id: UuidText


class StopDryRun(msgspec.Struct, kw_only=True):
    """What the cancel of a parent or part would try; nothing was sent."""

    parent_id: UuidText
    synthetic_type: Literal["simple", "plan"]
    part: str | Unset = UNSET
    state: Annotated[str, known_words([*ParentState, *PartState])]
    dry_run: Literal[True]
    resting_legs: list[RestingLeg]
    open_units: dict[str, int] | Unset = UNSET
    """(ours) Of a whole parent: instrument id -> units that its entries have filled and its exits have not closed."""
    warnings: list[str] | Unset = UNSET
    """(ours) The units that would stay open without their stop."""


class CancelEntry(msgspec.Struct, kw_only=True):
    """The answer to one cancel of a list."""

    request_index: int
    status: int
    """The status that the single form would give."""
    response: Annotated[
        msgspec.Raw, schema_of("Cancelled", "ParentCancelled", "PartCancelled", "StopDryRun", "Failure")
    ]


CancelResults: Any = results_of("Cancel", CancelEntry)


# --- examples ---------------------------------------------------------------------------------------------------------------

_TIMING = {"preparation": 1.8, "broker": 27.4}
_ORDER = {"broker": "zerodha", "order_id": "251125000012345"}
_ANSWER: dict[str, Any] = {"outcome": "accepted", "status_message": None, "broker_response": {"status": "success"}}
MODIFIED_EXAMPLE: dict[str, Any] = {
    **_ORDER,
    "instrument": SHARE,
    "status_before_modify": "OPEN",
    "changes": {"price": {"from": 1480.0, "to": 1481.0}},
    **_ANSWER,
    "timing_ms": _TIMING,
    "parent_id": PARENT_ID,
    "part": "entry",
    "intent_id": INTENT_ID,
}
NOT_MODIFIED_EXAMPLE = {**MODIFIED_EXAMPLE, "outcome": "rejected", "status_message": "Order cannot be modified"}
MODIFY_UNKNOWN_EXAMPLE = {
    **MODIFIED_EXAMPLE,
    "outcome": "unknown",
    "status_message": "no answer",
    "broker_response": None,
}
PART_MODIFIED_EXAMPLE = {
    "parent_id": PARENT_ID,
    "part": "root",
    "instrument": SHARE,
    "state": "held",
    "changes": {"quantity": {"from": 10, "to": 20}},
    "outcome": "accepted",
    "status_message": None,
    "intent_id": INTENT_ID,
}
MODIFY_RESULTS_EXAMPLE = {"results": [{"request_index": 0, "status": 200, "response": MODIFIED_EXAMPLE}]}
CANCELLED_EXAMPLE: dict[str, Any] = {**_ORDER, "status_before_cancel": "OPEN", **_ANSWER, "timing_ms": _TIMING}
NOT_CANCELLED_EXAMPLE = {**CANCELLED_EXAMPLE, "outcome": "rejected", "status_message": "Order is already executed"}
CANCEL_UNKNOWN_EXAMPLE = {
    **CANCELLED_EXAMPLE,
    "outcome": "unknown",
    "status_message": "no answer",
    "broker_response": None,
}
_LEG: dict[str, Any] = {
    "leg_id": "5d7c8a52-3d1f-4a63-9a4f-7d6f1f3f1a11", **_ORDER, "outcome": "accepted", "status_message": None,
}  # fmt: skip
PARENT_CANCELLED_EXAMPLE: dict[str, Any] = {
    "parent_id": PARENT_ID,
    "synthetic_type": "plan",
    "state": "cancelled",
    "cancelled_legs": [_LEG],
    "intent_id": INTENT_ID,
}
_REFUSED = {**_LEG, "outcome": "rejected", "status_message": "Order is already executed"}
PARENT_CANCELLING_EXAMPLE = {**PARENT_CANCELLED_EXAMPLE, "state": "cancelling", "cancelled_legs": [_REFUSED]}
PART_CANCELLED_EXAMPLE: dict[str, Any] = {
    "parent_id": PARENT_ID,
    "synthetic_type": "plan",
    "part": "root.children.0",
    "state": "cancelled",
    "orders": [{**_LEG, "cancel_accepted": True}],
    "outcome": "accepted",
    "status_message": None,
    "intent_id": INTENT_ID,
}
PART_NOT_CANCELLED_EXAMPLE = {
    **PART_CANCELLED_EXAMPLE,
    "state": "working",
    "orders": [{**_REFUSED, "cancel_accepted": False}],
    "outcome": "rejected",
    "status_message": "Order is already executed",
}
STOP_DRY_RUN_EXAMPLE = {
    "parent_id": PARENT_ID,
    "synthetic_type": "plan",
    "state": "working",
    "dry_run": True,
    "resting_legs": [
        {
            "leg_id": _LEG["leg_id"],
            "part": "root",
            **_ORDER,
            "state": "open",
            "transaction_type": "BUY",
            "quantity": 10,
            "filled_quantity": 0,
            "price": 1480.0,
            "trigger_price": None,
        }
    ],
}
CANCEL_RESULTS_EXAMPLE = {"results": [{"request_index": 0, "status": 200, "response": CANCELLED_EXAMPLE}]}
PARENT_RESULTS_EXAMPLE = {"results": [{"request_index": 0, "status": 200, "response": PARENT_CANCELLED_EXAMPLE}]}
