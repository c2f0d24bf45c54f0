"""`/openapi.json` and `/docs` say what the table says."""

import base64
import hashlib
import re
from html import escape

from onebroker.http.openapi import document_path, openapi_document
from onebroker.http.route import Answer, Parameter, Route, TokenRule
from onebroker.http.route_table import ROUTES


async def test_the_document_is_open_and_lists_exactly_the_table(client):
    response = await client.get("/openapi.json")
    assert response.content_type == "application/json"
    document = await response.get_json()
    assert document["openapi"] == "3.1.0"
    assert set(document["info"]) == {"title", "version"}
    listed = {(method.upper(), path) for path, item in document["paths"].items() for method in item}
    assert listed == {(row.method, document_path(row.path)) for row in ROUTES}


async def test_every_operation_tells_its_token_parameters_and_answers(client):
    document = await (await client.get("/openapi.json")).get_json()
    schemes = document["components"]["securitySchemes"]
    seen = set()
    for row in ROUTES:
        operation = document["paths"][document_path(row.path)][row.method.lower()]
        seen.add(operation["operationId"])
        assert operation["tags"] == [row.tag]
        assert bool(operation["security"]) == (row.token is not TokenRule.OPEN)
        assert all(name in schemes for rule in operation["security"] for name in rule)
        assert ("401" in operation["responses"]) >= (row.token is not TokenRule.OPEN)
        assert "service.host_names" in operation["responses"]["421"]["description"]
        assert {str(answer.status) for answer in row.answers} <= set(operation["responses"])
        assert [entry["name"] for entry in operation["parameters"]] == [
            parameter.name for parameter in row.parameters if parameter.place != "body"
        ]
        for answer in operation["responses"].values():
            assert answer["description"]
    assert len(seen) == len(ROUTES)


async def test_an_order_that_reached_a_broker_is_not_said_to_carry_an_error(client):
    document = await (await client.get("/openapi.json")).get_json()
    for path, method in (("/api/orders/place", "post"), ("/api/orders/cancel", "delete")):
        answers = document["paths"][path][method]["responses"]
        schemas = {status: answer["content"]["application/json"]["schema"] for status, answer in answers.items()}
        assert schemas["422"] == schemas["504"] == {}
        assert schemas["503"] == {"$ref": "#/components/schemas/Failure"}


async def test_a_variable_of_the_path_is_a_required_parameter_in_the_path(client):
    document = await (await client.get("/openapi.json")).get_json()
    operation = document["paths"]["/api/orders/intents/{intent_id}"]["get"]
    assert [(one["name"], one["in"], one["required"]) for one in operation["parameters"]] == [
        ("intent_id", "path", True)
    ]


async def test_a_parameter_of_the_body_becomes_a_property_and_bounds_are_told():
    async def handler(request, services):
        raise NotImplementedError

    row = Route(
        method="POST",
        path="/api/thing",
        handler=handler,
        tag="test",
        summary="A thing",
        parameters=(
            Parameter(name="limit", place="query", kind="integer", minimum=1, maximum=9, doc="How many."),
            Parameter(name="expiry_date", place="body", kind="date", required=True, doc="When."),
            Parameter(name="orders", place="body", kind="array", doc="Which."),
        ),
        answers=(Answer(status=200, doc="Done"), Answer(status=400, doc="this"), Answer(status=400, doc="or that")),
    )
    operation = openapi_document((row,))["paths"]["/api/thing"]["post"]
    assert operation["parameters"] == [
        {
            "name": "limit",
            "in": "query",
            "required": False,
            "description": "How many.",
            "schema": {"type": "integer", "minimum": 1, "maximum": 9},
        }
    ]
    assert operation["requestBody"] == {
        "required": True,
        "content": {
            "application/json": {
                "schema": {
                    "type": "object",
                    "properties": {
                        "expiry_date": {"type": "string", "format": "date", "description": "When."},
                        "orders": {"type": "array", "description": "Which."},
                    },
                    "required": ["expiry_date"],
                }
            }
        },
    }
    assert operation["responses"]["400"]["description"] == "this / or that"
    assert set(operation["responses"]) == {"200", "400", "401", "421"}


async def test_the_page_lists_every_route_and_runs_nothing(client):
    response = await client.get("/docs")
    assert response.status_code == 200
    assert response.content_type == "text/html; charset=utf-8"
    page = await response.get_data(as_text=True)
    for row in ROUTES:
        assert f"<code>{row.method} {escape(row.path)}</code>" in page
    assert "<script" not in page
    assert re.search(r"(src|href)=.?https?:", page) is None
    policy = response.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    style = re.search("<style>(.*?)</style>", page, re.DOTALL)
    assert style is not None
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in policy


async def test_a_body_that_may_be_a_list_is_told_in_both_forms():
    async def handler(request, services):
        raise NotImplementedError

    row = Route(
        method="POST",
        path="/api/thing",
        handler=handler,
        tag="test",
        summary="A thing",
        parameters=(
            Parameter(name="size", place="body", kind="integer", required=True, doc="How much."),
            Parameter(name="dry_run", place="body", kind="boolean", doc="Whether."),
        ),
        list_form=(
            Parameter(name="orders", place="body", kind="array", required=True, doc="Which."),
            Parameter(name="dry_run", place="body", kind="boolean", doc="Of all."),
        ),
        answers=(Answer(status=200, doc="Done"),),
    )
    body = openapi_document((row,))["paths"]["/api/thing"]["post"]["requestBody"]
    size = {"type": "integer", "description": "How much."}
    single, several = body["content"]["application/json"]["schema"]["oneOf"]
    assert set(single["properties"]) == {"size", "dry_run"}
    assert several == {
        "type": "object",
        "properties": {
            "orders": {
                "type": "array",
                "items": {"type": "object", "properties": {"size": size}, "required": ["size"]},
                "description": "Which.",
            },
            "dry_run": {"type": "boolean", "description": "Of all."},
        },
        "required": ["orders"],
    }
