"""The sentences that a parent's record says, once some of them are not true any more. Pure."""

from collections.abc import Iterable, Iterator, Mapping

import attrs

from onebroker.actors.engine.orders.parent_records import ParentRecord
from onebroker.config.messages import plan_life as texts


def with_true(record: ParentRecord, sentences: Mapping[str, str | None]) -> ParentRecord:
    """Return the record with the sentences that are true now (None: none) in its troubles, its own message, and the messages of its parts."""
    return attrs.evolve(
        record,
        troubles=tuple(_true_of(record.troubles, sentences)),
        status_message=_message(record.status_message, sentences),
        parts={
            path: attrs.evolve(part, status_message=_message(part.status_message, sentences))
            for path, part in record.parts.items()
        },
    )


def _message(message: str | None, sentences: Mapping[str, str | None]) -> str | None:
    return "; ".join(_true_of((message or "").split("; "), sentences)) or None


def _true_of(said: Iterable[str], sentences: Mapping[str, str | None]) -> Iterator[str]:
    for sentence in said:
        true_now = sentences.get(sentence, sentence)
        if true_now:
            yield true_now


def without_open_units(record: ParentRecord) -> ParentRecord:
    """Return the record without any sentence about units that are open."""
    said = [record.status_message, *(part.status_message for part in record.parts.values())]
    sentences = {sentence for message in said for sentence in (message or "").split("; ")}
    untrue = {*filter(texts.is_of_open_units, sentences), *filter(texts.is_of_open_units, record.troubles)}
    return with_true(record, dict.fromkeys(untrue))
