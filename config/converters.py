"""The strict cattrs converter of the cold edges: settings, imported reference documents, plan bodies, records from
Redis.

`structure(cls, data, where)` turns plain JSON or TOML values into typed ones. Else it raises `StructureError`, whose
lines each name the path of what is wrong. Nothing is guessed: text is not turned into a number, 0 is not false, an
unknown key is an error. An error never quotes a value, because a value may be a secret. This converter is never used
per row of a hot loop.
"""

import difflib
import math
import re
import types
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import attrs
import cattrs
from cattrs.errors import (
    AttributeValidationNote,
    BaseValidationError,
    ForbiddenExtraKeysError,
    IterableValidationError,
    IterableValidationNote,
)

T = TypeVar("T")


class StructureError(Exception):
    """The given data does not have the required shape; `lines` says what is wrong and where, one sentence each."""

    def __init__(self, lines: Iterable[str]) -> None:
        self.lines = tuple(lines)
        super().__init__("\n".join(self.lines))


class WrongValueError(ValueError):
    """Raised by the hooks. The message completes a sentence that begins with the path (`must be a whole number`)."""


class WrongFieldError(WrongValueError):
    """Raised by an object's own checks. The message is about the object's field `name`."""

    def __init__(self, name: str, sentence: str) -> None:
        self.name = name
        super().__init__(sentence)


class Secret:
    """Text that only `reveal()` shows: never repr, str, an error, or a dump of the object that holds it."""

    # A plain class on purpose: attrs.asdict and msgspec would read the fields of an attrs class.
    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """Return the text."""
        return self._text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __repr__(self) -> str:
        return "Secret(***)"

    def __str__(self) -> str:
        return "***"

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("a secret is not pickled")


class SecretUrl(Secret):
    """An address that may hold a user, a password or other secrets; only its other parts may be shown."""

    __slots__ = ()


def structure(cls: type[T], data: object, where: str) -> T:
    """Return `data` (plain mappings, lists and scalars) as a `cls`.

    Every path in the errors begins with `where`, such as `nse` or `[engine]`; use "" when the paths say enough.
    Raises StructureError.
    """
    try:
        return CONVERTER.structure(data, cls)
    except (BaseValidationError, ForbiddenExtraKeysError, WrongValueError) as error:
        raise StructureError(_lines(error, where)) from None


_CLOSE = 0.65


def nearest(name: str, known: Iterable[str]) -> str:
    """Return `; did you mean <known name>?` for a name close to a known one, or "" when none is close.

    Case and separators are ignored (`dryRun` is dry_run). An abbreviation is close to its word (`qty`, quantity). Names
    that share one of two words (`stop_price`, limit_price) are not close.
    """
    by_letters = {_letters(known_name): known_name for known_name in sorted(known)}
    letters = _letters(name)
    close = difflib.get_close_matches(letters, by_letters, n=1, cutoff=_CLOSE) or [
        known_letters for known_letters in by_letters if len(letters) > 1 and _abbreviates(letters, known_letters)
    ]
    return f"; did you mean {by_letters[close[0]]}?" if close else ""


def _letters(name: str) -> str:
    return re.sub(r"[\W_]", "", name).casefold()


def _abbreviates(short: str, word: str) -> bool:
    """Tell whether `short` begins with the word's first letter and holds at least a third of its letters, in their order."""
    behind = iter(word)
    return short[:1] == word[:1] and 3 * len(short) >= len(word) and all(letter in behind for letter in short)


def unknown_key(path: str, name: str, known: Iterable[str]) -> str:
    """Return the sentence for an unknown key."""
    return f"{join(path, name)} is not known{nearest(name, known)}"


def join(path: str, name: str | int) -> str:
    """Return the path one step further down: `a.b`, `a[0]`."""
    if isinstance(name, int):
        return f"{path}[{name}]"
    return f"{path}.{name}" if path else name


# How errors become sentences


def _lines(error: BaseException, path: str) -> list[str]:
    if isinstance(error, ForbiddenExtraKeysError):
        known = [field.alias for field in attrs.fields(error.cl)]
        return [unknown_key(path, name, known) for name in sorted(error.extra_fields)]
    if isinstance(error, BaseExceptionGroup):
        return [line for inner in error.exceptions for line in _lines(inner, _deeper(inner, path))]
    if isinstance(error, WrongFieldError):
        return [f"{join(path, error.name)} {error}"]
    if isinstance(error, WrongValueError):
        return [f"{path or 'the document'} {error}"]
    if isinstance(error, KeyError):
        return [f"{path} is required"]
    # Errors that cattrs and Python raise by themselves may quote the value.
    return [f"{path or 'the document'} has a value it cannot have"]


