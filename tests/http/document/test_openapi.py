"""`/openapi.json` says what the table says, is a valid document, and its examples fit its schemas."""

import re
from collections.abc import Iterator
from itertools import chain
from typing import Any

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from onebroker.actors.engine.intake.synthetic import TYPES
from onebroker.http.document.openapi import TAGS, document_path, openapi_document
from onebroker.http.document.operations import page_responses
from onebroker.http.route import Answer, Parameter, Route, TokenRule, failure
from onebroker.http.route_table import ROUTES
from tests.support.described import document, misfits, part
from tests.support.every_case import every_case

LITERAL = ("example", "examples", "enum", "const", "default")
WITHOUT_BODY = ("101", "304")


def operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, item in document()["paths"].items():
        for method, operation in item.items():
            yield path, method, operation


def within(value: Any, place: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every object of the document with its place, but for examples."""
    if isinstance(value, dict):
        yield place, value
        for name, inner in value.items():
            if name not in LITERAL:
                yield from within(inner, f"{place}/{part(name)}")
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from within(inner, f"{place}/{number}")


async def test_the_document_is_open_and_lists_exactly_the_table(client):
    response = await client.get("/openapi.json")
    assert response.content_type == "application/json"
    served = await response.get_json()
    assert served == document()
    assert served["openapi"] == "3.1.0"
    assert served["info"]["license"]["identifier"] == "Apache-2.0"
    assert served["servers"] == [{"url": "/", "description": "The service that served this document"}]
    listed = {(method.upper(), path) for path, method, _ in operations()}
    assert listed == {(row.method, document_path(row.path)) for row in ROUTES}


def test_it_is_a_valid_document():
    assert [error.message for error in OpenAPIV31SpecValidator(document()).iter_errors()] == []


def test_every_operation_has_a_name_of_its_own_that_a_program_can_use():
    names = [operation["operationId"] for _, _, operation in operations()]
    assert len(set(names)) == len(ROUTES)
    assert [name for name in names if re.fullmatch("[a-z]+(_[a-z]+)*", name) is None] == []
    assert {"place_order", "get_funds", "get_quote", "get_quote_list", "halt_trading", "resume_trading"} <= set(names)


def test_every_tag_is_described():
    assert {tag["name"] for tag in document()["tags"]} == set(TAGS)


def test_every_operation_tells_its_token_parameters_and_answers():
    schemes = document()["components"]["securitySchemes"]
    for row in ROUTES:
        operation = document()["paths"][document_path(row.path)][row.method.lower()]
        assert operation["tags"] == [row.tag]
        assert bool(operation["security"]) == (row.token is not TokenRule.OPEN)
        assert all(name in schemes for rule in operation["security"] for name in rule)
        assert ("401" in operation["responses"]) >= (row.token is not TokenRule.OPEN)
        assert "service.host_names" in operation["responses"]["421"]["description"]
        assert {str(answer.status) for answer in row.answers} | {"405", "500"} <= set(operation["responses"])
        assert {"408", "413"} <= set(operation["responses"]) or row.method == "GET"
        assert [entry["name"] for entry in operation["parameters"]] == [
            parameter.name for parameter in row.parameters if parameter.place != "body"
        ]


def test_no_schema_is_empty():
    empty = [
        f"{place}/{name}"
        for place, found in within(document())
        for name, inner in found.items()
        if inner == {} and (name in ("schema", "items") or place.endswith("/properties"))
    ]
    assert empty == []


def contents(responses: dict[str, Any], place: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for status, response in responses.items():
        if "$ref" not in response and status not in WITHOUT_BODY:
            for kind, content in response["content"].items():
                yield f"{place}/responses/{status}/content/{part(kind)}", content


def described() -> list[tuple[str, dict[str, Any]]]:
    """Every answer and body that has a schema, with its place."""
    found = []
    for path, method, operation in operations():
        place = f"/paths/{part(path)}/{method}"
        found += list(contents(operation["responses"], place))
        for kind, content in operation.get("requestBody", {}).get("content", {}).items():
            found.append((f"{place}/requestBody/content/{part(kind)}", content))
    for name, page in page_responses().items():
        found += list(contents({name: page}, "/components"))
    return found


def test_every_answer_and_every_body_of_an_order_has_an_example_that_fits():
    wrong, seen = [], 0
    for place, content in described():
        examples = [content["example"]] if "example" in content else []
        examples += [example["value"] for example in content.get("examples", {}).values()]
        assert examples, place
        for example in examples:
            wrong += [f"{place}: {misfit}" for misfit in misfits(f"{place}/schema", example)]
            seen += 1
    assert wrong == []
    assert seen > 300


@pytest.mark.parametrize(
    ("component", "value"),
    [
        ("Failure", {}),
        ("Failure", {"error": "no", "reason": "an unknown key"}),
        ("FundsDocument", {"summary": {}}),
        ("BrokerRead", {"broker": "zerodha", "status": "fine", "as_of": None}),
        ("BracketOrder", {"type": "bracket", "stop_price": 1, "stop_limit_price": 1}),
        ("BracketOrder", {"type": "bracket", "stop_price": 0, "stop_limit_price": 1, "target_price": 2}),
        ("SyntheticOrder", {"type": "nosuch"}),
        ("PlanPart", {"part": "together", "children": []}),
        ("PriceReference", {"kind": "bid_level", "level": 6}),
        ("PlaceOrderBody", {"dryRun": True}),
    ],
)
def test_a_value_that_does_not_fit_is_seen(component, value):
    assert list(misfits(f"/components/schemas/{component}", value))


def test_an_order_that_reached_a_broker_is_not_said_to_carry_an_error():
    for path, method, name in (("/api/orders/place", "post", "Placed"), ("/api/orders/cancel", "delete", "Cancelled")):
        answers = document()["paths"][path][method]["responses"]
        schemas = {
            status: answer["content"]["application/json"]["schema"]
            for status, answer in answers.items()
            if "content" in answer and "application/json" in answer["content"]
        }
        assert schemas["422"] == {"$ref": f"#/components/schemas/{name}"}
        assert schemas["503"] == {"$ref": "#/components/schemas/Failure"}


def test_every_type_of_the_registry_is_a_form_of_synthetic():
    mapping = document()["components"]["schemas"]["SyntheticOrder"]["discriminator"]["mapping"]
    assert tuple(sorted(mapping)) == TYPES
    for name, ref in mapping.items():
        schema = document()["components"]["schemas"][ref.rpartition("/")[2]]
        assert schema["properties"]["type"]["const"] == name
        assert schema["additionalProperties"] is False
        assert schema["description"]
        assert [
            field
            for field, inner in schema["properties"].items()
            if field not in ("type", "root") and "description" not in inner
        ] == []


def test_a_component_that_no_route_names_is_left_out():
    async def handler(request, services):
        raise NotImplementedError

    row = thing(handler, answers=(Answer(status=200, doc="Done", type=str),))
    assert set(openapi_document((row,))["components"]["schemas"]) == {
        "Failure", "BrokerRead", "FundsRead", "ReadStatus", "BrokerCode", "Holder", "Skipped", "Outcome",
    }  # fmt: skip


def thing(handler, **more) -> Route:
    return Route(
        method="POST",
        path="/api/thing",
        handler=handler,
        tag="test",
        operation_id="do_thing",
        summary="A thing",
        **more,
    )


async def nobody(request, services):
    raise NotImplementedError


def test_a_parameter_of_the_body_becomes_a_property_and_bounds_are_told():
    row = thing(
        nobody,
        parameters=(
            Parameter(name="limit", place="query", kind="integer", minimum=1, maximum=9, doc="How many."),
            Parameter(name="expiry_date", place="body", kind="date", required=True, doc="When."),
            Parameter(name="side", place="body", choices=("BUY", "SELL"), doc="Which side."),
            Parameter(name="units", place="body", kind="integer", doc="How much."),
            Parameter(name="dry_run", place="body", kind="boolean", null_is_absent=False, doc="Whether."),
        ),
        answers=(Answer(status=200, doc="Done", type=str), failure(400, "this"), failure(400, "or that")),
    )
    made = openapi_document((row,))
    operation = made["paths"]["/api/thing"]["post"]
    assert operation["parameters"] == [
        {
            "name": "limit",
            "in": "query",
            "required": False,
            "description": "How many.",
            "schema": {"type": "integer", "minimum": 1, "maximum": 9},
        }
    ]
    assert operation["requestBody"]["required"] is True
    assert made["components"]["schemas"]["DoThingBody"] == {
        "type": "object",
        "properties": {
            "expiry_date": {"type": "string", "format": "date", "description": "When."},
            "side": {
                "anyOf": [{"type": "string", "enum": ["BUY", "SELL"]}, {"type": "null"}],
                "description": "Which side.",
            },
            "units": {"type": ["integer", "null"], "description": "How much."},
            "dry_run": {"type": "boolean", "description": "Whether."},
        },
        "required": ["expiry_date"],
    }
    refused = operation["responses"]["400"]
    assert refused["description"] == "this / or that"
    shown = [example["value"] for example in refused["content"]["application/json"]["examples"].values()]
    assert shown == [{"error": "this"}, {"error": "or that"}]
    assert set(operation["responses"]) == {"200", "400", "401", "405", "408", "413", "421", "500", "503"}


def test_a_body_that_may_be_a_list_is_told_in_both_forms():
    row = thing(
        nobody,
        parameters=(
            Parameter(name="size", place="body", kind="integer", required=True, doc="How much."),
            Parameter(name="dry_run", place="body", kind="boolean", null_is_absent=False, doc="Whether."),
        ),
        list_form=(
            Parameter(name="orders", place="body", kind="array", required=True, doc="Which."),
            Parameter(name="dry_run", place="body", kind="boolean", null_is_absent=False, doc="Of all."),
        ),
        only_these_keys=True,
        answers=(Answer(status=200, doc="Done", type=str),),
    )
    schemas = openapi_document((row,))["components"]["schemas"]
    refs = [{"$ref": f"#/components/schemas/DoThingBody{form}"} for form in ("One", "List")]
    assert schemas["DoThingBody"] == {"anyOf": refs}
    assert set(schemas["DoThingBodyOne"]["properties"]) == {"size", "dry_run"}
    assert set(schemas["DoThingBodyItem"]["properties"]) == {"size"}
    assert schemas["DoThingBodyList"] == {
        "additionalProperties": False,
        "type": "object",
        "properties": {
            "orders": {
                "type": "array",
                "minItems": 1,
                "items": {"$ref": "#/components/schemas/DoThingBodyItem"},
                "description": "Which.",
            },
            "dry_run": {"type": "boolean", "description": "Of all."},
        },
        "required": ["orders"],
    }


def closed_bodies() -> list[str]:
    return [
        row.operation_id for row in ROUTES if row.only_these_keys and any(one.place == "body" for one in row.parameters)
    ]


@every_case("name", closed_bodies())
def test_a_body_whose_unknown_keys_are_refused_is_closed(name):
    operation = next(operation for _, _, operation in operations() if operation["operationId"] == name)
    schemas = document()["components"]["schemas"]
    body = schemas[operation["requestBody"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]]
    forms = [schemas[ref["$ref"].rpartition("/")[2]] for ref in body.get("anyOf", ())] or [body]
    items = [
        schemas[inner["items"]["$ref"].rpartition("/")[2]]
        for inner in chain.from_iterable(form["properties"].values() for form in forms)
        if inner.get("type") == "array" and "items" in inner
    ]
    assert [form["additionalProperties"] for form in (*forms, *items)] == [False] * len([*forms, *items])
