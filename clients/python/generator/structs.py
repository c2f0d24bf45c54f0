"""The text of the generated modules with types: words, answers, request bodies, messages of the stream."""

import re
from textwrap import indent
from typing import Any

from generator.schema_types import Schema, Typing, Words, is_open, is_union, properties, python_name, references, target

_TELLING = frozenset({"part", "subscribe", "unsubscribe"})
"""Fields with one word each that tell a form from its siblings, where the document names no discriminator."""

MADE = "Made by generate.py from the service's documents; do not change it by hand."


def quoted(text: str) -> str:
    """Return a text as a docstring."""
    plain = text.strip().replace("\\", "\\\\").replace('"""', "'''")
    if not plain:
        return ""
    if plain.endswith('"'):
        plain += " "
    return f'"""{plain}"""' if "\n" not in plain else f'"""{plain}\n"""'


def words_module(words: Words) -> str:
    """Return the module of closed lists of words: for a type checker the words, at run time any text, so that a newer service's
    further word does not make an answer unreadable."""
    names = sorted(words.lists)
    listed = "".join(
        f"{name}: TypeAlias = Literal[{', '.join(repr(word) for word in words.lists[name])}]\n"
        f"{quoted(words.texts.get(name, ''))}\n"
        for name in names
    )
    plain = "".join(f"{name} = {'int' if isinstance(words.lists[name][0], int) else 'str'}\n" for name in names)
    return (
        f'"""Closed lists of words. {MADE}\n\nAt run time each is `str` (or `int`): a word of a newer service is no error."""\n\n'
        "from typing import TYPE_CHECKING, Literal, TypeAlias\n\n"
        f"if TYPE_CHECKING:\n{indent(listed, '    ')}\nelse:\n{indent(plain, '    ')}"
    )


def answer_struct(name: str, typing: Typing) -> str:
    """Return the class of an object of an answer: frozen, unknown further fields are ignored."""
    schema = typing.schemas[name]
    bases = "Struct, Generic[N], " if name in typing.generic else "Struct, "
    required = set(schema.get("required", ()))
    lines, renames = [], {}
    for field_name, property_ in properties(schema).items():
        python = python_name(field_name)
        if python != field_name:
            renames[python] = field_name
        kind = typing.of(property_, name, field_name)
        tail = ""
        if field_name not in required:
            kind, tail = kind if kind == "Any" or kind.endswith("None") else f"{kind} | None", " = None"
        lines += [f"{python}: {kind}{tail}", quoted(property_.get("description", ""))]
    options = f"frozen=True, kw_only=True{_rename(renames)}"
    return _class(name, bases + options, schema.get("description", ""), lines)


def request_struct(name: str, typing: Typing, tags: dict[str, tuple[str, str]]) -> str:
    """Return the class of an object that is sent. What is None is not sent. The word that says which form it is stands in `tags`."""
    schema = typing.schemas[name]
    tag_field, tag = tags.get(name, ("", ""))
    required = set(schema.get("required", ()))
    lines, renames = [], {}
    for field_name, property_ in schema["properties"].items():
        if field_name == tag_field:
            continue
        python = python_name(field_name)
        if python != field_name:
            renames[python] = field_name
        kind = typing.of(property_, name, field_name)
        tail = ""
        if field_name not in required:
            kind, tail = kind if kind == "Any" or kind.endswith("None") else f"{kind} | None", " = None"
        lines += [f"{python}: {kind}{tail}", quoted(property_.get("description", ""))]
    options = f"Struct, kw_only=True, omit_defaults=True{_rename(renames)}"
    if tag_field:
        options += f', tag_field="{tag_field}", tag="{tag}"'
    return _class(name, options, schema.get("description", ""), lines)


def _rename(renames: dict[str, str]) -> str:
    inside = ", ".join(f'"{python}": "{name}"' for python, name in renames.items())
    return f", rename={{{inside}}}" if renames else ""


def _class(name: str, bases: str, text: str, lines: list[str]) -> str:
    body = "\n".join(line for line in [quoted(text) + "\n" if text else "", *lines] if line) or "pass"
    return f"class {name}({bases}):\n{indent(body, '    ')}\n\n\n"


