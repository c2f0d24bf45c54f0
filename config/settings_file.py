"""A settings file with every setting, its default and its meaning, made from the classes of `config/sections.py`.

The meaning of a setting is the text below its field. A setting that has a default is a comment line `# name = default`; without the `# ` it is
valid and means the same. A setting without a default is the comment line `# name: kind, not set`.
"""

import ast
import inspect
import textwrap
from collections.abc import Iterator, Mapping
from datetime import time
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, get_args

import attrs
import msgspec

from onebroker.config import sections
from onebroker.config.secret_files import SUFFIX, is_secret
from onebroker.config.sections import BrokerSettings, RecordedInstruments, Settings, TickPlace
from onebroker.config.settings import BROKER_SECTION_FIELDS, SECTIONS, KnownBrokers

WIDTH = 120
BROKER_EXAMPLE = "dhan"
"""The broker whose section shows the settings that every broker has."""

_HEAD = """\
# Settings of onebroker. Each setting is here with its meaning and its default.
# To change a setting, remove the "# " in front of it. "not set" means that there is no value without yours.
# A variable of the environment comes before this file: ONEBROKER_<SECTION>_<KEY>, ONEBROKER_BROKERS_<CODE>_<KEY>.
# This file holds secrets, so only its owner may read it (chmod 600).
# A secret can also be in a file of its own: <name>_file = "/path" holds its path. A relative path begins at the folder of this file.
# `onebroker config check` says whether the file can be used.
"""


def settings_file(
    given: Mapping[str, Mapping[str, str]], known_brokers: KnownBrokers, second_hosts: KnownBrokers
) -> str:
    """Return the text of the file. `given`: section -> setting -> text that is set. `known_brokers` and `second_hosts`: as for `load_settings`."""
    parts = [_HEAD]
    for name, kind in SECTIONS.items():
        parts.append(f"\n[{name}]\n" + "".join(_settings(kind, given.get(name, {}))))
    parts += _brokers(known_brokers, second_hosts)
    return "".join(parts)


def meanings(kind: type) -> dict[str, str]:
    """Return the meaning of each setting of a section: the text below its field, "" where there is none."""
    return _texts().get(kind.__name__, {})


def _settings(kind: type, given: Mapping[str, str]) -> Iterator[str]:
    for field in attrs.fields(kind):
        yield from _explained(kind, field)
        if field.name in given:
            yield f"{field.name} = {_toml(given[field.name])}\n"
        else:
            yield f"# {_line(field)}\n"
        if is_secret(field.type):
            yield _file_line(field.name)


def _file_line(name: str) -> str:
    return f"# {name}{SUFFIX}: path, not set\n"


def _explained(kind: Any, field: "attrs.Attribute[Any]", name: str = "", depth: int = 0) -> Iterator[str]:
    """Yield the comment lines with the meaning of a setting, and below it the meanings of its inner settings."""
    text = meanings(kind)[field.name].replace("None =", "not set =").replace("None or absent:", "Not set:")
    indent = "#   " + "  " * depth
    for number, line in enumerate(textwrap.wrap(f"{name}{text}", WIDTH - len(indent))):
        yield f"{indent}{'  ' if number and name else ''}{line}\n"
    inner = _section_class(field.type)
    for below in attrs.fields(inner) if inner is not None else ():
        yield from _explained(field.type, below, f"{below.name}: ", depth + 1)


def _line(field: "attrs.Attribute[Any]") -> str:
    default: Any = field.default
    if isinstance(default, attrs.Factory):  # type: ignore[arg-type]
        default = default.factory()
    if default is None or default is attrs.NOTHING:
        return f"{field.name}: {_kind(field.type)}, not set"
    return f"{field.name} = {_toml(default)}"


def _toml(value: object) -> str:
    """Return a setting's value as TOML."""
    if isinstance(value, RecordedInstruments):
        value = list(value.instrument_ids) if value.scope == "listed" else value.scope
    elif isinstance(value, TickPlace):
        value = str(value)
    kind: Any = type(value)
    if attrs.has(kind):
        given = {field.name: getattr(value, field.name) for field in attrs.fields(kind)}
        value = {name: inner for name, inner in given.items() if inner is not None}
    match value:
        case bool():
            return "true" if value else "false"
        case time():
            return f'"{value:%H:%M}"'
        case Mapping():
            pairs = ", ".join(f"{name} = {_toml(inner)}" for name, inner in value.items())
            return f"{{ {pairs} }}" if pairs else "{}"
        case list() | tuple():
            return f"[{', '.join(map(_toml, value))}]"
        case str() | Path():
            return msgspec.json.encode(str(value)).decode()
        case _:
            return str(value)


_KINDS: Mapping[type, str] = {
    int: "whole number",
    float: "number",
    Decimal: "number",
    time: "time of day HH:MM",
    Path: "path",
    TickPlace: "path or address",
}


def _kind(annotation: Any) -> str:
    kinds = get_args(annotation) or (annotation,)
    return next((_KINDS[kind] for kind in kinds if kind in _KINDS), "text")


def _section_class(annotation: Any) -> type | None:
    """Return the class of a setting that is a table of settings."""
    return (
        annotation
        if isinstance(annotation, type) and annotation.__name__ in _texts() and meanings(annotation)
        else None
    )


def _brokers(known_brokers: KnownBrokers, second_hosts: KnownBrokers) -> Iterator[str]:
    yield "\n# Brokers. The service uses the brokers whose section is here. docs/first-broker/ says where to get the keys.\n"
    for code, keys in known_brokers.items():
        yield f"\n# [brokers.{code}]\n"
        for name in sorted(keys):
            yield f"# {name}: text, not set\n"
            yield _file_line(name)
        if code == BROKER_EXAMPLE:
            yield "#   The settings below are those of every broker.\n"
            for name in BROKER_SECTION_FIELDS:
                field = attrs.fields_dict(BrokerSettings)[name]
                yield from _explained(BrokerSettings, field)
                yield f"# {_line(field)}\n"
        yield from (f"# {name}: text, not set\n" for name in sorted(second_hosts.get(code, ())))


@cache
def _texts() -> dict[str, dict[str, str]]:
    """Return class -> field -> the text below the field, from the source of the classes."""
    tree = ast.parse(inspect.getsource(sections))
    found: dict[str, dict[str, str]] = {}
    for node in tree.body:
        if not isinstance(node, ast.ClassDef) or node.name == Settings.__name__:
            continue
        fields = {}
        for statement, after in zip(node.body, [*node.body[1:], None], strict=True):
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                fields[statement.target.id] = _text(after)
        found[node.name] = fields
    return found


def _text(node: ast.stmt | None) -> str:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return " ".join(node.value.value.split())
    return ""
