"""Finds out what became of a request whose outcome is unknown. It only reads: nothing is sent again.

An intent id leads to the engine's answer (`GET /api/orders/intents/<id>`). Where that answer itself is `unknown`, its parent is followed until
no order of it is. Where the answer is lost, the intent is found by the order's own tag, in the unfinished parents or in the order book.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from onebroker_client.answers import KeptAnswer, Parent, WaitingIntent
from onebroker_client.errors import (
    AnswerLost,
    BrokersUnavailable,
    NotFound,
    OutcomeUnknown,
    ServiceUnavailable,
    Unreachable,
)
from onebroker_client.exchange import Access, Now, Sleep, Steps, call

PAUSES_SECONDS = (0.1, 0.2, 0.5, 1.0)
"""Between looks; the last one goes on."""
_NOT_KNOWN = frozenset({"unknown", "sending"})
_NOTHING_SENT = frozenset({"not_sent", "rejected"})
_ENDED = frozenset({"cancelled", "completed", "expired", "failed", "halted", "rejected"})
_FOR_NOW = (AnswerLost, BrokersUnavailable, NotFound, ServiceUnavailable, Unreachable)


@dataclass(frozen=True)
class Settled:
    """What became of a request."""

    intent_id: str | None
    answer: KeptAnswer[Any] | None = None
    """The engine's answer, where it knew the outcome: the status and the body that the request would have got."""
    parent: Parent[Any] | None = None
    """Otherwise the parent, with no order of unknown outcome left."""

    @property
    def outcome(self) -> str:
        """`accepted`, `armed`, `partial` or `rejected`. A refused request is `rejected`: nothing was done."""
        if self.answer is not None:
            refused = "accepted" if self.answer.status < 300 else "rejected"
            return str(getattr(self.answer.response, "outcome", None) or refused)
        if self.parent is None:
            return "rejected"
        sent = [leg.state not in _NOTHING_SENT for leg in self.parent.legs]
        if not any(sent):
            return "armed" if self.parent.state == "armed" else "rejected"
        is_whole = all(sent) or self.parent.synthetic_type == "simple"  # a simple order goes on to the next broker
        return "accepted" if is_whole else "partial"


@dataclass(frozen=True)
class _Trail:
    intent_id: str | None
    parent_id: str | None
    tag: str | None


def settle(access: Access, unknown: OutcomeUnknown, timeout_seconds: float) -> Steps[Settled]:
    """Look until the outcome is known. Raises OutcomeUnknown at the deadline, or at once where there is nothing to follow."""
    trail = _Trail(unknown.intent_id, unknown.parent_id, unknown.tag)
    if trail == _Trail(None, None, None):
        raise _still(unknown, "it has no intent id, no parent and no tag of its own; read the order book")
    deadline = (yield Now()) + timeout_seconds
    pauses: tuple[float, ...] = PAUSES_SECONDS
    while True:
        trail = yield from _followed(access, trail)
        settled = yield from _look(access, trail)
        if settled is not None:
            return settled
        left = deadline - (yield Now())
        if left <= 0:
            raise _still(unknown, f"still unknown after {timeout_seconds:g} seconds", trail)
        yield Sleep(min(pauses[0], left))
        pauses = pauses[1:] or pauses


def _still(unknown: OutcomeUnknown, why: str, trail: _Trail | None = None) -> OutcomeUnknown:
    again = OutcomeUnknown(unknown.operation, why, status=unknown.status, body=unknown.body, tag=unknown.tag)
    if trail is not None:
        again.intent_id, again.parent_id = trail.intent_id, trail.parent_id
    return again


def _followed(access: Access, trail: _Trail) -> Steps[_Trail]:
    """Find the intent and the parent by the tag, once something shows it."""
    if trail.tag is None or trail.parent_id is not None:
        return trail
    try:
        parents = yield from call(access, "get_parents", {})
        for parent in parents.parents:
            if parent.body.get("tag") == trail.tag:
                return replace(trail, intent_id=parent.intent_id, parent_id=parent.parent_order_id)
        book = yield from call(access, "get_orders", {})
        for order in book.orders:
            if order.tag == trail.tag:
                return replace(trail, intent_id=order.intent_id or trail.intent_id, parent_id=order.engine_parent_id)
    except _FOR_NOW:
        pass
    return trail


def _look(access: Access, trail: _Trail) -> Steps[Settled | None]:
    """Return what is known now, or None."""
    parent_id = trail.parent_id
    if trail.intent_id is not None:
        try:
            kept = yield from call(access, "get_intent", {"intent_id": trail.intent_id})
        except _FOR_NOW:
            kept = None
        if isinstance(kept, WaitingIntent):
            return None
        if kept is not None:
            if kept.status != 504:
                return Settled(trail.intent_id, answer=kept)
            parent_id = getattr(kept.response, "parent_id", None) or parent_id
    if parent_id is None:
        return None
    try:
        parent = yield from call(access, "get_parents", {"parent_id": parent_id})
    except _FOR_NOW:
        return None
    return Settled(trail.intent_id, parent=parent) if _is_known(parent) else None


def _is_known(parent: Parent[Any]) -> bool:
    """Whether nothing of a parent is in doubt. While it works and has sent nothing, its first order may leave in the next moment."""
    states = {leg.state for leg in parent.legs}
    if states & _NOT_KNOWN:
        return False
    return parent.state in _ENDED or parent.state == "armed" or bool(states - _NOTHING_SENT)
