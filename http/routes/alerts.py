"""`POST /api/alerts/test`: one message to every receiver, as `onebroker alerts test` sends it (docs/alerts.md)."""

from quart import Request
from quart.wrappers import Response

from onebroker.actors.alerts.trial import try_receivers
from onebroker.config.messages import alerts as texts
from onebroker.config.refusal import Refusal
from onebroker.http import render
from onebroker.http.answers import alerts as answers
from onebroker.http.route import Answer, Route, failure
from onebroker.http.services import Services


async def try_all(request: Request, services: Services) -> Response:
    receivers = services.receivers
    if not receivers:
        raise Refusal(409, texts.NO_RECEIVER)
    refusals = await try_receivers(receivers, services.clock)
    return render.json_answer(
        {
            "receivers": [
                {"receiver": each.number, "scheme": each.scheme, "ok": words is None, "words": words}
                for each, words in zip(receivers, refusals, strict=True)
            ]
        }
    )


ROUTES = (
    Route(
        method="POST",
        path="/api/alerts/test",
        handler=try_all,
        tag="health",
        operation_id="try_alerts",
        summary="Send a test message to every receiver of alerts",
        counted_as="/api/health",
        answers=(
            Answer(
                status=200,
                doc="`{receivers}`: whether each took the message. The answer waits for them, at most 20 s.",
                type=answers.TriedReceivers,
                example=answers.EXAMPLE,
            ),
            failure(409, texts.NO_RECEIVER),
        ),
    ),
)