def choices_text(typing: Typing) -> str:
    """Return the fields' choices of several structs. The struct is chosen at run time by the keys that are there."""
    if not typing.choices:
        return ""
    aliases, classes = "", ""
    for name, structs in typing.choices.items():
        aliases += f"{name}: TypeAlias = {' | '.join(structs)}\n"
        plain = ", ".join(struct.partition("[")[0] for struct in structs if struct != "str")
        classes += f"class {name}(Choice):\n    structs = ({plain},)\n\n"
    return f"if TYPE_CHECKING:\n{indent(aliases, '    ')}\nelse:\n\n{indent(classes, '    ')}\n"


def tags_of(schemas: dict[str, Schema]) -> dict[str, tuple[str, str]]:
    """Return the field and the word by which a form is told from its siblings."""
    found: dict[str, tuple[str, str]] = {}
    for schema in schemas.values():
        chosen = schema.get("discriminator")
        if chosen:
            for word, reference in chosen["mapping"].items():
                found[target(reference)] = (chosen["propertyName"], word)
    for name, schema in schemas.items():
        for field_name in _TELLING & set(schema.get("required", ())):
            words = schema["properties"][field_name].get("enum", ())
            if len(words) == 1:
                found.setdefault(name, (field_name, words[0]))
    return found


def answers_module(names: list[str], typing: Typing, *, text: str, imports: str) -> str:
    structs = "".join(answer_struct(name, typing) for name in names if not is_open(typing.schemas[name]))
    body = structs + choices_text(typing)
    return f'"""{text} {MADE}"""\n\n{_imports(body, typing, imports)}\n\n{body}'


def requests_module(names: list[str], typing: Typing, *, text: str, imports: str = "") -> str:
    tags = tags_of(typing.schemas)
    structs = "".join(request_struct(name, typing, tags) for name in names if not is_union(typing.schemas[name]))
    unions = "".join(_union(name, typing) for name in _inner_first(names, typing.schemas))
    body = structs + unions
    return f'"""{text} {MADE}"""\n\n{_imports(body, typing, imports)}\n\n{body}'


def _inner_first(names: list[str], schemas: dict[str, Schema]) -> list[str]:
    """Return the unions, a union of unions after its parts."""
    unions = [name for name in names if is_union(schemas[name])]
    return sorted(unions, key=lambda name: (any(inner in unions for inner in references(schemas[name])), name))


def _union(name: str, typing: Typing) -> str:
    schema = typing.schemas[name]
    inner = " | ".join(target(one["$ref"]) for one in schema.get("anyOf") or schema["oneOf"])
    return f"{name}: TypeAlias = {inner}\n{quoted(schema.get('description', ''))}\n"


def _imports(body: str, typing: Typing, own: str) -> str:
    def uses(word: str) -> bool:
        return re.search(rf"\b{word}\b", re.sub(r'""".*?"""', "", body, flags=re.DOTALL)) is not None

    standard = [word for word in ("TYPE_CHECKING", "Any", "Generic", "Literal", "TypeAlias") if uses(word)]
    values = [word for word in ("Choice", "Moment", "N", "Number") if uses(word)]
    named = sorted(word for word in typing.used_words if uses(word))
    lines = ["from __future__ import annotations", ""]
    if uses("date"):
        lines.append("from datetime import date")
    if standard:
        lines.append(f"from typing import {', '.join(standard)}")
    lines += [""] if lines[-1] else []
    lines += ["from msgspec import Struct", ""]
    lines += [own] if own else []
    if values:
        lines.append(f"from onebroker_client.values import {', '.join(values)}")
    if named:
        lines.append(f"from onebroker_client.words import {', '.join(named)}")
    return "\n".join(lines) + "\n"


def closure(roots: Any, schemas: dict[str, Schema]) -> list[str]:
    """Return the names of all schemas that these name, at any depth, in the order of the document."""
    found: set[str] = set()
    waiting = list(references(roots))
    while waiting:
        name = waiting.pop()
        if name in schemas and name not in found:
            found.add(name)
            waiting += references(schemas[name])
    return [name for name in schemas if name in found]
