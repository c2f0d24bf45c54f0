"""The engine's answers to a caller (rules 2.4.2; order-engine 5.3). Pure."""

import msgspec

from onebroker.actors.engine.context.messages import EngineAnswer
from onebroker.actors.engine.orders.parent_records import LegRecord, LegState, ParentRecord
from onebroker.actors.sessions.messages import Sent
from onebroker.brokers.broker import OrderAnswer
from onebroker.config.messages import orders as texts
from onebroker.config.refusal import Refusal
from onebroker.config.vocabulary import OUTCOME_STATUS, Outcome

_OUTCOME_OF_LEG: dict[LegState, Outcome] = {
    LegState.SENDING: Outcome.UNKNOWN,
    LegState.UNKNOWN: Outcome.UNKNOWN,
    LegState.NOT_SENT: Outcome.REJECTED,
    LegState.REJECTED: Outcome.REJECTED,
}
"""Leg state -> outcome; any other state means that the broker accepted the leg."""


def placed(record: ParentRecord, leg_id: str, preparation_seconds: float, sent: Sent | None) -> EngineAnswer:
    """Answer a place that has a leg at a broker; `sent` None = no result yet."""
    leg = record.leg(leg_id)
    assert leg is not None
    words: OrderAnswer | LegRecord = sent.answer if sent is not None else leg
    outcome = sent.answer.outcome if sent is not None else outcome_of(leg)
    if outcome is Outcome.REJECTED and outcome_of(leg) is not outcome:
        # The order stream shows the order alive. A caller that reads "rejected" would send it again.
        words, outcome = leg, outcome_of(leg)
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
    outcome = outcome_of(leg)
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


def warned(record: ParentRecord, answer: EngineAnswer) -> EngineAnswer:
    """Add the warnings about the orders that left; nothing to a refusal, and nothing where there are none."""
    if not record.warnings or "error" in answer.body:
        return answer
    return EngineAnswer(status=answer.status, body={**answer.body, "warnings": list(record.warnings)})


def outcome_of(leg: LegRecord) -> Outcome:
    """Return the known outcome of a leg."""
    return _OUTCOME_OF_LEG.get(leg.state, Outcome.ACCEPTED)


def refused(refusal: Refusal, intent_id: str) -> EngineAnswer:
    """Answer an order that was refused before it was taken up."""
    return EngineAnswer(status=refusal.status, body={**refusal.body(), "intent_id": intent_id})


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


def milliseconds(seconds: float) -> float:
    return round(seconds * 1000, 3)


_ENCODER = msgspec.json.Encoder(decimal_format="number")


def encode(answer: EngineAnswer) -> bytes:
    """Write an answer for `orders:answer:<intent_id>`."""
    return _ENCODER.encode({"status": answer.status, "response": answer.body})
