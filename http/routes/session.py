"""Session routes (rules 1.4.1, 1.4.2): the welcome, connect, disconnect, status."""

from quart import Request
from quart.wrappers import Response

from onebroker.actors.store.durable import AccessToken
from onebroker.actors.token.messages import Connect, Disconnect
from onebroker.config.messages import session, shared
from onebroker.http import auth, render
from onebroker.http.answers import session as answers
from onebroker.http.route import Answer, Parameter, Route, TokenRule, failure
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


_NOT_STORED = failure(
    503, "The durable store cannot be written; nothing has changed.", shared.not_running("the token actor")
)

_LATE = failure(504, "The token actor did not answer in time.", shared.late("the token actor did not answer in time"))

ROUTES = (
    Route(
        method="GET",
        path="/api/",
        handler=welcome,
        token=TokenRule.OPEN,
        tag="session",
        operation_id="get_welcome",
        summary="A welcome sentence",
        answers=(Answer(status=200, doc="`{message}`", type=answers.Welcome, example=answers.WELCOME_EXAMPLE),),
    ),
    Route(
        method="POST",
        path="/api/session/connect",
        handler=connect,
        token=TokenRule.CREDENTIALS,
        tag="session",
        operation_id="connect",
        summary="Open the day's session, or join the one that is open",
        parameters=(API_KEY, API_SECRET),
        answers=(
            Answer(
                status=200,
                doc="`{access-token, expires_at}`; the same token until the next 07:00 or its expiry",
                type=answers.Session,
                example=answers.SESSION_EXAMPLE,
            ),
            failure(401, session.INVALID_KEY_OR_SECRET),
            failure(500, session.CREDENTIALS_NOT_CONFIGURED),
            _NOT_STORED,
            _LATE,
        ),
    ),
    Route(
        method="DELETE",
        path="/api/session/disconnect",
        handler=disconnect,
        tag="session",
        operation_id="disconnect",
        summary="End the session, for every client",
        answers=(
            Answer(
                status=200,
                doc="`{status: 'disconnected'}`",
                type=answers.SessionEnded,
                example=answers.ENDED_EXAMPLE,
            ),
            _NOT_STORED,
            _LATE,
        ),
    ),
    Route(
        method="GET",
        path="/api/session/status",
        handler=status,
        tag="session",
        operation_id="get_session",
        summary="Whether the token is good, and until when",
        answers=(
            Answer(
                status=200,
                doc="`{status: 'connected', expires_at}`",
                type=answers.SessionStatus,
                example=answers.STATUS_EXAMPLE,
            ),
        ),
    ),
)
