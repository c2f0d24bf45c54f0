"""The health of the service (architecture 10, beyond the documents): liveness for everybody, the full health with the
token, and figures for Prometheus with the token or the metrics token."""

from quart import Request
from quart.wrappers import Response

from onebroker.actors.health.problem import Standing
from onebroker.config.clock import from_epoch, local_text
from onebroker.http import render
from onebroker.http.route import Answer, Route, TokenRule
from onebroker.http.services import Services


async def liveness(request: Request, services: Services) -> Response:
    return render.json_answer({"status": "ok"})


async def health(request: Request, services: Services) -> Response:
    actors = dict(services.actors())
    reachable = services.store_reachable()
    problems = services.problems()
    sound = reachable and all(actors.values()) and services.disk_has_room() and not services.orders_at_risk()
    body: dict[str, object] = {
        "status": "ok" if sound and not problems else "degraded",
        "time": local_text(services.clock.now()),
        "problems": [shown(standing) for standing in problems],
        "actors": actors,
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
        "store": {"reachable": reachable},
    }
    body.update((key, source()) for key, source in services.health_sources.items())
    return render.json_answer(body)


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
        summary="Whether the process answers",
        answers=(Answer(status=200, doc="`{status: 'ok'}`"),),
    ),
    Route(
        method="GET",
        path="/api/health",
        handler=health,
        tag="health",
        summary="Actors, crashes, store, brokers",
        answers=(
            Answer(
                status=200,
                doc="`status` is `ok`, or `degraded` while an actor or the store is away, the disk has less than `disk.reserve_mb` left, or an open parent stands in `order_problems`",
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
