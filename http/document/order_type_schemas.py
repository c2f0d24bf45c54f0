"""Schemas of `synthetic` in a place body: one for each type of the registry, from the declarations of its settings, and one for each type as a part of
a plan."""

from collections.abc import Mapping
from datetime import time
from decimal import Decimal
from enum import Enum
from typing import Any

from onebroker.actors.engine.intake.synthetic import PLAN, SIMPLE
from onebroker.actors.engine.plan.reading.value_rules import Accepts, Kind
from onebroker.actors.engine.presets.preset import Holding, Preset
from onebroker.actors.engine.presets.registry import PRESETS
from onebroker.actors.engine.presets.settings import Setting, declared
from onebroker.config.money import plain as plain_number
from onebroker.config.schema_marks import COMPONENTS
from onebroker.http.document.field_texts import field_texts
from onebroker.http.document.schemas import Schema
from onebroker.http.document.setting_meanings import meaning

_OBJECTS = {
    "candidates": "CandidateOrder", "then": "SecondOrder", "rules": "Milestone", "exposure_instruments": "WeightedInstrument",
}  # fmt: skip
"""Setting -> the schema of its object, or of the objects in its list."""
_TYPES: Mapping[Kind, Schema] = {
    Kind.NUMBER: {"type": "number"},
    Kind.PRICE: {"type": "number"},
    Kind.WHOLE: {"type": "integer"},
    Kind.FLAG: {"type": "boolean"},
    Kind.ONE_OF: {"type": "string"},
    Kind.TIME: {"type": "string"},
    Kind.UUID: {"type": "string", "format": "uuid"},
    Kind.TEXT: {"type": "string"},
    Kind.LIST: {"type": "array"},
    Kind.OBJECT: {"type": "object"},
}
_COMMON: dict[str, Schema] = {
    "closes_position": {
        "type": ["boolean", "null"],
        "description": "True: the order may use the part of a broker's daily order cap that is kept for exits.",
    },
    "exits_follow_position": {
        "type": ["boolean", "null"],
        "default": True,
        "description": "(ours) An exit becomes smaller, or ends, when the position that it guards has become smaller without the plan.",
    },
    "hold_limits": {
        "type": ["boolean", "null"],
        "description": "True: limits are kept in the engine until the market reaches them.",
    },
}


def order_type_schemas(place: Mapping[str, Schema]) -> dict[str, Schema]:
    """Return the schemas by name: `SyntheticOrder`, `PresetPart`, and one for each type. `place`: the fields of a `preset` part that take the
    place of the body's, and its condition and end. A setting of the same name goes before."""
    orders = {SIMPLE: _simple(), PLAN: _plan(), **{name: _order(preset) for name, preset in PRESETS.items()}}
    parts = {name: _part(preset, place) for name, preset in PRESETS.items()}
    return {
        "SyntheticOrder": _one_of(sorted(orders), "Order", "The type of an order, with its settings."),
        "PresetPart": _one_of(
            sorted(parts), "Part", "An order type in the place of a part, with its settings and place fields."
        ),
        **{_name(name, "Order"): schema for name, schema in orders.items()},
        **{_name(name, "Part"): schema for name, schema in parts.items()},
    }


def _name(name: str, ending: str) -> str:
    return "".join(word.title() for word in name.split("_")) + ending


def _one_of(names: list[str], ending: str, text: str) -> Schema:
    mapping = {name: COMPONENTS + _name(name, ending) for name in names}
    return {
        "description": text,
        "oneOf": [{"$ref": ref} for ref in mapping.values()],
        "discriminator": {"propertyName": "type", "mapping": mapping},
    }


def _object(properties: Mapping[str, Schema], required: list[str], text: str) -> Schema:
    return {
        "type": "object",
        "description": text,
        "properties": dict(properties),
        "required": required,
        "additionalProperties": False,
    }


def _simple() -> Schema:
    own: dict[str, Schema] = {"type": {"const": SIMPLE, "type": "string"}, **_COMMON}
    return _object({**own, "hold_limits": _only(False)}, ["type"], "One order to one broker.")


