"""One route as an operation of the OpenAPI document: its parameters, its body, its answers."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from onebroker.config.messages import session, shared
from onebroker.config.schema_marks import COMPONENTS
from onebroker.http.answers.shared import Failure
from onebroker.http.document.schemas import Schema
from onebroker.http.route import Answer, Parameter, Route, TokenRule, failure

PATH_VARIABLE = re.compile(r"<(\w+)>")
RESPONSES = "#/components/responses/"
_FLAG: Schema = {
    "anyOf": [
        {"type": "boolean"},
        {"type": "integer", "enum": [0, 1]},
        {"type": "string", "enum": ["yes", "no"]},
    ]
}
"""A flag of a query, as `http.parse.flag` reads it."""
_KINDS: dict[str, Schema] = {"date": {"type": "string", "format": "date"}}
"""Kinds of parameters that are not themselves a JSON schema type."""

_SECURITY: dict[TokenRule, list[dict[str, list[str]]]] = {
    TokenRule.OPEN: [],
    TokenRule.CREDENTIALS: [{"apiKey": [], "apiSecret": []}],
    TokenRule.REQUIRED: [{"accessToken": []}],
    TokenRule.METRICS: [{"accessToken": []}, {"metricsToken": []}],
}

TOKEN_REFUSED = failure(
    401,
    f"{session.ACCESS_TOKEN_REQUIRED} / {session.INVALID_ACCESS_TOKEN} / {session.ACCESS_TOKEN_EXPIRED}",
    session.INVALID_ACCESS_TOKEN,
)
TOKEN_UNKNOWN = failure(503, session.TOKEN_NOT_READ_YET)
"""For a moment after the start, on every route that needs the token."""
OTHER_NAME = failure(421, shared.host_not_served("HOST"))
"""On every path, before anything else is checked (`http/listener/host_names.py`)."""


def document_path(path: str) -> str:
    """Return a route's path as the document writes it, with `{name}` for a variable."""
    return PATH_VARIABLE.sub(r"{\1}", path)


def answers_of(route: Route) -> tuple[Answer, ...]:
    """Return the answers of a route with those that the token check and the check of the host give."""
    token = () if route.token in (TokenRule.OPEN, TokenRule.CREDENTIALS) else (TOKEN_REFUSED, TOKEN_UNKNOWN)
    return (*route.answers, *token, OTHER_NAME)


def type_of(answer: Answer) -> Any:
    """Return the type of an answer: a failure's where the row names none."""
    return Failure if answer.type is None and answer.status >= 400 else answer.type


def operation(route: Route, schemas: Mapping[int, Schema]) -> dict[str, object]:
    """Return the operation. `schemas` has the schema of each answer, by the identity of its type."""
    described: dict[str, object] = {
        "operationId": route.operation_id,
        "tags": [route.tag],
        "summary": route.summary,
        "security": _SECURITY[route.token],
        "parameters": [_parameter(row) for row in route.parameters if row.place != "body"],
        "responses": _responses(route, schemas),
    }
    if body := [row for row in route.parameters if row.place == "body"]:
        described["requestBody"] = _body(route, body)
    return described


# --- what is sent -----------------------------------------------------------------------------------------------------------


def _parameter(row: Parameter) -> dict[str, object]:
    return {"name": row.name, "in": row.place, "required": row.required, "description": row.doc, "schema": _schema(row)}


def _body(route: Route, rows: list[Parameter]) -> dict[str, object]:
    content: dict[str, object] = {"schema": {"$ref": COMPONENTS + body_name(route)}}
    if route.examples:
        content["examples"] = {name: {"value": value} for name, value in route.examples.items()}
    return {"required": not route.body_may_be_absent, "content": {"application/json": content}}


def body_name(route: Route) -> str:
    """Return the name of the schema of a route's body."""
    return "".join(word.title() for word in route.operation_id.split("_")) + "Body"


def body_schemas(route: Route) -> dict[str, Schema]:
    """Return the schema of a route's body and of its forms, by name; none without a body."""
    rows = [row for row in route.parameters if row.place == "body"]
    if not rows:
        return {}
    name, only = body_name(route), route.only_these_keys
    single = _object(rows, only=only)
    if not route.list_form:
        return {name: single}
    array, *beside = route.list_form
    outside = {parameter.name for parameter in beside}
    inside = _object([row for row in rows if row.name not in outside], only=only)
    of_list, of_item, of_one = f"{name}List", f"{name}Item", f"{name}One"
    listed = _object(
        [
            attrs.evolve(array, required=True, schema={**_array(array), "items": {"$ref": COMPONENTS + of_item}}),
            *beside,
        ],
        only=only,
    )
    if route.body_may_be_absent:
        # One object with either form's fields: generators cannot leave out one of several forms.
        whole = {**single, "properties": {**single["properties"], array.name: listed["properties"][array.name]}}
        return {name: whole, of_item: inside}
    forms = [{"$ref": COMPONENTS + of_one}, {"$ref": COMPONENTS + of_list}]
    return {name: {"anyOf": forms}, of_one: single, of_item: inside, of_list: listed}


