"""`/openapi.json`, `/asyncapi.json` and `/docs`: the route table and the stream, shown to programs and to people. They need no token, because they
hold no data."""

import msgspec
from quart import Request
from quart.wrappers import Response

from onebroker.http.answers import session as answers
from onebroker.http.docs_page.page import CONTENT_SECURITY_POLICY, docs_page
from onebroker.http.document.asyncapi import asyncapi_document
from onebroker.http.document.made_once import MadeOnce
from onebroker.http.document.openapi import openapi_document
from onebroker.http.packing import published_answer
from onebroker.http.route import Answer, Route, TokenRule
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
    page = MadeOnce(lambda: docs_page(openapi_document(every)))
    return rows
