"""JSON schemas in words and tables, for `/docs`. Pure."""

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

import msgspec

from onebroker.http.docs_page.markup import prose, table

MOST_WORDS = 12
"""A list of more allowed words than this stands in the field's text, below its type."""
_PLACE = "#/components/schemas/"

Schema = Mapping[str, Any]


def schema_anchor(name: str) -> str:
    return f"schema-{name}"


def schema_name(schema: Schema) -> str | None:
    """Return the name of the component that a schema refers to."""
    reference = schema.get("$ref", "")
    return reference.removeprefix(_PLACE) if reference.startswith(_PLACE) else None


def words(schema: Schema) -> str:
    """Return what a value of this schema may be, as HTML: `integer or null`, `list of <a>Order</a>`."""
    name = schema_name(schema)
    if name is not None:
        return f'<a href="#{schema_anchor(name)}">{escape(name)}</a>'
    return " or ".join(dict.fromkeys(_alternatives(schema))) or "anything"


def _alternatives(schema: Schema) -> Iterator[str]:
    for key in ("oneOf", "anyOf"):
        for each in schema.get(key, ()):
            yield words(each)
    if "const" in schema:
        yield _code(schema["const"])
    elif "enum" in schema:
        yield from map(_code, schema["enum"]) if len(schema["enum"]) <= MOST_WORDS else ("one of the words below",)
    elif "type" in schema:
        types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        yield from (_typed(each, schema) for each in types)


def _typed(kind: str, schema: Schema) -> str:
    if kind == "array":
        return f"list of {words(schema.get('items', {}))}{_bounds(schema, 'minItems', 'maxItems')}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object of {words(schema['additionalProperties'])}"
    formed = f" ({escape(schema['format'])})" if "format" in schema else ""
    return f"{kind}{formed}{_bounds(schema, 'minimum', 'maximum')}"


def _bounds(schema: Schema, least: str, most: str) -> str:
    said = [f"{word} {schema[key]}" for word, key in (("from", least), ("to", most)) if key in schema]
    return f", {' '.join(said)}" if said else ""


def _code(value: object) -> str:
    return f"<code>{escape(msgspec.json.encode(value).decode())}</code>"


def meaning(schema: Schema) -> str:
    """Return a schema's own text, and the words that `words` had no room for."""
    said = prose(schema.get("description", ""))
    long = [each for each in _with_enums(schema) if len(each["enum"]) > MOST_WORDS]
    return said + "".join(f"<p>{', '.join(map(_code, each['enum']))}</p>" for each in long)


def _with_enums(schema: Schema) -> Iterator[Schema]:
    if "enum" in schema:
        yield schema
    for key in ("oneOf", "anyOf"):
        for each in schema.get(key, ()):
            yield from _with_enums(each)
    if isinstance(schema.get("items"), dict):
        yield from _with_enums(schema["items"])


def fields_table(schema: Schema) -> str:
    """Return the fields of an object; for another schema, what its values may be."""
    if "properties" not in schema:
        return f"<p>{words(schema)}</p>"
    required = frozenset(schema.get("required", ()))
    rows = (
        (f"<code>{escape(name)}</code>", words(each), "yes" if name in required else "no", meaning(each))
        for name, each in schema["properties"].items()
    )
    return table(("Field", "Type", "Always there", ""), rows)


def component_sections(schemas: Mapping[str, Schema]) -> str:
    """Return a section with an anchor for each named schema, in the order of their names."""
    return "".join(_section(name, schemas[name]) for name in sorted(schemas))


def _section(name: str, schema: Schema) -> str:
    text = meaning(schema)
    return f'<section id="{schema_anchor(name)}"><h3>{escape(name)}</h3>{text}{fields_table(schema)}</section>'
