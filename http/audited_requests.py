"""Tells a request that can change something before its handler acts, and its answer after that. `Route.is_audited` says which requests these are."""

from collections.abc import Iterator
from typing import cast

from quart import Request
from quart.wrappers import Response

from onebroker.http import refusals, render
from onebroker.http.auth import TOKEN_HEADER, header_bytes
from onebroker.http.request_events import answered, http_asked, new_request_id
from onebroker.http.route import Route, TokenRule
from onebroker.http.services import Services

_WHO = {
    TokenRule.REQUIRED: "token",
    TokenRule.CREDENTIALS: "api key",
    TokenRule.METRICS: "token",
    TokenRule.OPEN: "anybody",
}
_REFUSED = tuple(refusals.REFUSALS)
NO_ANSWER = b'{"error":"no answer: the client left, or the service stopped"}'
FAULT = b'{"error":"a fault of the service"}'


async def answer_audited(route: Route, request: Request, services: Services) -> Response:
    """Call the route's handler between the two events. What it raises is raised here, and told as the answer that it becomes.

    A body that does not arrive, or is too long, is answered by the framework, and nothing is told: nothing can have happened.
    """
    request_id = new_request_id()
    # The caller is admitted when this is called, so a stranger's body is neither read nor told. The handler finds the body read.
    body = cast("bytes", await request.get_data()) if route.token is TokenRule.REQUIRED else b""
    asked = http_asked(
        request_id,
        who=_WHO[route.token],
        address=request.remote_addr,
        method=request.method,
        path=_path(request),
        body=body,
        hidden=_secrets(request, services),
    )
    services.events.tell(asked)
    told = answered(request_id, None, NO_ANSWER)
    try:
        response = await route.handler(request, services)
        told = answered(request_id, response.status_code, await _body_of(response))
    except _REFUSED as error:
        refusal = refusals.refusal_of(error)
        told = answered(request_id, refusal.status, render.encode(refusal.body()))
        raise
    except Exception:
        told = answered(request_id, 500, FAULT)
        raise
    finally:
        services.events.tell(told)
    return response


def _path(request: Request) -> str:
    query = request.query_string.decode("latin-1")
    return f"{request.path}?{query}" if query else request.path


async def _body_of(response: Response) -> bytes:
    """Return the answer's JSON text. For connect it is never told: `answered` takes the error and the ids only."""
    return await response.get_data(as_text=False)


def _secrets(request: Request, services: Services) -> Iterator[str]:
    """Yield what must not be told, should a client have put it into the path or the body."""
    settings, held = services.settings, services.token.value
    for secret in (settings.api_key, settings.api_secret, settings.metrics_token):
        if secret is not None:
            yield secret.reveal()
    if held is not None and held.row.token is not None:
        yield held.row.token
    yield (header_bytes(request, TOKEN_HEADER) or b"").decode("latin-1")
