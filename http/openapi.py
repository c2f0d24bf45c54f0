"""The OpenAPI 3.1 document, made from the route table."""

import re
from collections.abc import Iterable
from importlib.metadata import version

import attrs

from onebroker.config.messages import session, shared
from onebroker.http.route import Answer, Parameter, Route, TokenRule

_SECURITY: dict[TokenRule, list[dict[str, list[str]]]] = {
    TokenRule.OPEN: [],
    TokenRule.CREDENTIALS: [{"apiKey": [], "apiSecret": []}],
    TokenRule.REQUIRED: [{"accessToken": []}],
    TokenRule.METRICS: [{"accessToken": []}, {"metricsToken": []}],
}
_SCHEMAS: dict[str, dict[str, object]] = {"date": {"type": "string", "format": "date"}}
"""Kinds of parameters that are not themselves a JSON schema type."""

_PATH_VARIABLE = re.compile(r"<(\w+)>")

_TOKEN_REFUSED = Answer(
    status=401,
    doc=f"{session.ACCESS_TOKEN_REQUIRED} / {session.INVALID_ACCESS_TOKEN} / {session.ACCESS_TOKEN_EXPIRED}",
)

_OTHER_NAME = Answer(status=421, doc=shared.host_not_served("HOST"))
"""On every path, before anything else is checked (`http/listener/host_names.py`)."""


def openapi_document(routes: tuple[Route, ...]) -> dict[str, object]:
    paths: dict[str, dict[str, object]] = {}
    for route in routes:
        paths.setdefault(document_path(route.path), {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {"title": "onebroker", "version": version("onebroker")},
        "paths": paths,
        "components": {
            "securitySchemes": {
                "accessToken": {"type": "apiKey", "in": "header", "name": "access-token"},
                "apiKey": {"type": "apiKey", "in": "header", "name": "api-key"},
                "apiSecret": {"type": "apiKey", "in": "header", "name": "api-secret"},
                "metricsToken": {"type": "http", "scheme": "bearer"},
            },
            "schemas": {
                "Failure": {"type": "object", "required": ["error"], "properties": {"error": {"type": "string"}}}
            },
        },
    }


def document_path(path: str) -> str:
    """Return a route's path as the document writes it, with `{name}` for a variable."""
    return _PATH_VARIABLE.sub(r"{\1}", path)


def _operation(route: Route) -> dict[str, object]:
    operation: dict[str, object] = {
        "operationId": f"{route.method.lower()} {document_path(route.path)}",
        "tags": [route.tag],
        "summary": route.summary,
        "security": _SECURITY[route.token],
        "parameters": [_parameter(row) for row in route.parameters if row.place != "body"],
        "responses": _responses(route),
    }
    if body := [row for row in route.parameters if row.place == "body"]:
        operation["requestBody"] = _body(route, body)
    return operation


def _parameter(row: Parameter) -> dict[str, object]:
    return {"name": row.name, "in": row.place, "required": row.required, "description": row.doc, "schema": _schema(row)}


def _body(route: Route, rows: list[Parameter]) -> dict[str, object]:
    only = route.only_these_keys
    schema = _object(rows, only=only)
    if route.list_form:
        array, *beside = route.list_form
        inside = _object([row for row in rows if row.name not in {parameter.name for parameter in beside}], only=only)
        listed = _object([array if array.items is not None else attrs.evolve(array, items=inside), *beside], only=only)
        schema = {"oneOf": [schema, listed]}
    # A DELETE may come without a body (architecture 10).
    return {"required": route.method != "DELETE", "content": {"application/json": {"schema": schema}}}


def _object(rows: Iterable[Parameter], *, only: bool) -> dict[str, object]:
    """Return the schema of an object with these members; `only` means that no other members are allowed."""
    rows = tuple(rows)
    closed = {"additionalProperties": False} if only else {}
    return {
        **closed,
        "type": "object",
        "properties": {row.name: {**_schema(row), "description": row.doc} for row in rows},
        "required": [row.name for row in rows if row.required],
    }


def _schema(row: Parameter) -> dict[str, object]:
    schema = dict(_SCHEMAS.get(row.kind, {"type": row.kind}))
    if row.minimum is not None:
        schema["minimum"] = row.minimum
    if row.maximum is not None:
        schema["maximum"] = row.maximum
    if row.items is not None:
        schema["items"] = row.items
    return schema


def _responses(route: Route) -> dict[str, object]:
    token = () if route.token in (TokenRule.OPEN, TokenRule.CREDENTIALS) else (_TOKEN_REFUSED,)
    answers = (*route.answers, *token, _OTHER_NAME)
    responses: dict[str, object] = {}
    for status in sorted({answer.status for answer in answers}):
        same = [answer for answer in answers if answer.status == status]
        failed = status >= 400 and all(answer.has_error for answer in same)
        schema = {"$ref": "#/components/schemas/Failure"} if failed else same[0].schema or {}
        content: dict[str, object] = {"schema": schema}
        if same[0].example is not None:
            content["example"] = same[0].example
        responses[str(status)] = {
            "description": " / ".join(dict.fromkeys(answer.doc for answer in same)),
            "content": {same[0].content_type: content},
        }
    return responses