def _deeper(error: BaseException, path: str) -> str:
    for note in getattr(error, "__notes__", ()):
        if isinstance(note, AttributeValidationNote):
            path = join(path, note.name)
        elif isinstance(note, IterableValidationNote):
            path = join(path, note.index)
    return path


# Scalars. Each takes a plain value and returns it typed, or raises WrongValueError.


def _text(value: object, _: type) -> str:
    if isinstance(value, str):
        return value
    raise WrongValueError("must be text")


def _text_or_word(value: object, cls: type) -> str:
    # cattrs looks a StrEnum up under str, its base.
    return cls(one_of(value, [word.value for word in cls])) if issubclass(cls, StrEnum) else _text(value, cls)


def _whole(value: object, _: type) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise WrongValueError("must be a whole number")


def _number(value: object, _: type) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    raise WrongValueError("must be a number")


def _flag(value: object, _: type) -> bool:
    if isinstance(value, bool):
        return value
    raise WrongValueError("must be true or false")


def _decimal(value: object, _: type) -> Decimal:
    if isinstance(value, (int, float, str, Decimal)) and not isinstance(value, bool):
        try:
            number = Decimal(repr(value) if isinstance(value, float) else value)
        except InvalidOperation:
            raise WrongValueError("must be a number") from None
        if number.is_finite():
            return number
    raise WrongValueError("must be a number")


def _moment(value: object, _: type) -> datetime:
    try:
        moment = value if isinstance(value, datetime) else datetime.fromisoformat(_text(value, str))
    except ValueError:
        raise WrongValueError("must be a time such as 2026-11-20T09:15:00+05:30") from None
    if moment.tzinfo is None:
        raise WrongValueError("must carry its offset, such as +05:30")
    return moment


def _day(value: object, _: type) -> date:
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    if isinstance(value, str) and len(value) == 10:
        try:
            return date.fromisoformat(value)
        except ValueError:
            pass
    raise WrongValueError("must be a date written YYYY-MM-DD")


def _time_of_day(value: object, _: type) -> time:
    if isinstance(value, time):
        return value
    if isinstance(value, str) and len(value) == 5 and value[2] == ":":
        try:
            return time.fromisoformat(value)
        except ValueError:
            pass
    raise WrongValueError("must be a time of day written HH:MM")


def _path(value: object, _: type) -> Path:
    return Path(_text(value, str)).expanduser()


def _secret(value: object, kind: type[Secret]) -> Secret:
    if not _text(value, str):
        # Anybody could guess an empty key.
        raise WrongValueError("must not be empty")
    return kind(_text(value, str))


def one_of(value: object, words: Iterable[str]) -> str:
    """Return `value` if it is one of `words`; else raise WrongValueError, which lists the words in their order."""
    allowed = list(words)
    if isinstance(value, str) and value in allowed:
        return value
    raise WrongValueError(f"must be one of {', '.join(allowed)}")


_SCALARS: dict[type, Callable[[object, Any], object]] = {
    str: _text_or_word, int: _whole, float: _number, bool: _flag, Decimal: _decimal,
    datetime: _moment, date: _day, time: _time_of_day, Path: _path,
    Secret: _secret, SecretUrl: _secret,
}  # fmt: skip


# Kinds that take their parts from type arguments


def _literal_hook(kind: type) -> Callable[[object, type], str]:
    return lambda value, _: one_of(value, get_args(kind))


def _optional_hook(kind: type) -> Callable[[object, type], object]:
    inner = next(argument for argument in get_args(kind) if argument is not types.NoneType)
    return lambda value, _: None if value is None else CONVERTER.structure(value, inner)


def _is_optional(kind: object) -> bool:
    arguments = get_args(kind)
    return get_origin(kind) in (Union, types.UnionType) and len(arguments) == 2 and types.NoneType in arguments


