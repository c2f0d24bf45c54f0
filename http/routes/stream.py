"""`GET /stream` without an upgrade: says what the path is. The WebSocket itself is `http.live` (docs/stream.md).
This row describes it in the OpenAPI document, which has no words for WebSockets."""

from quart import Request
from quart.wrappers import Response

from onebroker.config.messages import stream as sentences
from onebroker.http import render
from onebroker.http.route import Answer, Route, failure
from onebroker.http.services import Services

STREAM_PATH = "/stream"


async def plain_request(request: Request, services: Services) -> Response:
    response = render.json_answer({"error": sentences.UPGRADE_REQUIRED}, 426)
    response.headers["Upgrade"] = "websocket"
    return response


ROUTES = (
    Route(
        method="GET",
        path=STREAM_PATH,
        handler=plain_request,
        tag="stream",
        operation_id="open_stream",
        summary="Live quotes, order and parent events, documents and option chains over a WebSocket",
        answers=(
            Answer(
                status=101,
                doc="With the headers of a WebSocket upgrade. The token comes in the header, or in a first message "
                '`{"access-token": "..."}` within 5 s. Messages and close codes: docs/stream.md of the repository',
            ),
            failure(426, sentences.UPGRADE_REQUIRED),
        ),
    ),
)
