"""The JSON schema of an answer that is a msgspec struct, without references: in the form of the hand-written schemas (`schemas.py`)."""

from collections.abc import Mapping
from typing import Any

import msgspec

from onebroker.http.instruments.schemas import Schema

_REF = "#/$defs/"


def struct_schema(struct: type[msgspec.Struct]) -> Schema:
    """Return the schema of a struct. Every field is required: an unknown value is null, never left out."""
    (schema,), parts = msgspec.json.schema_components([struct], ref_template=_REF + "{name}")
    return _inlined(schema, parts)


def _inlined(schema: Mapping[str, Any], parts: Mapping[str, Any]) -> Schema:
    if "$ref" in schema:
        return _inlined(parts[schema["$ref"].removeprefix(_REF)], parts)
    if "anyOf" in schema:
        (kind,) = [option for option in schema["anyOf"] if option != {"type": "null"}]
        inner = _inlined(kind, parts)
        if "enum" in inner:
            inner["enum"] = [*_listed(inner["enum"]), None]
        return {**inner, "type": [*_listed(inner["type"]), "null"]}
    plain: Schema = {name: value for name, value in schema.items() if name in ("type", "enum", "format")}
    if "enum" in plain and "type" not in plain:
        words = _listed(plain["enum"])
        plain["type"] = ["string", "null"] if None in words else "string"
    if "properties" in schema:
        plain["properties"] = {name: _inlined(inner, parts) for name, inner in schema["properties"].items()}
        plain["required"] = list(schema["properties"])
    if "items" in schema:
        plain["items"] = _inlined(schema["items"], parts)
    return plain


def _listed(value: object) -> list[object]:
    return list(value) if isinstance(value, list) else [value]
