"""The engine's answers to a caller (spec 2 §4.2; order-engine 5.3). Pure."""

from collections.abc import Mapping
from typing import Any

import msgspec

from onebroker.actors.engine.messages import EngineAnswer
from onebroker.actors.engine.records import LegRecord, LegState, ParentRecord
from onebroker.actors.sessions.messages import Sent
from onebroker.brokers.broker import OrderAnswer
from onebroker.config.messages import orders as texts
from onebroker.config.vocabulary import OUTCOME_STATUS, Outcome

_OUTCOME_OF_LEG: dict[LegState, Outcome] = {
    LegState.SENDING: Outcome.UNKNOWN,
    LegState.UNKNOWN: Outcome.UNKNOWN,
    LegState.NOT_SENT: Outcome.REJECTED,
    LegState.REJECTED: Outcome.REJECTED,
}
"""What is known of a leg as an outcome; any other state means that the broker accepted it."""


def placed(record: ParentRecord, leg_id: str, preparation_seconds: float, sent: Sent | None) -> EngineAnswer:
    """Answer a place that reached for a broker; `sent` None = no result yet."""
    leg = record.leg(leg_id)
    assert leg is not None
    words: OrderAnswer | LegRecord = sent.answer if sent is not None else leg
    outcome = sent.answer.outcome if sent is not None else _outcome(leg)
    if outcome is Outcome.REJECTED and _outcome(leg) is not outcome:
        words, outcome = leg, _outcome(leg)  # the order stream shows it alive: who is told "rejected" sends again
    timing: dict[str, float] = {"preparation": milliseconds(preparation_seconds)}
    if sent is not None:
        timing["broker"] = milliseconds(sent.broker_seconds)
    return EngineAnswer(
        status=OUTCOME_STATUS[outcome],
        body={
            "broker": leg.broker,
            "instrument_id": record.instrument_id,
            "tag": record.tag,
            "outcome": outcome.value,
            "order_id": words.order_id,
            "status_message": words.status_message,
            "broker_response": words.broker_response,
            "skipped": list(record.skipped),
            "timing_ms": timing,
            "intent_id": record.intent_id,
            "parent_id": record.parent_order_id,
        },
    )


def rebuilt(record: ParentRecord) -> EngineAnswer:
    """Answer from the record alone, after a restart (K8)."""
    if not record.legs:
        return failed_before_sending(record, "the service was restarted")
    leg = record.legs[0]
    outcome = _outcome(leg)
    body = {
        "broker": leg.broker,
        "instrument_id": record.instrument_id,
        "tag": record.tag,
        "outcome": outcome.value,
        "order_id": leg.order_id,
        "status_message": leg.status_message,
        "broker_response": leg.broker_response,
        "skipped": list(record.skipped),
        "timing_ms": {},
        "intent_id": record.intent_id,
        "parent_id": record.parent_order_id,
    }
    return EngineAnswer(status=OUTCOME_STATUS[outcome], body=body)


def _outcome(leg: LegRecord) -> Outcome:
    return _OUTCOME_OF_LEG.get(leg.state, Outcome.ACCEPTED)


def not_written(intent_id: str, error: str) -> EngineAnswer:
    return EngineAnswer(status=503, body={"error": texts.not_written(error), "intent_id": intent_id})


def failed_before_sending(record: ParentRecord, exception: str) -> EngineAnswer:
    return EngineAnswer(
        status=503,
        body={
            "error": texts.failed_before_sending(exception),
            "intent_id": record.intent_id,
            "parent_id": record.parent_order_id,
        },
    )


def stale(intent_id: str, expired_seconds: float) -> EngineAnswer:
    body = {"error": texts.STALE_INTENT, "intent_id": intent_id, "expired_seconds": round(expired_seconds, 3)}
    return EngineAnswer(status=409, body=body)


def already_started(intent_id: str) -> EngineAnswer:
    return EngineAnswer(status=409, body={"error": texts.ALREADY_STARTED, "intent_id": intent_id})


def with_ids(answer: EngineAnswer, record: ParentRecord) -> EngineAnswer:
    """Add intent_id and parent_id to a refusal."""
    ids = {"intent_id": record.intent_id, "parent_id": record.parent_order_id}
    return EngineAnswer(status=answer.status, body={**answer.body, **ids})


def parent_record(record: ParentRecord) -> dict[str, Any]:
    """Return a parent as `GET /api/orders/parents` shows it (order-engine 5.5)."""
    return {
        "parent_order_id": record.parent_order_id,
        "synthetic_type": record.synthetic_type,
        "routed_from": record.routed_from,
        "state": record.state.value,
        "status_message": record.status_message,
        "instrument_id": record.instrument_id,
        "intent_id": record.intent_id,
        "created_at": record.created_at,
        "updated_at": record.updated_at,
        "over_filled_quantity": record.over_filled_quantity,
        "body": record.body,
        "parameters": record.parameters,
        "legs": [_leg(leg) for leg in record.legs],
    }


def _leg(leg: LegRecord) -> Mapping[str, Any]:
    pending = 0 if leg.state.final else max(0, leg.quantity - leg.filled_quantity)
    return {
        "leg_id": leg.leg_id,
        "part": leg.part,
        "broker": leg.broker,
        "order_id": leg.order_id,
        "state": leg.state.value,
        "status_message": leg.status_message,
        "transaction_type": leg.transaction_type,
        "product": leg.product,
        "order_type": leg.order_type,
        "quantity": leg.quantity,
        "filled_quantity": leg.filled_quantity,
        "pending_quantity": pending,
        "price": leg.price,
        "trigger_price": leg.trigger_price,
        "average_price": leg.average_price,
        "sent_at": leg.sent_at or None,
        "updated_at": leg.updated_at,
    }


def milliseconds(seconds: float) -> float:
    return round(seconds * 1000, 3)


_ENCODER = msgspec.json.Encoder(decimal_format="number")


def encode(answer: EngineAnswer) -> bytes:
    """Write an answer for `orders:answer:<intent_id>`."""
    return _ENCODER.encode({"status": answer.status, "response": answer.body})