def _choice_hook(kind: type) -> Callable[[object, type], object]:
    """Take the first of several scalar kinds that fits the value (`str | int`)."""
    kinds = [argument for argument in get_args(kind) if argument is not types.NoneType]

    def structure_choice(value: object, _: type) -> object:
        if value is None and len(kinds) < len(get_args(kind)):
            return None
        problems: list[str] = []
        for scalar_kind in kinds:
            try:
                return CONVERTER.structure(value, scalar_kind)
            except WrongValueError as error:
                problems.append(str(error))
        raise WrongValueError(" or ".join(problems))

    return structure_choice


def _is_choice(kind: object) -> bool:
    # Unions of classes are left to cattrs: it tells them apart by their fields, or by a hook registered next to them.
    kinds = set(get_args(kind)) - {types.NoneType}
    return get_origin(kind) in (Union, types.UnionType) and len(kinds) > 1 and kinds <= _SCALARS.keys()


def _structure_each(
    pairs: Iterable[tuple[str | int, object, Any]],
) -> list[Any]:
    """Structure (place, value, kind) triples; collect every error under its place."""
    done: list[object] = []
    errors: list[Exception] = []
    for place, value, kind in pairs:
        try:
            done.append(CONVERTER.structure(value, kind))
        except (BaseValidationError, ForbiddenExtraKeysError, WrongValueError) as error:
            error.add_note(IterableValidationNote("", place, kind))
            errors.append(error)
    if errors:
        raise IterableValidationError("", errors, list)
    return done


def _list_hook(kind: Any) -> Callable[[object, type], object]:
    inner, build = get_args(kind)[0], get_origin(kind)

    def structure_list(value: object, _: type) -> object:
        # A text is iterable too: without this check "nse" would become ("n", "s", "e").
        if not isinstance(value, (list, tuple, set, frozenset)):
            raise WrongValueError("must be a list")
        return build(_structure_each((index, item, inner) for index, item in enumerate(value)))

    return structure_list


def _pair_hook(kind: Any) -> Callable[[object, type], object]:
    kinds = get_args(kind)

    def structure_fixed(value: object, _: type) -> object:
        if not isinstance(value, (list, tuple)) or len(value) != len(kinds):
            raise WrongValueError(f"must be a list of {len(kinds)}")
        return tuple(_structure_each((index, *both) for index, both in enumerate(zip(value, kinds, strict=True))))

    return structure_fixed


def _mapping_hook(kind: Any) -> Callable[[object, type], object]:
    key_kind, value_kind = get_args(kind)

    def structure_mapping(value: object, _: type) -> object:
        if not isinstance(value, Mapping):
            raise WrongValueError("must be an object")
        keys = _structure_each((str(key), key, key_kind) for key in value)
        return dict(zip(keys, _structure_each((str(key), value[key], value_kind) for key in value), strict=True))

    return structure_mapping


def _attrs_hook(kind: Any, converter: cattrs.Converter) -> Callable[[object, type], object]:
    inner = converter.gen_structure_attrs_fromdict(kind)

    def structure_object(value: object, cls: type) -> object:
        if not isinstance(value, Mapping):
            raise WrongValueError("must be an object")
        return inner(value, cls)

    return structure_object


def _is_fixed_tuple(kind: object) -> bool:
    return get_origin(kind) is tuple and Ellipsis not in get_args(kind)


def _build_converter() -> cattrs.Converter:
    converter = cattrs.Converter(forbid_extra_keys=True, detailed_validation=True)
    for kind, hook in _SCALARS.items():
        converter.register_structure_hook(kind, hook)
    converter.register_structure_hook_func(lambda kind: kind is object, lambda value, _: value)
    factories: tuple[tuple[Callable[[Any], bool], Callable[..., Callable[[object, type], object]]], ...] = (
        (attrs.has, _attrs_hook),
        (lambda kind: get_origin(kind) is Literal, _literal_hook),
        (lambda kind: get_origin(kind) in (tuple, frozenset, list), _list_hook),
        (_is_fixed_tuple, _pair_hook),
        (lambda kind: get_origin(kind) in (dict, Mapping), _mapping_hook),
        (_is_optional, _optional_hook),
        (_is_choice, _choice_hook),
    )
    for predicate, factory in factories:
        converter.register_structure_hook_factory(predicate, factory)
    return converter


CONVERTER = _build_converter()
"""The one strict converter. Call its `register_structure_hook` for a type of your own in that type's module."""
