"""The text of the generated table of operations, and of the typed methods of both clients."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import indent
from typing import Any

from generator.schema_types import Schema, Typing, python_name, references, target
from generator.structs import MADE, quoted

BY_HAND = frozenset({"open_stream"})
"""Operations whose methods are written by hand: the stream is no request with an answer."""

_READS = ("/api/instruments/", "/api/session/connect")
"""Paths whose requests change nothing, whatever their method is."""
_LISTED = frozenset({"orders"})


@dataclass(frozen=True)
class Form:
    """One way to call a method, with the answer that it gets."""

    answers: tuple[str, ...]
    only: frozenset[str] = frozenset()
    """The arguments; empty: all but `without`."""
    without: frozenset[str] = frozenset()
    needed: frozenset[str] = frozenset()
    """Arguments that are optional elsewhere."""


_A_LIST = {"only": frozenset({"orders", "dry_run"}), "needed": _LISTED}
FORMS: dict[str, tuple[Form, ...]] = {
    "place_order": (
        Form(("Placed",), without=_LISTED | {"dry_run"}),
        Form(("Placed", "PlaceDryRun", "PlanDryRun"), without=_LISTED, needed=frozenset({"dry_run"})),
        Form(("PlaceResults",), **_A_LIST),
    ),
    "modify_order": (Form(("Modified", "PartModified"), without=_LISTED), Form(("ModifyResults",), **_A_LIST)),
    "cancel_order": (
        Form(("Cancelled", "ParentCancelled", "PartCancelled", "StopDryRun"), without=_LISTED),
        Form(("CancelResults",), **_A_LIST),
    ),
    "cancel_parents": (
        Form(("ParentCancelled", "StopDryRun"), without=frozenset({"parents"})),
        Form(("CancelResults",), only=frozenset({"parents", "dry_run"}), needed=frozenset({"parents"})),
    ),
    "get_parents": (
        Form(("OpenParents",), without=frozenset({"parent_id"})),
        Form(("Parent",), needed=frozenset({"parent_id"})),
    ),
}
"""Operations whose answer depends on what is asked."""


@dataclass(frozen=True)
class Argument:
    name: str
    wire: str
    kind: str
    required: bool
    text: str

    def signature(self, *, needed: bool) -> str:
        if self.required or needed:
            return f"{self.name}: {self.kind.removesuffix(' | None')}"
        return f"{self.name}: {self.kind if self.kind.endswith('None') else f'{self.kind} | None'} = None"


def operations(openapi: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield method, path and operation of every route with a generated method."""
    for path, methods in openapi["paths"].items():
        for method, operation in methods.items():
            if operation["operationId"] not in BY_HAND:
                yield method.upper(), path, operation


def _body(operation: dict[str, Any], schemas: dict[str, Schema]) -> list[Schema]:
    """Return the schemas of a body: one, or its single form and its list."""
    content = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if not content:
        return []
    schema = schemas[target(content["schema"]["$ref"])]
    return [schemas[target(one["$ref"])] for one in schema["anyOf"]] if "anyOf" in schema else [schema]


def _parameters(operation: dict[str, Any], place: str) -> list[dict[str, Any]]:
    return [one for one in operation.get("parameters", []) if one["in"] == place]


def _body_fields(operation: dict[str, Any], schemas: dict[str, Schema]) -> list[str]:
    return list(dict.fromkeys(name for form in _body(operation, schemas) for name in form["properties"]))


def arguments(operation: dict[str, Any], typing: Typing) -> list[Argument]:
    """Return what a method takes: the path's names, the query's, the body's fields; a name of both query and body once, as the body's."""
    schemas = typing.schemas
    owner = "".join(part.capitalize() for part in operation["operationId"].split("_"))
    forms = _body(operation, schemas)
    in_body = _body_fields(operation, schemas)
    found = [
        Argument(
            python_name(one["name"]), one["name"], typing.of(one["schema"], owner, one["name"]),
            one.get("required", False), one.get("description", ""),
        )
        for place in ("path", "query")
        for one in _parameters(operation, place)
        if one["name"] not in in_body
    ]  # fmt: skip
    for name in in_body:
        first = next(form for form in forms if name in form["properties"])
        schema = first["properties"][name]
        found.append(
            Argument(
                python_name(name), name, typing.of(schema, owner, name),
                all(name in form["required"] for form in forms), schema.get("description", ""),
            )
        )  # fmt: skip
    return found


def _success(operation: dict[str, Any]) -> list[dict[str, Any]]:
    return [answer for status, answer in operation["responses"].items() if status < "300" and "content" in answer]


def _answer(operation: dict[str, Any]) -> tuple[list[str], bool, bool]:
    """Return the structs of a success, whether it is an array of them, and whether it is a text."""
    contents = [content for answer in _success(operation) for content in answer["content"].items()]
    texts = any(kind != "application/json" for kind, _ in contents)
    schemas = [content["schema"] for _, content in contents]
    listed = any(schema.get("type") == "array" for schema in schemas)
    return list(dict.fromkeys(references(schemas))), listed, texts


def _access(operation: dict[str, Any]) -> str:
    needs = [name for one in operation.get("security", []) for name in one]
    if "accessToken" in needs:
        return "token"
    return "credentials" if needs else "open"


