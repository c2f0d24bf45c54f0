"""The application: Quart-trio with the routes of `http.route_table`, and no other routes.

Unknown paths, wrong methods and uncaught exceptions get the framework's standard HTML pages, on `/api` paths too (rules
1.7.2). The framework answers them before any route does, so they need no token.
"""

import logging
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit, urlunsplit

import trio
from quart import Request, Websocket, g, request, websocket
from quart.wrappers import Response
from quart_trio import QuartTrio

from onebroker.config.refusal import Refusal
from onebroker.http import auth, refusals
from onebroker.http.audited_requests import answer_audited
from onebroker.http.listener.host_names import HostNames
from onebroker.http.metrics.request_counts import RequestCounts
from onebroker.http.route import Route
from onebroker.http.route_table import ROUTES
from onebroker.http.routes.stream import STREAM_PATH
from onebroker.http.routes.stream_endpoint import converse
from onebroker.http.services import Services

MOST_BODY_BYTES = 16 * 1024 * 1024
"""The limit for a list of instruments or orders; any other body may have `long_body_in.AT_ONCE_BYTES`."""
BODY_SECONDS = 30
"""Seconds in which a request's body must arrive; after that the framework sends its 408 page."""

# Without any handler Quart would start a thread for its own handler.
logging.getLogger(__name__).addHandler(logging.NullHandler())


def build_app(services: Services, routes: tuple[Route, ...] = ROUTES) -> QuartTrio:
    """Return the application over `services`. It starts no task; the actor tree does that."""
    app = QuartTrio(__name__, static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = MOST_BODY_BYTES
    app.config["BODY_TIMEOUT"] = BODY_SECONDS
    # A slow reader is limited where the bytes leave (http.listener.accept_loop), not by cutting a long answer.
    app.config["RESPONSE_TIMEOUT"] = None
    # `//` is not accepted as another form of `/`: the redirect would repeat the scheme and host that the client sent.
    app.url_map.merge_slashes = False
    for route in routes:
        app.add_url_rule(route.path, route.endpoint, _view(route, services), methods=[route.method])
    app.add_websocket(STREAM_PATH, "stream socket", _stream_view(services))
    for kind, to_refusal in refusals.REFUSALS.items():
        app.register_error_handler(kind, _renderer(to_refusal))
    names = HostNames(services.settings, services.refused_clients)
    app.before_request(_begin)  # first: a refused host name is counted too
    app.before_request(_checker(names, request))
    app.before_websocket(_checker(names, websocket))
    app.after_request(_harden)
    app.after_request(_counter(services.metrics.requests, routes))
    return app


def _view(route: Route, services: Services) -> Callable[..., Awaitable[Response]]:
    async def view(**_: object) -> Response:
        """The framework passes the path's variables here too; handlers read them from `request.view_args`."""
        current: Request = request
        await auth.check_rule(route.token, current, services)
        if route.is_audited:
            return await answer_audited(route, current, services)
        return await route.handler(current, services)

    return view


def _checker(names: HostNames, current: Request | Websocket) -> Callable[[], Awaitable[None]]:
    async def check() -> None:  # a coroutine: the framework would run a plain function in a thread
        names.check(current)

    return check


async def _begin() -> None:
    g.began = trio.current_time()


def _counter(counts: RequestCounts, routes: tuple[Route, ...]) -> Callable[[Response], Awaitable[Response]]:
    counted_as = {route.path: route.counted_as for route in routes if route.counted_as}

    async def count(response: Response) -> Response:
        """Count the answer. A request that the framework refuses before `_begin` took no time of ours."""
        current: Request = request
        seconds = trio.current_time() - g.get("began", trio.current_time())
        route = None if current.url_rule is None else current.url_rule.rule
        counts.answered(
            None if route is None else counted_as.get(route, route), current.method, response.status_code, seconds
        )
        return response

    return count


def _stream_view(services: Services) -> Callable[[], Awaitable[None]]:
    async def view() -> None:
        """Accept every connection. A refused token is reported by the close code: browsers show it, and hide a failed handshake."""
        current: Websocket = websocket
        await current.accept()
        close = await converse(current, auth.header_bytes(current, auth.TOKEN_HEADER), services, current.scope)
        await current.close(close.code, close.reason)

    return view


def _renderer(to_refusal: Callable[..., Refusal]) -> Callable[[Exception], Awaitable[Response]]:
    async def render(error: Exception) -> Response:
        return refusals.render_refusal(to_refusal(error))

    return render


async def _harden(response: Response) -> Response:
    response.headers["X-Content-Type-Options"] = "nosniff"
    if "Location" in response.headers:
        # The framework's redirect of `/api` repeats the scheme and host of the request. Behind a proxy with TLS the
        # client would then send its token unencrypted.
        parts = urlsplit(response.headers["Location"])
        response.headers["Location"] = urlunsplit(("", "", parts.path, parts.query, ""))
    return response
