"""The health of the service (architecture 10, beyond the documents): liveness for everybody, the full health with the
token, and figures for Prometheus with the token or the metrics token."""

from quart import Request
from quart.wrappers import Response

from onebroker.actors.health.problem import ProblemKind, Standing
from onebroker.config.calendars import DayState
from onebroker.config.clock import from_epoch, local_text
from onebroker.http import render
from onebroker.http.route import Answer, Route, TokenRule
from onebroker.http.services import Services


async def liveness(request: Request, services: Services) -> Response:
    return render.json_answer({"status": "ok"})


async def health(request: Request, services: Services) -> Response:
    return render.json_answer(health_document(services))


def health_document(services: Services) -> dict[str, object]:
    """Return the health as `GET /api/health` and `onebroker status` show it."""
    problems = services.problems()
    body: dict[str, object] = {
        "status": "degraded" if problems else "ok",
        "time": local_text(services.clock.now()),
        "problems": [shown(standing) for standing in problems],
        "actors": dict(services.actors()),
        "crashes": [
            {
                "actor": crash.actor,
                "error": crash.error,
                "count": crash.count,
                "at": local_text(from_epoch(crash.at)),
                "last_message": crash.last_message_type,
            }
            for crash in services.crashes()
        ],
        "store": {"reachable": services.store_reachable()},
    }
    body.update((key, source()) for key, source in services.health_sources.items())
    return body


def shown(standing: Standing) -> dict[str, object]:
    """Return a problem as the API shows it."""
    problem = standing.problem
    return {
        "what": problem.what,
        "broker": problem.broker,
        "since": local_text(from_epoch(standing.since)),
        "do": problem.do,
        "kind": problem.kind.value,
        "subject": problem.subject or None,
    }


async def figures(request: Request, services: Services) -> Response:
    body, content_type = await services.metrics.text(request.headers.get("Accept", ""))
    return render.plain_answer(body, content_type)


_TEXT: dict[str, object] = {"type": "string"}
_MAYBE_TEXT: dict[str, object] = {"type": ["string", "null"]}
_PROBLEM: dict[str, object] = {
    "type": "object",
    "required": ["what", "broker", "since", "do", "kind", "subject"],
    "properties": {
        "what": {**_TEXT, "description": "What is wrong, with the broker's words where there are such."},
        "broker": {**_MAYBE_TEXT, "description": "Broker code; null: it is not of one broker."},
        "since": {**_TEXT, "description": "Since when it is wrong, as far as that is known, in Indian time."},
        "do": {**_TEXT, "description": "What the reader can do."},
        "kind": {"type": "string", "enum": [kind.value for kind in ProblemKind]},
        "subject": {**_MAYBE_TEXT, "description": "Tells problems of one kind and broker apart."},
    },
}
_CRASH: dict[str, object] = {
    "type": "object",
    "required": ["actor", "error", "count", "at", "last_message"],
    "properties": {
        "actor": _TEXT,
        "error": _TEXT,
        "count": {"type": "integer"},
        "at": _TEXT,
        "last_message": _MAYBE_TEXT,
    },
}
_HEALTH: dict[str, object] = {
    "type": "object",
    "description": "Each part that reports has a further key, such as `brokers`, `engine` or `market`.",
    "required": ["status", "time", "problems", "actors", "crashes", "store"],
    "properties": {
        "status": {"type": "string", "enum": ["ok", "degraded"]},
        "time": {**_TEXT, "description": "Indian time."},
        "problems": {"type": "array", "items": _PROBLEM, "description": "Oldest first."},
        "actors": {"type": "object", "additionalProperties": {"type": "boolean"}, "description": "Part -> is it up."},
        "crashes": {"type": "array", "items": _CRASH},
        "store": {"type": "object", "required": ["reachable"], "properties": {"reachable": {"type": "boolean"}}},
        "market": {
            "type": "object",
            "description": "Exchange and calendar, such as `nse equity` -> what is known of today.",
            "additionalProperties": {
                "type": "object",
                "required": ["today", "open", "known_until"],
                "properties": {
                    "today": {"type": "string", "enum": [state.value for state in DayState]},
                    "open": {"type": "boolean"},
                    "known_until": {**_MAYBE_TEXT, "description": "The last day whose holidays are known."},
                },
            },
        },
    },
}
_EXAMPLE: dict[str, object] = {
    "status": "degraded",
    "time": "2026-11-25T09:16:02",
    "problems": [
        {
            "what": "zerodha has no login: a person must log in (onebroker login)",
            "broker": "zerodha",
            "since": "2026-11-25T06:00:00",
            "do": "onebroker login zerodha",
            "kind": "login",
            "subject": None,
        }
    ],
    "actors": {"token": True, "engine": True},
    "crashes": [],
    "store": {"reachable": True},
    "market": {"nse equity": {"today": "trading", "open": True, "known_until": "2026-12-31"}},
}

ROUTES = (
    Route(
        method="GET",
        path="/health",
        handler=liveness,
        token=TokenRule.OPEN,
        tag="health",
        summary="Whether the process answers",
        answers=(Answer(status=200, doc="`{status: 'ok'}`"),),
    ),
    Route(
        method="GET",
        path="/api/health",
        handler=health,
        tag="health",
        summary="What is wrong now, and the state of each part",
        answers=(
            Answer(
                status=200,
                doc="`status` is `degraded` while `problems` is not empty, else `ok`. docs/health.md lists the kinds of problems.",
                schema=_HEALTH,
                example=_EXAMPLE,
            ),
        ),
    ),
    Route(
        method="GET",
        path="/metrics",
        handler=figures,
        token=TokenRule.METRICS,
        tag="health",
        summary="Figures in the text form of Prometheus",
        answers=(
            Answer(
                status=200,
                doc="Prometheus text; OpenMetrics text where the header `Accept` asks for `application/openmetrics-text`",
                content_type="text/plain",
            ),
        ),
    ),
)
