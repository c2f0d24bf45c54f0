"""Marks for the type of a field that is encoded as it is, for the API's documents: they change the field's JSON schema and nothing else."""

from collections.abc import Iterable

import msgspec

COMPONENTS = "#/components/schemas/"
"""Where the documents keep their schemas by name."""


def schema_of(*names: str) -> msgspec.Meta:
    """Mark a value that is JSON already: its schema is the one of that name, or one of several."""
    refs: list[dict[str, object]] = [{"$ref": COMPONENTS + name} for name in names]
    return msgspec.Meta(extra_json_schema=refs[0] if len(refs) == 1 else {"anyOf": refs})


def known_words(words: Iterable[str]) -> msgspec.Meta:
    """Mark a text that usually is one of `words`."""
    return msgspec.Meta(examples=[str(word) for word in words])


def one_of(words: Iterable[object]) -> msgspec.Meta:
    """Mark a value that always is one of `words`."""
    return msgspec.Meta(extra_json_schema={"enum": list(words)})


DAY = msgspec.Meta(extra_json_schema={"format": "date"})
"""A day, YYYY-MM-DD."""
MOMENT = msgspec.Meta(extra_json_schema={"format": "date-time"})
"""A moment with its offset, ISO 8601."""
UUID = msgspec.Meta(extra_json_schema={"format": "uuid"})
