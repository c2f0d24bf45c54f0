"""`/openapi.json`, `/asyncapi.json`, `/docs` and `/docs/try`: the route table and the stream, shown to programs and to people. They need no token, because they
hold no data."""

from functools import partial

import msgspec
from quart import Request
from quart.wrappers import Response

from onebroker.http.answers import session as answers
from onebroker.http.docs_page import try_page
from onebroker.http.docs_page.page import CONTENT_SECURITY_POLICY, docs_page
from onebroker.http.document.asyncapi import asyncapi_document
from onebroker.http.document.made_once import MadeOnce
from onebroker.http.document.openapi import openapi_document
from onebroker.http.packing import published_answer
from onebroker.http.route import Answer, Handler, Route, TokenRule
from onebroker.http.services import Services


def describing(others: tuple[Route, ...]) -> tuple[Route, ...]:
    """Return the rows whose answers describe `others` and these rows themselves."""

    async def openapi(request: Request, services: Services) -> Response:
        return await published_answer(request, services.packing, await described_routes.body())

    async def asyncapi(request: Request, services: Services) -> Response:
        return await published_answer(request, services.packing, await described_stream.body())

    async def docs(request: Request, services: Services) -> Response:
        answer = await published_answer(request, services.packing, await page.body(), "text/html; charset=utf-8")
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
        _text(
            "/docs",
            docs,
            "get_docs",
            "This API as a page",
            doc="A page without scripts",
            content_type="text/html",
            example="<!doctype html><html lang=en><title>onebroker API</title>",
        ),
        *_TRY,
    )
    every = (*others, *rows)
    described_routes = MadeOnce(lambda: msgspec.json.encode(openapi_document(every)))
    described_stream = MadeOnce(lambda: msgspec.json.encode(asyncapi_document()))
    page = MadeOnce(lambda: docs_page(openapi_document(every)))
    return rows


def _text(
    path: str, handler: Handler, operation_id: str, summary: str, *, doc: str, content_type: str, example: str
) -> Route:
    """Return the row of a page, or of a file of one."""
    return Route(
        method="GET",
        path=path,
        handler=handler,
        token=TokenRule.OPEN,
        tag="documents",
        operation_id=operation_id,
        summary=summary,
        answers=(Answer(status=200, doc=doc, content_type=content_type, type=str, example=example),),
        counted_as="/docs" if path != "/docs" else "",
    )


def _file(content_type: str, made: MadeOnce) -> Handler:
    async def read(request: Request, services: Services) -> Response:
        answer = await published_answer(request, services.packing, await made.body(), f"{content_type}; charset=utf-8")
        answer.headers["Content-Security-Policy"] = try_page.CONTENT_SECURITY_POLICY
        return answer

    return read


_TRY = (
    _text(
        "/docs/try",
        _file("text/html", MadeOnce(lambda: try_page.PAGE)),
        "get_try_page",
        "A page that sends requests",
        doc="Swagger UI over `/openapi.json`. Orders that it sends are real",
        content_type="text/html",
        example="<!doctype html><html lang=en><title>Try the onebroker API</title>",
    ),
    _text(
        "/docs/try/start.js",
        _file("text/javascript", MadeOnce(lambda: try_page.START)),
        "get_try_start",
        "What starts Swagger UI",
        doc="A script",
        content_type="text/javascript",
        example='SwaggerUIBundle({url: "/openapi.json"})',
    ),
    _text(
        "/docs/try/swagger-ui.js",
        _file("text/javascript", MadeOnce(partial(try_page.vendored, try_page.SCRIPT))),
        "get_try_script",
        "Swagger UI",
        doc="The script of Swagger UI",
        content_type="text/javascript",
        example="const SwaggerUIBundle = () => {}",
    ),
    _text(
        "/docs/try/swagger-ui.css",
        _file("text/css", MadeOnce(partial(try_page.vendored, try_page.STYLE))),
        "get_try_style",
        "The style of Swagger UI",
        doc="The colours and sizes of Swagger UI",
        content_type="text/css",
        example=".swagger-ui { color: black }",
    ),
)
