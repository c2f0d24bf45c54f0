"""A plan's tree as the parent record stores it, so that a restart never judges the tree again against a changed catalogue.

Every kind carries its grammar word under `kind`. Numbers are text, so that JSON loses no digits. Fields with defaults are written
too, so that a default that changes later does not change a running plan.
"""

import types
from collections.abc import Callable, Mapping
from datetime import time
from decimal import Decimal
from enum import StrEnum
from typing import Any, Union, get_args, get_origin

import attrs
from cattrs.gen import make_dict_structure_fn, override

from onebroker.actors.engine.plan.execution_kinds import Daily
from onebroker.actors.engine.plan.kinds import CONDITIONS, EXECUTIONS, MADE_PRICES, PARTS, PRICES, QUANTITIES, WORDS
from onebroker.actors.engine.plan.parts import Lifetime, Part, TimeOfDay
from onebroker.config.converters import CONVERTER, WrongFieldError, WrongValueError, one_of, structure

_TAG = "kind"
_TABLES = (PARTS, QUANTITIES, PRICES, MADE_PRICES, EXECUTIONS, CONDITIONS)


def encode_plan(part: Part) -> dict[str, Any]:
    """Return the tree as plain JSON values."""
    written = _encoded(part)
    assert isinstance(written, dict)
    return written


def decode_plan(written: Mapping[str, Any]) -> Part:
    """Read a tree that `encode_plan` wrote. Raises `config.converters.StructureError` when the value is no such tree."""
    plan: Part = structure(Part, written, "plan")  # type: ignore[arg-type]  # a union is no class
    return plan


def _encoded(value: object) -> object:
    match value:
        case StrEnum():
            return value.value
        case Decimal():
            return str(value)
        case time():
            return value.isoformat()
        case tuple():
            return [_encoded(item) for item in value]
    cls = type(value)
    if attrs.has(cls):
        tag = {_TAG: WORDS[cls]} if cls in WORDS else {}
        return {**tag, **{field.name: _encoded(getattr(value, field.name)) for field in attrs.fields(cls)}}
    return value


# --- reading back ----------------------------------------------------------------------------------------------------------


def _members(kind: object) -> frozenset[type]:
    """Return the classes of a union, without None; empty when `kind` is no union."""
    if get_origin(kind) not in (Union, types.UnionType):
        return frozenset()
    return frozenset(get_args(kind)) - {types.NoneType}


def _is_tagged(kind: object) -> bool:
    members = _members(kind)
    return bool(members) and members <= WORDS.keys()


def _tagged_hook(kind: Any) -> Callable[[object, type], object]:
    """Structure a union of the grammar by the word under `kind`."""
    members = _members(kind)
    table = {word: cls for words in _TABLES for word, cls in words.items() if cls in members}
    optional = types.NoneType in get_args(kind)

    def structure_tagged(value: object, _: type) -> object:
        if value is None and optional:
            return None
        if not isinstance(value, Mapping):
            raise WrongValueError("must be an object")
        try:
            word = one_of(value.get(_TAG), table)
        except WrongValueError as error:
            raise WrongFieldError(_TAG, str(error)) from None
        return CONVERTER.structure({name: inner for name, inner in value.items() if name != _TAG}, table[word])

    return structure_tagged


def _time(value: object, _: type) -> time:
    """Read a time of day. Unlike a time in the settings, a time in a plan may have seconds."""
    try:
        return time.fromisoformat(value) if isinstance(value, str) and len(value) == 8 else _no_time()
    except ValueError:
        return _no_time()


def _no_time() -> time:
    raise WrongValueError("must be a time of day written HH:MM:SS")


def _optional_time(value: object, kind: type) -> time | None:
    return None if value is None else _time(value, kind)


def _register() -> None:
    for cls in WORDS:
        attrs.resolve_types(cls)
    CONVERTER.register_structure_hook_factory(_is_tagged, _tagged_hook)
    due = override(struct_hook=_time)
    ended = override(struct_hook=_optional_time)
    _checked(TimeOfDay, make_dict_structure_fn(TimeOfDay, CONVERTER, _cattrs_forbid_extra_keys=True, at=due))
    _checked(Daily, make_dict_structure_fn(Daily, CONVERTER, _cattrs_forbid_extra_keys=True, arm_at=due))
    _checked(Lifetime, make_dict_structure_fn(Lifetime, CONVERTER, _cattrs_forbid_extra_keys=True, at_time=ended))


def _checked(cls: type, inner: Callable[[Any, Any], Any]) -> None:
    """Register a class's own hook, which runs after the check that the value is an object."""

    def structure_object(value: object, kind: type) -> object:
        if not isinstance(value, Mapping):
            raise WrongValueError("must be an object")
        return inner(value, kind)

    CONVERTER.register_structure_hook(cls, structure_object)


_register()
