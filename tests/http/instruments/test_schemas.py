"""What the OpenAPI document tells of the instrument routes is what they take and answer."""

import pytest

from onebroker.http.openapi import openapi_document
from onebroker.http.route_table import ROUTES

PATHS = {
    "segments": {}, "master": {"exchange": "all", "segment": "all"},
    "search": {"exchange": "nse", "segment": "equity_options", "query": "I"},
    "details": {"exchange": "nse", "segment": "equities", "symbol": "INFY"},
    "additional_details": {"exchange": "nse", "segment": "equities", "symbol": "INFY"},
}  # fmt: skip
KINDS = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "null": type(None)}


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


@pytest.mark.parametrize("path", PATHS)
async def test_answers_and_examples_fit_the_schema(office, path):
    schema, example = success(told(path))
    fits(schema, example)
    response = await office.get(path, **PATHS[path])
    assert response.status_code == 200
    fits(schema, await response.get_json())


@pytest.mark.parametrize("path", ["details", "additional_details"])
async def test_answers_and_examples_of_the_post_form_fit_the_schema(office, path):
    operation = told(path, "post")
    schema, example = success(operation)
    fits(schema, example)
    body = {"instruments": [PATHS[path], {"instrument_id": "x"}], "date": "2026-11-20"}
    fits(operation["requestBody"]["content"]["application/json"]["schema"], body)
    fits(schema, await (await office.post(path, body)).get_json())


@pytest.mark.parametrize("path", PATHS)
def test_every_parameter_and_status_is_told(path):
    operation = told(path)
    names = [(row["name"], row["required"]) for row in operation["parameters"]]
    where = [("exchange", True), ("segment", True)]
    assert names == {
        "segments": [],
        "master": [*where, ("date", False)],
        "search": [*where, ("query", True), ("limit", False), ("date", False)],
    }.get(path, names)
    statuses = {"200", "401", "421", "503"} if path == "segments" else {"200", "400", "401", "404", "421", "503", "504"}
    assert set(operation["responses"]) == statuses


def test_the_search_limit_has_its_bounds():
    (limit,) = [row for row in told("search")["parameters"] if row["name"] == "limit"]
    assert limit["schema"] == {"type": "integer", "minimum": 1, "maximum": 200}
