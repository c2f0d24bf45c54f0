"""What the OpenAPI document tells of an instrument route, and whether a value fits a schema of it."""

from onebroker.http.openapi import openapi_document
from onebroker.http.route_table import ROUTES

KINDS = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "boolean": bool,
    "number": (int, float),
    "null": type(None),
}


def fits(schema, value, path="$"):
    """Check a value, and that an object with named properties has no others."""
    known = {"type", "properties", "required", "items", "additionalProperties", "enum", "format", "description"}
    assert set(schema) <= known, path
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    assert any(isinstance(value, KINDS[kind]) for kind in kinds), f"{path} is {value!r}"
    assert value in schema.get("enum", [value]), path
    if isinstance(value, dict):
        properties, others = schema.get("properties", {}), schema.get("additionalProperties")
        assert set(schema.get("required", ())) <= set(value), path
        assert others is not None or set(value) <= set(properties), path
        for name, inner in value.items():
            fits(properties.get(name, others), inner, f"{path}.{name}")
    if isinstance(value, list):
        for place, inner in enumerate(value):
            fits(schema["items"], inner, f"{path}[{place}]")


def told(path, method="get"):
    return openapi_document(ROUTES)["paths"][f"/api/instruments/{path}"][method]


def success(operation):
    content = operation["responses"]["200"]["content"]["application/json"]
    return content["schema"], content["example"]
