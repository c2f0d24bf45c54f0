"""Session routes (rules 1.4.1, 1.4.2): the welcome, connect, disconnect, status."""

from quart import Request
from quart.wrappers import Response

from onebroker.actors.store.durable import AccessToken
from onebroker.actors.token.messages import Connect, Disconnect
from onebroker.config.messages import session
from onebroker.http import auth, render
from onebroker.http.route import Answer, Parameter, Route, TokenRule
from onebroker.http.services import Services

ASK_SECONDS = 5.0
"""Seconds that a client waits for the durable store before it gets 504."""

API_KEY = Parameter(name="api-key", place="header", required=True, doc="The API key of the service's settings.")
API_SECRET = Parameter(name="api-secret", place="header", required=True, doc="The API secret that belongs to it.")


async def welcome(request: Request, services: Services) -> Response:
    return render.json_answer({"message": session.WELCOME})


async def connect(request: Request, services: Services) -> Response:
    row: AccessToken = await services.token_actor.ask(lambda reply: Connect(reply=reply), ASK_SECONDS)
    return render.json_answer({"access-token": row.token, "expires_at": row.expires_at})


async def disconnect(request: Request, services: Services) -> Response:
    token = auth.header_bytes(request, auth.TOKEN_HEADER) or b""
    await services.token_actor.ask(lambda reply: Disconnect(token=token, reply=reply), ASK_SECONDS)
    return render.json_answer({"status": "disconnected"})


async def status(request: Request, services: Services) -> Response:
    held = services.token.value
    return render.json_answer({"status": "connected", "expires_at": None if held is None else held.row.expires_at})


_NOT_STORED = Answer(status=503, doc="The durable store cannot be written; nothing has changed.")

ROUTES = (
    Route(
        method="GET",
        path="/api/",
        handler=welcome,
        token=TokenRule.OPEN,
        tag="session",
        summary="A welcome sentence",
        answers=(Answer(status=200, doc="`{message}`"),),
    ),
    Route(
        method="POST",
        path="/api/session/connect",
        handler=connect,
        token=TokenRule.CREDENTIALS,
        tag="session",
        summary="Open the day's session, or join the one that is open",
        parameters=(API_KEY, API_SECRET),
        answers=(
            Answer(status=200, doc="`{access-token, expires_at}`; the same token until the next 07:00 or its expiry"),
            Answer(status=401, doc=session.INVALID_KEY_OR_SECRET),
            Answer(status=500, doc=session.CREDENTIALS_NOT_CONFIGURED),
            _NOT_STORED,
        ),
    ),
    Route(
        method="DELETE",
        path="/api/session/disconnect",
        handler=disconnect,
        tag="session",
        summary="End the session, for every client",
        answers=(Answer(status=200, doc="`{status: 'disconnected'}`"), _NOT_STORED),
    ),
    Route(
        method="GET",
        path="/api/session/status",
        handler=status,
        tag="session",
        summary="Whether the token is good, and until when",
        answers=(Answer(status=200, doc="`{status: 'connected', expires_at}`"),),
    ),
)