def operations_module(openapi: dict[str, Any], generic: frozenset[str]) -> str:
    schemas = openapi["components"]["schemas"]
    rows = "".join(_row(*one, schemas) for one in operations(openapi))
    return (
        f'"""The operations of the API. {MADE}"""\n\n'
        "from onebroker_client import answers\nfrom onebroker_client.operation import Operation\n\n"
        f"OPERATIONS: dict[str, Operation] = {{one.name: one for one in ({rows})}}\n"
    )


def _row(method: str, path: str, operation: dict[str, Any], schemas: dict[str, Schema]) -> str:
    structs, listed, text = _answer(operation)
    in_body = _body_fields(operation, schemas)
    query = [one["name"] for one in _parameters(operation, "query") if one["name"] not in in_body]
    open_ones = [name for name in structs if schemas[name].get("additionalProperties") is True]
    named = [] if open_ones else [f"answers.{name}" for name in structs]
    return (
        f'Operation(name="{operation["operationId"]}", method="{method}", path="{path}", access="{_access(operation)}", '
        f"query={_names(query)}, body={_names(in_body)}, structs=({', '.join(named)}{',' if named else ''}), "
        f"is_list={listed}, is_text={text}, changes={method != 'GET' and not path.startswith(_READS)}),\n"
    )


def _names(names: list[str]) -> str:
    return "{" + ", ".join(f'"{python_name(name)}": "{name}"' for name in names) + "}"


def methods_module(openapi: dict[str, Any], typing: Typing, generic: frozenset[str], *, is_async: bool) -> str:
    """Return the module with a class of all methods; `_call` is the client's."""
    body = "".join(
        _method(operation, typing, generic, is_async=is_async) for _method_name, _path, operation in operations(openapi)
    )
    kind = "async" if is_async else "sync"
    base = "AsyncMethods" if is_async else "SyncMethods"
    call = "async def _call" if is_async else "def _call"
    head = (
        f"class {base}(Generic[N]):\n"
        f'    """One method for each route. Their errors: `onebroker_client.errors`."""\n\n'
        f"    {call}(self, operation: str, arguments: dict[str, Any]) -> Any:\n"
        f'        """Send one request, by the rules of `onebroker_client.exchange`."""\n'
        "        raise NotImplementedError\n\n"
    )
    return f'"""The {kind} client\'s methods. {MADE}"""\n\n{_imports(body, typing)}\n\n{head}{indent(body, "    ")}'


def _imports(body: str, typing: Typing) -> str:
    code = re.sub(r'""".*?"""', "", body, flags=re.DOTALL)

    def used(names: Any) -> list[str]:
        return sorted(name for name in names if re.search(rf"(?<![.\w]){name}\b", code))

    requests = used(name for name, schema in typing.schemas.items() if "enum" not in schema)
    lines = [
        "from __future__ import annotations",
        "",
        f"from typing import {', '.join(['TYPE_CHECKING', 'Any', 'Generic', *used(['Literal', 'overload'])])}",
        "",
    ]
    lines += ["from onebroker_client.values import N", "", "if TYPE_CHECKING:"]
    lines += ["    from datetime import date"] if used(["date"]) else []
    lines += ["", "    from onebroker_client import answers"]
    lines += [f"    from onebroker_client.requests import {', '.join(requests)}"] if requests else []
    lines += ["    from onebroker_client.values import Number"] if used(["Number"]) else []
    words = used(typing.words.lists)
    lines += [f"    from onebroker_client.words import {', '.join(words)}"] if words else []
    return "\n".join(lines) + "\n"


def _returns(structs: tuple[str, ...] | list[str], generic: frozenset[str], schemas: dict[str, Schema]) -> str:
    kinds = [
        "dict[str, Any]"
        if schemas[name].get("additionalProperties") is True
        else f"answers.{name}" + ("[N]" if name in generic else "")
        for name in structs
    ]
    return " | ".join(dict.fromkeys(kinds))


def _method(operation: dict[str, Any], typing: Typing, generic: frozenset[str], *, is_async: bool) -> str:
    name = operation["operationId"]
    takes = arguments(operation, typing)
    structs, listed, text = _answer(operation)
    returns = "str" if text else _returns(structs, generic, typing.schemas) or "None"
    returns = f"list[{returns}]" if listed else returns
    word = "async def" if is_async else "def"
    overloads = "".join(
        f"@overload\n{word} {name}(self{_signature(takes, form)}) -> {_returns(form.answers, generic, typing.schemas)}: ...\n"
        for form in FORMS.get(name, ())
        if len(FORMS[name]) > 1
    )
    texts = "\n".join(f"{one.name}: {one.text}" for one in takes if one.text)
    doc = quoted(operation["summary"] + "." + (f"\n\n{texts}" if texts else ""))
    given = ", ".join(f'"{one.name}": {one.name}' for one in takes)
    wait = "await " if is_async else ""
    lines = [doc, f'answer: {returns} = {wait}self._call("{name}", {{{given}}})', "return answer"]
    return f"{overloads}{word} {name}(self{_signature(takes, None)}) -> {returns}:\n{indent(chr(10).join(lines), '    ')}\n\n"


def _signature(takes: list[Argument], form: Form | None) -> str:
    if form is not None:
        takes = [one for one in takes if (one.wire in form.only if form.only else one.wire not in form.without)]
    needed = form.needed if form else frozenset()
    ordered = sorted(takes, key=lambda one: not (one.required or one.wire in needed))
    listed = ", ".join(one.signature(needed=one.wire in needed) for one in ordered)
    return f", *, {listed}" if listed else ""
