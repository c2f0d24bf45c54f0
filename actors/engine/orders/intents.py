"""Intents: the change that a caller asks of the engine, its journal entry, and its answer, which can be read by id later (order-engine 2.4,
5.1, 5.3). If an intent is refused before anything is written, only its answer is kept."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import attrs
import msgspec

from onebroker.actors.store import keys
from onebroker.actors.store.interface import Op, Set, StreamAdd

INTENTS_KEPT = 10_000
STARTED_KEPT_SECONDS = 2 * 86_400
CHANGE_KEPT_SECONDS = 600
"""How long the store knows that a change was taken up: longer than a change takes, and longer than its answer is kept."""
ANSWERED = b"answered"
"""`orders:started:<intent_id>` holds this instead of a parent's id once a change was answered: nobody waits for the change any more."""


class IntentKind(StrEnum):
    PLACE = "place"
    MODIFY = "modify"
    CANCEL = "cancel"
    CANCEL_PART = "cancel_part"
    HALT = "halt"


@attrs.frozen(kw_only=True)
class Intent:
    """A change that the desk asks of the engine."""

    intent_id: str
    kind: IntentKind
    body: Mapping[str, Any]
    """The fields of the request, by their API names."""


_ENCODER = msgspec.json.Encoder(decimal_format="number")


def taken_up(intent: Intent, parent_id: str) -> tuple[Op, ...]:
    """Return the writes that journal a change; they go with the change's first write-ahead."""
    entry = {
        "intent_id": intent.intent_id.encode(),
        "kind": intent.kind.encode(),
        "parent_id": parent_id.encode(),
        "body": _ENCODER.encode(intent.body),
    }
    return (
        StreamAdd(keys.INTENTS, entry, INTENTS_KEPT),
        Set(keys.started(intent.intent_id), parent_id.encode(), CHANGE_KEPT_SECONDS),
    )


def answered(intent: Intent, answer: bytes, keep_seconds: float) -> tuple[Op, ...]:
    """Return the writes that keep a change's answer; `answer` is as `answers.encode` wrote it."""
    return (
        Set(keys.answer(intent.intent_id), answer, int(keep_seconds)),
        Set(keys.started(intent.intent_id), ANSWERED, CHANGE_KEPT_SECONDS),
    )
