"""`/openapi.json`, `/asyncapi.json` and `/docs`: the route table and the stream, shown to programs and to people. They need no token, because they
hold no data."""

import base64
import hashlib
from collections.abc import Iterable
from html import escape

import msgspec
from quart import Request
from quart.wrappers import Response

from onebroker.http import render
from onebroker.http.answers import session as answers
from onebroker.http.document.asyncapi import asyncapi_document
from onebroker.http.document.made_once import MadeOnce
from onebroker.http.document.openapi import openapi_document
from onebroker.http.route import Answer, Route, TokenRule
from onebroker.http.services import Services

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; }
code { font: 14px/1.5 ui-monospace, monospace; }
table { border-collapse: collapse; margin: .5rem 0 1.5rem; width: 100%; }
td, th { border-bottom: 1px solid #ccc; padding: .25rem .75rem .25rem 0; text-align: left; vertical-align: top; }
"""

# One style, known by its hash; no scripts.
CONTENT_SECURITY_POLICY = (
    f"default-src 'none'; style-src 'sha256-{base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()}';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

_RULES = {
    TokenRule.OPEN: "no token",
    TokenRule.CREDENTIALS: "API key and secret",
    TokenRule.REQUIRED: "access token",
    TokenRule.METRICS: "access token or metrics token",
}


def describing(others: tuple[Route, ...]) -> tuple[Route, ...]:
    """Return the rows whose answers describe `others` and these rows themselves."""

    async def openapi(request: Request, services: Services) -> Response:
        return render.encoded(await described_routes.body())

    async def asyncapi(request: Request, services: Services) -> Response:
        return render.encoded(await described_stream.body())

    async def docs(request: Request, services: Services) -> Response:
        answer = render.text_answer(page, "text/html; charset=utf-8")
        answer.headers["Content-Security-Policy"] = CONTENT_SECURITY_POLICY
        return answer

    rows = (
        Route(
            method="GET",
            path="/openapi.json",
            handler=openapi,
            token=TokenRule.OPEN,
            tag="documents",
            operation_id="get_openapi",
            summary="This API as an OpenAPI document",
            answers=(
                Answer(status=200, doc="OpenAPI 3.1", type=answers.DescribedRoutes, example=answers.ROUTES_EXAMPLE),
            ),
        ),
        Route(
            method="GET",
            path="/asyncapi.json",
            handler=asyncapi,
            token=TokenRule.OPEN,
            tag="documents",
            operation_id="get_asyncapi",
            summary="The messages of the stream as an AsyncAPI document",
            answers=(
                Answer(status=200, doc="AsyncAPI 3.0", type=answers.DescribedStream, example=answers.STREAM_EXAMPLE),
            ),
        ),
        Route(
            method="GET",
            path="/docs",
            handler=docs,
            token=TokenRule.OPEN,
            tag="documents",
            operation_id="get_docs",
            summary="This API as a page",
            answers=(
                Answer(
                    status=200,
                    doc="A page without scripts",
                    content_type="text/html",
                    type=str,
                    example="<!doctype html><html lang=en><title>onebroker API</title>",
                ),
            ),
        ),
    )
    every = (*others, *rows)
    described_routes = MadeOnce(lambda: msgspec.json.encode(openapi_document(every)))
    described_stream = MadeOnce(lambda: msgspec.json.encode(asyncapi_document()))
    page = _page(every)
    return rows


def _page(routes: tuple[Route, ...]) -> str:
    tags = dict.fromkeys(route.tag for route in routes)
    sections = "".join(
        f"<h2>{escape(tag)}</h2>" + "".join(_section(route) for route in routes if route.tag == tag) for tag in tags
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>onebroker API</title>'
        f"<style>{_STYLE}</style></head><body><h1>onebroker API</h1>"
        '<p>The same as a document for programs: <a href="/openapi.json">openapi.json</a>, and of the stream: '
        '<a href="/asyncapi.json">asyncapi.json</a></p>'
        f"{sections}</body></html>"
    )


def _section(route: Route) -> str:
    heading = f"<h3><code>{route.method} {escape(route.path)}</code></h3>"
    summary = f"<p>{escape(route.summary)} ({_RULES[route.token]})</p>"
    parameters = _table(
        ("Parameter", "In", "Type", "Required", ""),
        ((row.name, row.place, row.kind, "yes" if row.required else "no", row.doc) for row in route.parameters),
    )
    answers = _table(("Status", ""), ((str(answer.status), answer.doc) for answer in route.answers))
    return heading + summary + (parameters if route.parameters else "") + answers


def _table(titles: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    head = "".join(f"<th>{title}</th>" for title in titles)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"
