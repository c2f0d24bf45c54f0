"""Answers of place: the broker's or the engine's answer to an order, a dry run, a list (rules 2.4.2, 2.4.3)."""

from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from onebroker.config.schema_marks import schema_of
from onebroker.config.vocabulary import OrderType, Outcome, Side, Validity
from onebroker.http.answers.shared import (
    INTENT_ID,
    PARENT_ID,
    SHARE,
    UNSET,
    Json,
    Skipped,
    Unset,
    UuidText,
    results_of,
)

TriggerDirection: TypeAlias = Literal["above", "below"]


class Timing(msgspec.Struct, kw_only=True):
    """Where the time of an order message went, in milliseconds. Empty when the answer was made again after a restart."""

    preparation: float | Unset = UNSET
    """All but the broker."""
    broker: float | Unset = UNSET
    """Only when the message went out and its answer came."""


class PlacedLeg(msgspec.Struct, kw_only=True):
    """One of several orders."""

    path: str
    """The part of the plan, such as `root.children.0`."""
    instrument_id: UuidText
    outcome: Outcome
    order_id: str | None
    """The broker's own id."""
    status_message: str | None
    broker: str | None
    trigger_direction: TriggerDirection | Unset | None = UNSET
    trigger_level: float | Unset | None = UNSET


class Placed(msgspec.Struct, kw_only=True):
    """The answer to an order that was taken up. The outcome decides the status: accepted 200, armed 202, partial 207, rejected 422,
    unknown 504."""

    broker: str | None
    """Broker code; null while no broker was chosen."""
    instrument_id: UuidText
    tag: str | None
    outcome: Outcome
    """`armed`: nothing was sent yet. `unknown`: the broker may have the order; read the order book before sending again."""
    order_id: str | None
    """The broker's own id, which modify and cancel take."""
    status_message: str | None
    """The broker's words, or the distinct reasons joined by `;`."""
    broker_response: Json
    """The broker's answer: decoded JSON, or the first 300 characters of another text."""
    skipped: list[Skipped]
    """The brokers that were passed over, with the reason."""
    timing_ms: Timing
    intent_id: UuidText
    parent_id: UuidText
    """The engine's parent: `GET /api/orders/parents` shows it, a cancel with parent_id ends it."""
    warnings: list[str] | Unset = UNSET
    """(ours) What an order opens beside units that other brokers hold."""
    trigger_direction: TriggerDirection | Unset | None = UNSET
    """With `trigger_level`, where the order waits for a price: the side from which the price must come."""
    trigger_level: float | Unset | None = UNSET
    """Rupees, or the figure of the account that is watched."""
    legs: list[PlacedLeg] | Unset = UNSET
    """Of types that send several orders at once: one entry for each order."""


class ShownRequest(msgspec.Struct, kw_only=True):
    """A request to a broker, without headers and secrets."""

    method: str
    url: str
    body: Json


class ShownOrder(msgspec.Struct, kw_only=True):
    """The order that a request carries."""

    transaction_type: Side
    product: str
    order_type: OrderType
    validity: Validity
    quantity: int
    """Units."""
    price: float | None
    """Rupees."""
    trigger_price: float | None
    """Rupees."""


class EstimatedCost(msgspec.Struct, kw_only=True):
    """The charges of an order, in rupees."""

    total: float
    brokerage: float
    exchange: float
    regulator: float
    stamp: float
    transaction_tax: float
    gst: float
    dp: float
    """Depository charge, its tax included."""


class PlaceDryRun(msgspec.Struct, kw_only=True):
    """What a simple order would send; nothing was sent."""

    dry_run: Literal[True]
    broker: str
    instrument_id: UuidText
    tag: str | None
    request: ShownRequest
    order: ShownOrder
    estimated_cost: EstimatedCost | None
    """Null when the charges of the instrument are not known."""
    skipped: list[Skipped]
    warnings: list[str] | Unset = UNSET
    """(ours) What the order opens beside units that other brokers hold."""
    timing_ms: Timing
    intent_id: UuidText


class DryRunRequest(msgspec.Struct, kw_only=True):
    """One order that the start of a plan would send."""

    path: str
    broker: str
    request: ShownRequest
    order: ShownOrder
    estimated_cost: EstimatedCost | None
    skipped: list[Skipped]


class PlanDryRun(msgspec.Struct, kw_only=True):
    """What an order that runs as a plan would do; nothing was sent."""

    dry_run: Literal[True]
    instrument_id: UuidText
    tag: str | None
    synthetic_type: Literal["plan"]
    routed_from: str | None
    """The type that was asked for; null: a plan."""
    plan: Annotated[msgspec.Raw, schema_of("ShownPlan")]
    """The tree of parts, with defaults filled in."""
    requests: list[DryRunRequest]
    """The orders that would leave now."""
    trigger_direction: TriggerDirection | Unset | None = UNSET
    trigger_level: float | Unset | None = UNSET
    warnings: list[str] | Unset = UNSET
    """Settings that are allowed and rarely meant, and what an order opens beside units that other brokers hold."""
    timing_ms: Timing
    intent_id: UuidText


