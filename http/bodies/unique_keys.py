"""Decodes JSON in which no object has a key twice. Where money depends on a value, the service does not guess which of
two is meant.

A decoder keeps the last value of a repeated key and reports nothing. So this module counts the written members (each
has one colon outside texts) and compares the count with the decoded members. It searches for the repeated name, which
is slow, only when the counts differ.
"""

import json
import re

import msgspec

_TEXT = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)


class RepeatedKey(Exception):
    """One object has the key `name` twice."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(name)


def decode(raw: bytes) -> object:
    """Return what `msgspec.json.decode` returns. Raises ValueError or RecursionError if it is not JSON, and `RepeatedKey`."""
    value: object = msgspec.json.decode(raw)
    if _TEXT.sub(b"", raw).count(b":") != _members(value):
        json.loads(raw, object_pairs_hook=_once, parse_int=float)
        raise ValueError("the members that were written are not those that were read")
    return value


def _members(value: object) -> int:
    """Return the number of members in all objects within a decoded value."""
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