def _only(value: bool) -> Schema:
    """Return the schema of a `hold_limits` that has no choice."""
    of = {"const": value, "type": "boolean"}
    return {"anyOf": [of, {"type": "null"}], "description": _COMMON["hold_limits"]["description"]}


def _plan() -> Schema:
    root: Schema = {"$ref": COMPONENTS + "PlanPart"}
    own: dict[str, Schema] = {"type": {"const": PLAN, "type": "string"}, **_COMMON, "root": root}
    return _object(own, ["type", "root"], "Parts that send and manage broker orders (docs/plans.md).")


def _order(preset: Preset[Any]) -> Schema:
    common = dict(_COMMON)
    if preset.hold is Holding.ALWAYS:
        common["hold_limits"] = _only(True)
    settings, required = _settings(preset)
    own: dict[str, Schema] = {"type": {"const": preset.name, "type": "string"}, **common, **settings}
    return _object(own, ["type", *required], _sentence(preset))


def _part(preset: Preset[Any], place: Mapping[str, Schema]) -> Schema:
    settings, required = _settings(preset)
    own: dict[str, Schema] = {
        "part": {"const": "preset", "type": "string"},
        "type": {"const": preset.name, "type": "string"},
        **place,
        **settings,
    }
    return _object(own, ["part", "type", *required], _sentence(preset))


def _sentence(preset: Preset[Any]) -> str:
    return f"{preset.title[0].upper()}{preset.title[1:]}."


def _settings(preset: Preset[Any]) -> tuple[dict[str, Schema], list[str]]:
    """Return the schemas of a type's settings, and the names of those that are required."""
    settings, texts = declared(preset.settings), field_texts(preset.settings)
    schemas = {name: _setting(name, one, meaning(name, texts.get(name, ""))) for name, one in settings.items()}
    return schemas, [name for name, one in settings.items() if one.required]


def _setting(name: str, setting: Setting[Any], text: str) -> Schema:
    schema = accepted(setting.accepts, name)
    if not setting.required:
        schema = {"anyOf": [schema, {"type": "null"}]} if "$ref" in schema or "enum" in schema else _or_null(schema)
        if setting.default is not None:
            schema["default"] = _plain(setting.default)
    if text:
        schema["description"] = text
    return schema


def _or_null(schema: Schema) -> Schema:
    return {**schema, "type": [schema["type"], "null"]}


def accepted(accepts: Accepts, name: str) -> Schema:
    """Return the schema of what a rule accepts. `name` is the setting's, for objects whose schema is told by name."""
    if accepts.kind is Kind.OBJECT:
        return {"$ref": COMPONENTS + _OBJECTS[name]}
    schema = dict(_TYPES[accepts.kind])
    bounds = ("minItems", "maxItems") if accepts.kind is Kind.LIST else ("minimum", "maximum")
    limits = dict(zip((*bounds, "exclusiveMinimum", "exclusiveMaximum"), _limits(accepts), strict=True))
    schema.update({word: limit for word, limit in limits.items() if limit is not None})
    if accepts.not_zero:
        schema["not"] = {"const": 0}
    if accepts.choices:
        schema["enum"] = list(accepts.choices)
    if accepts.pattern and accepts.kind is not Kind.UUID:
        schema["pattern"] = f"^({accepts.pattern})$"
    if accepts.kind is Kind.LIST:
        schema["items"] = {"type": "number"} if accepts.item is None else accepted(accepts.item, name)
    return schema


def _limits(accepts: Accepts) -> tuple[object, ...]:
    return tuple(_plain(limit) for limit in (accepts.least, accepts.most, accepts.above, accepts.below))


def _plain(value: object) -> Any:
    """Return a default or a bound as JSON."""
    match value:
        case Enum():
            return value.value
        case Decimal():
            return int(value) if value == value.to_integral_value() else float(plain_number(value))
        case time():
            return value.isoformat("minutes")
        case tuple():
            return [_plain(inner) for inner in value]
    return value