def _array(row: Parameter) -> Schema:
    return {"type": "array", "minItems": 1, **({} if row.maximum is None else {"maxItems": row.maximum})}


def _object(rows: Iterable[Parameter], *, only: bool) -> Schema:
    """Return the schema of an object with these members; `only` means that no other members are allowed."""
    rows = tuple(rows)
    return {
        **({"additionalProperties": False} if only else {}),
        "type": "object",
        "properties": {row.name: {**_member(row), "description": row.doc} for row in rows},
        "required": [row.name for row in rows if row.required],
    }


def _member(row: Parameter) -> Schema:
    schema = _schema(row)
    if row.required or not row.null_is_absent:
        return schema
    if isinstance(schema.get("type"), str) and "enum" not in schema:
        return {**schema, "type": [schema["type"], "null"]}
    return {"anyOf": [schema, {"type": "null"}]}


def _schema(row: Parameter) -> Schema:
    if row.schema is not None:
        return dict(row.schema)
    if row.kind == "boolean" and row.place == "query":
        return _FLAG
    schema = dict(_KINDS.get(row.kind, {"type": row.kind}))
    if row.choices:
        schema["enum"] = list(row.choices)
    if row.pattern:
        schema["pattern"] = row.pattern
    if row.minimum is not None:
        schema["minimum"] = row.minimum
    if row.maximum is not None:
        schema["maximum"] = row.maximum
    return schema


# --- what is answered -------------------------------------------------------------------------------------------------------


def _responses(route: Route, schemas: Mapping[int, Schema]) -> dict[str, object]:
    answers = answers_of(route)
    responses: dict[str, object] = {}
    for status in sorted({answer.status for answer in answers}):
        responses[str(status)] = _response([answer for answer in answers if answer.status == status], schemas)
    for status, name in _framework_pages(route).items():
        page = {"$ref": RESPONSES + name}
        responses[str(status)] = _with_page(responses[str(status)], name) if str(status) in responses else page
    return dict(sorted(responses.items()))


def _response(answers: Sequence[Answer], schemas: Mapping[int, Schema]) -> dict[str, Any]:
    response: dict[str, Any] = {"description": " / ".join(dict.fromkeys(answer.doc for answer in answers))}
    headers = {name: _header(doc) for answer in answers for name, doc in answer.headers.items()}
    if headers:
        response["headers"] = headers
    typed = [answer for answer in answers if type_of(answer) is not None]
    if typed:
        kinds = dict.fromkeys(answer.content_type for answer in typed)
        response["content"] = {
            kind: _content([answer for answer in typed if answer.content_type == kind], schemas) for kind in kinds
        }
    return response


def _header(doc: str) -> dict[str, object]:
    return {"description": doc, "schema": {"type": "string"}}


def _content(answers: Sequence[Answer], schemas: Mapping[int, Schema]) -> dict[str, object]:
    distinct = list({id(type_of(answer)): schemas[id(type_of(answer))] for answer in answers}.values())
    content: dict[str, object] = {"schema": distinct[0] if len(distinct) == 1 else {"anyOf": distinct}}
    examples = [answer.example for answer in answers if answer.example is not None]
    if len(examples) == 1:
        content["example"] = examples[0]
    elif examples:
        content["examples"] = {f"example_{number}": {"value": example} for number, example in enumerate(examples, 1)}
    return content


# --- the framework's own answers --------------------------------------------------------------------------------------------


_PAGES = {
    404: ("NotFoundPage", "No such path."),
    405: ("MethodNotAllowedPage", "The path exists and has no such method."),
    408: ("RequestTimeoutPage", "The body did not arrive within 30 seconds."),
    413: ("TooLargePage", "The body is too long: 16 MB for a list of instruments or orders, 256 KB for another body."),
    500: ("FailedPage", "A fault of the service. The log has a line about it."),
}
"""Status -> the name of the framework's page, and when it is answered (rules 1.7.2)."""


def page_responses() -> dict[str, object]:
    """Return the framework's pages, by name. The page of an unknown path is no route's; an operation that can have it carries it itself."""
    return {
        name: {"description": doc, "content": _page(status)} for status, (name, doc) in _PAGES.items() if status != 404
    }


def _page(status: int) -> dict[str, object]:
    titles = {404: "Not Found", 405: "Method Not Allowed", 408: "Request Timeout", 413: "Request Entity Too Large"}
    title = titles.get(status, "Internal Server Error")
    example = f"<!doctype html>\n<html lang=en>\n<title>{status} {title}</title>\n<h1>{title}</h1>"
    return {"text/html": {"schema": {"type": "string"}, "example": example}}


def _framework_pages(route: Route) -> dict[int, str]:
    body = route.method != "GET"
    variable = PATH_VARIABLE.search(route.path) is not None
    wanted = [*([404] if variable else []), 405, *([408, 413] if body else []), 500]
    return {status: _PAGES[status][0] for status in wanted}


def _with_page(response: Any, name: str) -> dict[str, object]:
    """Return a response that is the route's own or the framework's page."""
    status, (_, doc) = next(row for row in _PAGES.items() if row[1][0] == name)
    return {
        **response,
        "description": f"{response['description']} / {doc}",
        "content": {**response["content"], **_page(status)},
    }
