"""A plan's answers to its caller, and its parts as `GET /api/orders/parents` shows them (rules 2.4.2; order-engine 5.3, 5.5). Pure."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from onebroker.actors.engine.context.messages import EngineAnswer
from onebroker.actors.engine.orders.parent_records import LegRecord, ParentRecord, ParentState
from onebroker.actors.engine.orders.part_state import PartRecord, PartState
from onebroker.actors.engine.parent.answers import milliseconds, outcome_of, placed, with_ids
from onebroker.actors.engine.plan.execution_kinds import TIMED, Daily
from onebroker.actors.engine.plan.kinds import WORDS
from onebroker.actors.engine.plan.machine.advance import Outcome as Looked
from onebroker.actors.engine.plan.machine.conditions import instant_of
from onebroker.actors.engine.plan.machine.leg_actions import CLOSING, NewLeg
from onebroker.actors.engine.plan.machine.look import Refused
from onebroker.actors.engine.plan.parts import (
    AccountAt,
    BarClosed,
    Direction,
    FromExposure,
    FromPosition,
    OrderPart,
    Part,
    PriceAt,
    TimeOfDay,
    first_orders_of,
    walk,
)
from onebroker.actors.engine.plan.pieces.cutting import due_time, piece_due
from onebroker.actors.engine.plan.price_kinds import Cap, Fixed, FollowInstrument, NativeStop, OptionModel, Peg, Trail
from onebroker.actors.engine.plan.shown_tree import (
    shown_condition,
    shown_execution,
    shown_lifetime,
    shown_price,
    shown_quantity,
)
from onebroker.actors.engine.presets.registry import PRESETS
from onebroker.actors.sessions.messages import Sent
from onebroker.config.vocabulary import OUTCOME_STATUS, Outcome, Side


def armed(record: ParentRecord, root: Part, preparation_seconds: float, looked: Looked | None = None) -> EngineAnswer:
    """Answer for a plan that sent nothing and waits."""
    body = {**_head(record, preparation_seconds), **_trigger_of_first(record, root)}
    if _always_legs(record):
        body["legs"] = _held(record, root, looked)
    return EngineAnswer(status=OUTCOME_STATUS[Outcome.ARMED], body=body)


def combined(
    record: ParentRecord,
    root: Part,
    results: Mapping[str, Sent],
    preparation_seconds: float,
    refused: EngineAnswer | None,
    looked: Looked | None = None,
) -> EngineAnswer:
    """Answer for a plan that reached for brokers. If it sent one order, the answer is that of a single order. Otherwise `legs` lists all of them,
    in tree order. Types that send several orders at once always have `legs`, whatever their number (rules 2.4.2)."""
    sent = [leg for leg in record.legs if is_told(root, leg)]  # an exit may be there already
    if len(sent) == 1 and refused is None:
        (leg,) = sent
        single = placed(record, leg.leg_id, preparation_seconds, results.get(leg.leg_id))
        held = _held(record, root, looked if _always_legs(record) else None)
        if not _always_legs(record) and not _closes_now(
            record, root
        ):  # a hidden stop beside its backstop waits for its price (6.6)
            trigger = {name: held[0][name] for name in ("trigger_direction", "trigger_level")} if held else {}
            return EngineAnswer(status=single.status, body={**single.body, **trigger})
        return EngineAnswer(status=single.status, body={**single.body, "legs": [_leg(leg, outcome_of(leg)), *held]})
    places = {part.path: number for number, part in enumerate(walk(root))}
    legs = sorted(sent, key=lambda leg: (places[leg.part], leg.piece))
    outcomes = [outcome_of(leg) for leg in legs]
    outcome, status = _together(outcomes, refused)
    words = sorted({leg.status_message for leg in sent if leg.status_message})
    if refused is not None and refused.body.get("error"):
        words.append(str(refused.body["error"]))
    body = {
        **_head(record, preparation_seconds),
        "broker": legs[0].broker,
        "outcome": outcome.value,
        "status_message": ";".join(words) or None,
        "skipped": list(record.skipped),
        "legs": [
            *(_leg(leg, outcome) for leg, outcome in zip(legs, outcomes, strict=True)),
            *_held(record, root, looked),
        ],
    }
    return EngineAnswer(status=status, body=body)


def is_told(root: Part, order: LegRecord | NewLeg) -> bool:
    """Whether the answer to a place reports this order: it reports the orders that the start sends. A reported order is final: if it was rejected
    then, it is not sent again. Exits of filled orders, and closes, belong to the running plan, also while the caller still waits."""
    return order.instance != CLOSING and any(order.part == part.path for part in first_orders_of(root))


def ended(record: ParentRecord, preparation_seconds: float) -> EngineAnswer:
    """Answer for a plan that ended without an order: there was nothing to close (3.42), or nothing could be read."""
    if record.state is ParentState.FAILED:
        return with_ids(EngineAnswer(status=503, body={"error": record.status_message}), record)
    body = {
        **_head(record, preparation_seconds),
        "outcome": Outcome.ACCEPTED.value,
        "status_message": record.status_message,
        "legs": [],
    }
    return EngineAnswer(status=OUTCOME_STATUS[Outcome.ACCEPTED], body=body)


def _always_legs(record: ParentRecord) -> bool:
    """Whether a type's answer always has `legs`; also for a position of several brokers, which is closed by one order each (order-engine 4.1)."""
    preset = PRESETS.get(record.routed_from or "")
    return preset is not None and preset.legs


