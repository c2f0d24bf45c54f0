"""The OpenAPI 3.1 document, made from the route table."""

from importlib.metadata import version
from typing import Any

from onebroker.http.document.operations import (
    answers_of,
    body_schemas,
    document_path,
    operation,
    page_responses,
    type_of,
)
from onebroker.http.document.schemas import Schema, answer_schemas
from onebroker.http.document.shared_schemas import NAMED_TYPES, given_schemas, request_schemas, used
from onebroker.http.route import Route

DESCRIPTION = """Ten Indian broker accounts as one account: funds, holdings, positions, quotes, candles and orders.

Connect once a day, and send the access token in the header `access-token` of every other request. A success is the data itself. A failure is an
object with `error`, a sentence; an order that reached a broker has an `outcome` instead. Prices and sums are rupees, quantities are units, moments
are India time unless they say otherwise. In bodies, words are read in any case, and a null counts as absent.

A path that matches no route, a wrong method, a body that is too long or too slow, and a fault of the service are answered by the HTML page of the
web framework. Orders are real: nothing is sent twice by the service, and a 504 means that the outcome is not known."""

TAGS = {
    "session": "The day's access token. All clients share one token.",
    "health": "Whether the service works, and what is wrong.",
    "reference": "Documents about the account holder, the brokers and the exchanges, as they were imported.",
    "portfolio": "Funds, holdings and positions of all brokers, as one account. The documents are remade every half second (holdings: every minute), and say how old each broker's part is.",
    "instruments": "One list of instruments, merged from the files of all brokers. An instrument has one id at every broker and on every day.",
    "quotes": "Live prices: from the brokers' feeds, or fetched from a broker when no fresh price is stored.",
    "history": "Candles and ticks, adjusted for splits, bonuses and dividends where that is wanted.",
    "orders": "Orders at real brokers: place, change, cancel, flatten, halt, and what became of them. `dry_run` sends nothing.",
    "audit": "The record of every request, decision, order message and fill.",
    "stream": "Live data over a WebSocket; `/asyncapi.json` describes its messages.",
    "documents": "This API, described for programs and for people.",
}


def openapi_document(routes: tuple[Route, ...]) -> dict[str, Any]:
    """Return the document of these routes. Every example in it fits its schema, and no schema is empty."""
    answers = {id(type_of(answer)): type_of(answer) for route in routes for answer in answers_of(route)}
    types = [kind for kind in answers.values() if kind is not None]
    schemas, components = answer_schemas((*types, *NAMED_TYPES))
    by_type = {id(kind): schema for kind, schema in zip(types, schemas, strict=False)}
    paths: dict[str, dict[str, object]] = {}
    bodies: dict[str, Schema] = {}
    for route in routes:
        paths.setdefault(document_path(route.path), {})[route.method.lower()] = operation(route, by_type)
        bodies.update(body_schemas(route))
    tags = dict.fromkeys(route.tag for route in routes)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "onebroker",
            "version": version("onebroker"),
            "summary": "Ten Indian broker accounts as one account",
            "description": DESCRIPTION,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/", "description": "The service that served this document"}],
        "tags": [{"name": tag, "description": TAGS.get(tag, tag)} for tag in tags],
        "paths": paths,
        "components": {
            "securitySchemes": _SECURITY_SCHEMES,
            "responses": page_responses(),
            "schemas": used(paths, {**request_schemas(), **components, **given_schemas(), **bodies}),
        },
    }


_SECURITY_SCHEMES: dict[str, Schema] = {
    "accessToken": {
        "type": "apiKey",
        "in": "header",
        "name": "access-token",
        "description": "From connect; it holds for the day.",
    },
    "apiKey": {"type": "apiKey", "in": "header", "name": "api-key", "description": "Of the service's settings."},
    "apiSecret": {"type": "apiKey", "in": "header", "name": "api-secret", "description": "Belongs to the API key."},
    "metricsToken": {"type": "http", "scheme": "bearer", "description": "For readers of the metrics, of the settings."},
}