class PlaceEntry(msgspec.Struct, kw_only=True):
    """The answer to one order of a list."""

    request_index: int
    """The place of the order in the list, from 0."""
    status: int
    """The status that the single form would give."""
    response: Annotated[msgspec.Raw, schema_of("Placed", "PlaceDryRun", "PlanDryRun", "Failure")]


PlaceResults: Any = results_of("Place", PlaceEntry)


class KeptAnswer(msgspec.Struct, kw_only=True):
    """The engine's answer to one intent."""

    intent_id: UuidText
    status: int
    """The status that the request was answered with, or would have been."""
    response: Annotated[
        msgspec.Raw,
        schema_of("Placed", "Modified", "PartModified", "ParentCancelled", "PartCancelled", "ParentsHalted", "Failure"),
    ]


class WaitingIntent(msgspec.Struct, kw_only=True):
    intent_id: UuidText
    state: Literal["waiting"]


# --- examples ---------------------------------------------------------------------------------------------------------------

_ID = SHARE["instrument_id"]
PLACED_EXAMPLE: dict[str, Any] = {
    "broker": "zerodha",
    "instrument_id": _ID,
    "tag": "morning1",
    "outcome": "accepted",
    "order_id": "251125000012345",
    "status_message": None,
    "broker_response": {"status": "success", "data": {"order_id": "251125000012345"}},
    "skipped": [{"broker": "upstox", "reason": "upstox has no login in Redis"}],
    "timing_ms": {"preparation": 4.2, "broker": 31.5},
    "intent_id": INTENT_ID,
    "parent_id": PARENT_ID,
}
_NOTHING_SENT: dict[str, Any] = {
    "broker": None,
    "order_id": None,
    "broker_response": None,
    "skipped": [],
    "timing_ms": {"preparation": 3.1},
}
ARMED_EXAMPLE = {
    **PLACED_EXAMPLE, **_NOTHING_SENT, "outcome": "armed", "trigger_direction": "below", "trigger_level": 1450.0,
}  # fmt: skip
_LEG = {
    "path": "root.children.0",
    "instrument_id": _ID,
    "order_id": "251125000012345",
    "status_message": None,
    "broker": "zerodha",
}
_NO_MONEY = "Insufficient funds"
_REFUSED_LEG = {**_LEG, "path": "root.children.1", "outcome": "rejected", "order_id": None, "status_message": _NO_MONEY}
PARTIAL_EXAMPLE = {
    **PLACED_EXAMPLE,
    "outcome": "partial",
    "order_id": None,
    "status_message": _NO_MONEY,
    "broker_response": None,
    "legs": [{**_LEG, "outcome": "accepted"}, _REFUSED_LEG],
}
REJECTED_EXAMPLE = {
    **PLACED_EXAMPLE,
    "outcome": "rejected",
    "order_id": None,
    "status_message": _NO_MONEY,
    "broker_response": {"status": "error", "message": _NO_MONEY},
}
UNKNOWN_EXAMPLE = {
    **PLACED_EXAMPLE, "outcome": "unknown", "order_id": None, "status_message": "no answer", "broker_response": None,
}  # fmt: skip
RESULTS_EXAMPLE = {
    "results": [
        {"request_index": 0, "status": 200, "response": PLACED_EXAMPLE},
        {"request_index": 1, "status": 400, "response": {"error": "quantity is required"}},
    ]
}
_SENT = {
    "request": {
        "method": "POST",
        "url": "https://api.kite.trade/orders/regular",
        "body": {"tradingsymbol": "INFY", "quantity": "10"},
    },
    "order": {
        "transaction_type": "BUY",
        "product": "CNC",
        "order_type": "LIMIT",
        "validity": "DAY",
        "quantity": 10,
        "price": 1480.0,
        "trigger_price": None,
    },
    "estimated_cost": {
        "total": 17.35,
        "brokerage": 0.0,
        "exchange": 0.44,
        "regulator": 0.01,
        "stamp": 2.22,
        "transaction_tax": 14.6,
        "gst": 0.08,
        "dp": 0.0,
    },
    "skipped": [],
}
_DRY = {"dry_run": True, "instrument_id": _ID, "tag": None, "timing_ms": {"preparation": 3.0}, "intent_id": INTENT_ID}
DRY_RUN_EXAMPLE = {**_DRY, "broker": "zerodha", **_SENT}
PLAN_DRY_RUN_EXAMPLE = {
    **_DRY,
    "synthetic_type": "plan",
    "routed_from": "post_only",
    "plan": {
        "part": "order",
        "path": "root",
        "instrument_id": _ID,
        "transaction_type": "BUY",
        "product": "CNC",
        "validity": "DAY",
        "quantity": 10,
        "price": {"kind": "fixed", "price": 1480.0, "on_crossing": "refuse"},
        "execution": {"kind": "all_at_once"},
        "hold": False,
        "closes": False,
    },
    "requests": [{"path": "root", "broker": "zerodha", **_SENT}],
}
KEPT_EXAMPLE = {"intent_id": INTENT_ID, "status": 200, "response": PLACED_EXAMPLE}
WAITING_EXAMPLE = {"intent_id": INTENT_ID, "state": "waiting"}