def _closes_now(record: ParentRecord, root: Part) -> bool:
    """Whether a type closes positions at once. It sends one order per position, so the number of orders is meaningful (3.42)."""
    closes = [part for part in first_orders_of(root) if isinstance(part.quantity, FromPosition) and part.when is None]
    return record.routed_from is not None and bool(closes)


def _held(record: ParentRecord, root: Part, looked: Looked | None) -> list[dict[str, Any]]:
    """Return the orders of the start that the engine holds or that wait for a price: they are `armed` and do not count in the outcome."""
    waiting = [
        (part, trigger)
        for part in first_orders_of(root)
        for trigger in _triggers(part, record, () if looked is None else looked.held_back.get(part.path, ()))
    ]
    return [
        {
            "path": part.path,
            "instrument_id": part.instrument_id,
            "outcome": Outcome.ARMED.value,
            "order_id": None,
            "status_message": None,
            "broker": None,
            **trigger,
        }
        for part, trigger in waiting
        if trigger
    ]


def _triggers(part: OrderPart, record: ParentRecord, kept: Sequence[Decimal]) -> list[dict[str, Any]]:
    """Return what a part's unsent orders wait for: one entry for each order held for its own limit."""
    if kept:
        return [_trigger(_towards(part), limit) for limit in kept]
    sent = any(leg.part == part.path for leg in record.legs)
    return [] if sent else [trigger_of(part, record.parts[part.path])]


def _together(outcomes: list[Outcome], refused: EngineAnswer | None) -> tuple[Outcome, int]:
    """All accepted: accepted. Some: partial. None: unknown when any is unknown, else rejected, with the highest of their statuses."""
    if all(outcome is Outcome.ACCEPTED for outcome in outcomes) and refused is None:
        return Outcome.ACCEPTED, OUTCOME_STATUS[Outcome.ACCEPTED]
    if Outcome.ACCEPTED in outcomes:
        return Outcome.PARTIAL, OUTCOME_STATUS[Outcome.PARTIAL]
    outcome = Outcome.UNKNOWN if Outcome.UNKNOWN in outcomes else Outcome.REJECTED
    statuses = [OUTCOME_STATUS[order_outcome] for order_outcome in outcomes] + (
        [refused.status] if refused is not None else []
    )
    return outcome, max(statuses)


def _leg(leg: LegRecord, outcome: Outcome) -> dict[str, Any]:
    return {
        "path": leg.part,
        "instrument_id": leg.instrument_id,
        "outcome": outcome.value,
        "order_id": leg.order_id,
        "status_message": leg.status_message,
        "broker": leg.broker,
    }


def _head(record: ParentRecord, preparation_seconds: float) -> dict[str, Any]:
    return {
        "broker": None,
        "instrument_id": record.instrument_id,
        "tag": record.tag,
        "outcome": Outcome.ARMED.value,
        "order_id": None,
        "status_message": None,
        "broker_response": None,
        "skipped": [],
        "timing_ms": {"preparation": milliseconds(preparation_seconds)},
        "intent_id": record.intent_id,
        "parent_id": record.parent_order_id,
    }


def unpriced(root: Part, looked: Looked) -> Refused | None:
    """Return why a plan that has sent nothing does not even wait: there is nothing to price its start by (3.29), or its start may not be sent
    (3.37). Else None."""
    for part in walk(root):
        now = looked.parts[part.path]
        if isinstance(part, OrderPart) and now.refusal is not None:
            return Refused(409, now.refusal)
        refused = looked.reasons.get(part.path)
        if refused is not None and isinstance(part, OrderPart) and part.when is None and not _may_wait(part):
            return refused
    return None


def _may_wait(part: OrderPart) -> bool:
    """Whether an order of this kind is armed while there is no price yet (3.35, 3.54, 3.25); an order that closes or hedges a position is."""
    if isinstance(part.quantity, FromPosition | FromExposure):
        return True
    inner = part.price.of if isinstance(part.price, Cap) else part.price
    return isinstance(inner, Peg | FollowInstrument | OptionModel)


