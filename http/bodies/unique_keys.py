"""JSON in which no object says a key twice. Which of two values is meant is not guessed where money depends on it.

A decoder keeps the last value of a repeated key and says nothing. So the members that were written are counted (each has one
colon outside texts) and compared with those that were read; the slow search for the name is made only when they differ.
"""

import json
import re

import msgspec

_TEXT = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)


class RepeatedKey(Exception):
    """`name` stands twice in one object."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(name)


def decode(raw: bytes) -> object:
    """Return what `msgspec.json.decode` returns. Raises ValueError or RecursionError when it is not JSON, and `RepeatedKey`."""
    value: object = msgspec.json.decode(raw)
    if _TEXT.sub(b"", raw).count(b":") != _members(value):
        json.loads(raw, object_pairs_hook=_once, parse_int=float)
        raise ValueError("the members that were written are not those that were read")
    return value


def _members(value: object) -> int:
    """Return how many members all objects within a decoded value have."""
    count, left = 0, [value]
    while left:
        inner = left.pop()
        if isinstance(inner, dict):
            count += len(inner)
            left += inner.values()
        elif isinstance(inner, list):
            left += inner
    return count


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    known: dict[str, object] = {}
    for name, value in pairs:
        if name in known:
            raise RepeatedKey(name)
        known[name] = value
    return known
