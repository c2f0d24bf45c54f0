"""JSON schemas of the answers, made from their types by msgspec, with the texts that stand below fields and classes as descriptions."""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, TypeAlias

import msgspec

from onebroker.config.schema_marks import COMPONENTS
from onebroker.http.answers import audit, parents, reference
from onebroker.http.document.field_texts import field_texts, plain

Schema: TypeAlias = dict[str, Any]

OPEN: frozenset[type] = frozenset((*audit.OPEN, *parents.OPEN, *reference.OPEN))
"""Objects that have further fields."""


def answer_schemas(types: Sequence[Any]) -> tuple[list[Schema], dict[str, Schema]]:
    """Return the schema of each type, and the components that these schemas refer to, by name.

    A field without a value of its own to leave it out (`UNSET`) is in every answer, so it is required.
    """
    schemas, components = msgspec.json.schema_components(types, ref_template=COMPONENTS + "{name}")
    for kind in set(_classes(msgspec.inspect.multi_type_info(types))):
        schema = components[kind.__name__]
        if issubclass(kind, Enum):
            _describe_words(schema, kind)
        else:
            _describe_object(schema, kind)
    named = {name: typed(schema) for name, schema in components.items()}
    return [typed(schema) for schema in schemas], named


def _classes(value: object) -> Iterator[type]:
    """Return the classes of objects and enums in a description of types, at any depth."""
    if isinstance(value, tuple):
        for inner in value:
            yield from _classes(inner)
    elif isinstance(value, msgspec.inspect.EnumType):
        yield value.cls
    elif isinstance(value, msgspec.inspect.StructType | msgspec.inspect.DataclassType):
        yield value.cls
        for field in value.fields:
            yield from _classes(field.type)
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            yield from _classes(getattr(value, name))


def _describe_words(schema: Schema, kind: type[Enum]) -> None:
    texts = field_texts(kind)
    below = [f"`{word.value}`: {texts[word.name]}" for word in kind if word.name in texts]
    text = "\n\n".join([*([_own_text(kind)] if _own_text(kind) else []), *below])
    if text:
        schema["description"] = text


def _describe_object(schema: Schema, kind: type) -> None:
    properties: dict[str, Schema] = schema["properties"]
    for name, text in field_texts(kind).items():
        property_ = properties.get(_encoded_names(kind).get(name, name))
        if property_ is not None:
            property_.setdefault("description", text)
    if schema.get("description"):
        schema["description"] = plain(schema["description"])
    for name, property_ in properties.items():
        if property_.pop("default", None) is not None or (
            name not in schema["required"] and _is_always_there(kind, name)
        ):
            schema["required"].append(name)
    if kind in OPEN:
        schema["additionalProperties"] = True


def _encoded_names(kind: type) -> Mapping[str, str]:
    return dict(zip(getattr(kind, "__struct_fields__", ()), getattr(kind, "__struct_encode_fields__", ()), strict=True))


def _is_always_there(kind: type, name: str) -> bool:
    """Tell whether a field with a default is encoded all the same: of the classes that are not msgspec's."""
    return not issubclass(kind, msgspec.Struct)


def _own_text(kind: type) -> str:
    text = kind.__dict__.get("__doc__")
    return plain(inspect.cleandoc(text)) if text else ""


def typed(schema: Any) -> Any:
    """Return a schema in which a list of words says that they are texts."""
    if isinstance(schema, list):
        return [typed(inner) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    done = {name: inner if name in ("example", "examples", "enum") else typed(inner) for name, inner in schema.items()}
    words = done.get("enum")
    if isinstance(words, list) and "type" not in done:
        kinds = {type(word) for word in words}
        if kinds == {str}:
            done["type"] = "string"
        elif kinds == {bool}:
            done["type"] = "boolean"
    return done