def _trigger_of_first(record: ParentRecord, root: Part) -> dict[str, Any]:
    for part in walk(root):
        trigger = trigger_of(part, record.parts[part.path])
        if trigger:
            return trigger
    return {}


def trigger_of(part: Part, now: PartRecord) -> dict[str, Any]:
    """Return the price for which a waiting or held part waits: `trigger_direction` and `trigger_level`; empty when it waits for no price."""
    if now.state is PartState.HELD and isinstance(part, OrderPart) and isinstance(part.price, Fixed):
        return _trigger(_towards(part), now.price if now.price is not None else part.price.price)
    if now.state is not PartState.WAITING:
        return {}
    if isinstance(part.when, PriceAt | AccountAt):
        direction = part.when.direction or now.directions.get("")
        return _trigger(direction, part.when.level)
    if isinstance(part.when, BarClosed):
        return _trigger(part.when.direction or now.directions.get(""), part.when.level)
    if isinstance(part, OrderPart) and isinstance(part.execution, Daily) and isinstance(part.price, NativeStop):
        sells = Side(part.transaction_type) is Side.SELL
        trigger = part.price.trigger_price if now.trigger_price is None else now.trigger_price
        return _trigger(Direction.BELOW if sells else Direction.ABOVE, trigger)
    if isinstance(part, OrderPart) and isinstance(part.price, Trail) and part.price.activate_at is not None:
        sells = Side(part.transaction_type) is Side.SELL
        return _trigger(Direction.ABOVE if sells else Direction.BELOW, part.price.activate_at)
    return {}


def _towards(part: OrderPart) -> Direction:
    """Return the direction in which the market must move to reach a held limit."""
    return Direction.BELOW if Side(part.transaction_type) is Side.BUY else Direction.ABOVE


def _trigger(direction: Direction | str | None, level: object) -> dict[str, Any]:
    return {"trigger_direction": None if direction is None else str(direction), "trigger_level": level}


# --- GET parents -----------------------------------------------------------------------------------------------------------


def shown_parts(record: ParentRecord, root: Part) -> dict[str, dict[str, Any]]:
    """Return `parameters.parts`: path -> part, in tree order; fields that do not apply are left out. A preset that has not started is shown as one
    part."""
    shown: dict[str, dict[str, Any]] = {}
    hidden: str | None = None
    for part in walk(root):
        if hidden is not None and part.path.startswith(f"{hidden}."):
            continue
        now = record.parts.get(part.path, PartRecord())
        hidden = part.path if part.preset is not None and now.due_at is None and part is not root else None
        shown[part.path] = _there(_shown(part, now, record))
    return shown


def _shown(part: Part, now: PartRecord, record: ParentRecord) -> dict[str, Any]:
    head = {
        "part": part.preset if part.preset is not None and now.due_at is None else WORDS[type(part)],
        "state": now.state.value,
        "status_message": now.held_up or now.status_message,
    }
    tail = {
        "when": None if part.when is None else shown_condition(part.when),
        "lifetime": None if part.lifetime is None else shown_lifetime(part.lifetime),
        **trigger_of(part, now),
        "next_at": next_at(part, now, record.updated_at),
        "watermark": now.memory.watermark,
    }
    return {**head, **(_order(part, now, record) if isinstance(part, OrderPart) else {}), **tail}


def _order(part: OrderPart, now: PartRecord, record: ParentRecord) -> dict[str, Any]:
    legs = [leg for leg in record.legs if leg.part == part.path and leg.instance != CLOSING]
    filled = sum(leg.filled_quantity for leg in legs)
    worth = sum(leg.filled_quantity * leg.average_price for leg in legs if leg.average_price is not None)
    return {
        "instrument_id": part.instrument_id,
        "transaction_type": part.transaction_type,
        "quantity": now.quantity if now.quantity is not None else shown_quantity(part.quantity),
        "filled_quantity": filled,
        "average_price": worth / filled if filled else None,
        "price": shown_price(part.price),
        "execution": shown_execution(part.execution),
    }


def next_at(part: Part, now: PartRecord, moment: float) -> float | None:
    """Return when the clock next moves the part, in epoch seconds; None when it does not."""
    if now.state.final or now.due_at is None:
        return None
    if not now.fired and isinstance(part.when, TimeOfDay):
        return instant_of(part.when, now.due_at)
    if isinstance(part, OrderPart) and isinstance(part.execution, Daily):
        return now.arms_at
    if isinstance(part, OrderPart) and isinstance(part.execution, TIMED) and now.started_at is not None:
        piece = piece_due(part.execution, now.started_at, moment) + 1
        return due_time(part.execution, now.started_at, piece) if piece < part.execution.slices else None
    return None


def _there(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
