"""Reads JSON into the generated types, with the numbers of the client's choice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import cache
from types import GenericAlias
from typing import Any

import msgspec

from onebroker_client.values import Choice, Moment, read_moment

Hook = Callable[[type, Any], Any]


@cache
def _keys(struct: Any) -> tuple[frozenset[str], frozenset[str]]:
    """Return the keys that an object of a struct must have, and those that it may have."""
    fields = msgspec.structs.fields(struct)
    needed = frozenset(field.encode_name for field in fields if field.required)
    return needed, frozenset(field.encode_name for field in fields)


def choose(value: dict[str, Any], structs: Sequence[Any]) -> Any:
    """Return the struct that an object is: of those whose needed keys it has, the one that knows most of its keys, the first of equals.

    Raises ValidationError when it is none of them.
    """
    there = value.keys()
    fitting = [struct for struct in structs if _keys(struct)[0] <= there]
    if not fitting:
        names = ", ".join(struct.__name__ for struct in structs)
        raise msgspec.ValidationError(f"Object with the keys {', '.join(there)} is none of {names}")
    return max(fitting, key=lambda struct: len(_keys(struct)[1] & there))


class Reader:
    """Decoders for one choice of numbers."""

    def __init__(self, number: type[float] | type[Decimal]) -> None:
        self._number = number
        self._float_hook = Decimal if number is Decimal else None
        self._decoders: dict[Any, msgspec.json.Decoder[Any]] = {}

    def json(self, body: bytes | str) -> Any:
        """Return JSON without a type. Raises DecodeError."""
        return self._decoder(Any).decode(body)

    def read(self, body: bytes | str, structs: Sequence[Any], *, is_list: bool = False) -> Any:
        """Return JSON as one of these structs, or as an array of the only one. Raises DecodeError, of which ValidationError is one."""
        if not structs:
            return self.json(body)
        if len(structs) > 1:
            return self.convert(self.json(body), structs)
        kind = self._with_number(structs[0])
        return self._decoder(GenericAlias(list, (kind,)) if is_list else kind).decode(body)

    def convert(self, value: Any, structs: Sequence[Any]) -> Any:
        """Return a decoded object as one of these structs, and anything else as it is."""
        if not isinstance(value, dict):
            return value
        struct = choose(value, structs)
        return msgspec.convert(value, self._with_number(struct), dec_hook=self._hook)

    def _decoder(self, kind: Any) -> msgspec.json.Decoder[Any]:
        if kind not in self._decoders:
            self._decoders[kind] = msgspec.json.Decoder(kind, dec_hook=self._hook, float_hook=self._float_hook)
        return self._decoders[kind]

    def _with_number(self, struct: Any) -> Any:
        return struct[self._number] if getattr(struct, "__parameters__", ()) else struct

    def _hook(self, kind: type, value: Any) -> Any:
        if kind is Moment:
            return read_moment(value)
        if issubclass(kind, Choice):
            return self.convert(value, kind.structs)
        raise NotImplementedError(f"{kind} is no type of an answer")
