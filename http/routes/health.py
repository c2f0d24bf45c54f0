"""The health of the service (architecture 10, beyond the documents): liveness for everybody, the full health with the
token, and figures for Prometheus with the token or the metrics token."""

from quart import Request
from quart.wrappers import Response

from onebroker.actors.health.problem import Standing
from onebroker.config.clock import from_epoch, local_text
from onebroker.http import render
from onebroker.http.answers import health as answers
from onebroker.http.answers.session import ALIVE_EXAMPLE, Alive
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
        "store": {"reachable": services.store_reachable(), "durability": services.store_durability()},
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


ROUTES = (
    Route(
        method="GET",
        path="/health",
        handler=liveness,
        token=TokenRule.OPEN,
        tag="health",
        operation_id="get_liveness",
        summary="Whether the process answers",
        answers=(Answer(status=200, doc="`{status: 'ok'}`", type=Alive, example=ALIVE_EXAMPLE),),
    ),
    Route(
        method="GET",
        path="/api/health",
        handler=health,
        tag="health",
        operation_id="get_health",
        summary="What is wrong now, and the state of each part",
        answers=(
            Answer(
                status=200,
                doc="`status` is `degraded` while `problems` is not empty, else `ok`. docs/health.md lists the kinds of problems.",
                type=answers.Health,
                example=answers.EXAMPLE,
            ),
        ),
    ),
    Route(
        method="GET",
        path="/metrics",
        handler=figures,
        token=TokenRule.METRICS,
        tag="health",
        operation_id="get_metrics",
        summary="Figures in the text form of Prometheus",
        answers=(
            Answer(
                status=200,
                doc="Prometheus text; OpenMetrics text where the header `Accept` asks for `application/openmetrics-text`",
                content_type="text/plain",
                type=str,
                example="# HELP onebroker_halted 1 while trading is halted by a person\n# TYPE onebroker_halted gauge\nonebroker_halted 0.0\n",
            ),
        ),
    ),
)
