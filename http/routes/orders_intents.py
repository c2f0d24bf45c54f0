"""`GET /api/orders/intents/<intent_id>` (rules 2.4.3): the engine's answer to one order, after the caller stopped waiting."""

from quart import Request
from quart.wrappers import Response

from onebroker.actors.engine.intake import request_fields
from onebroker.actors.engine.shown.stored_parents import KeptAnswer, Unreadable, Waiting, kept_answer
from onebroker.config.messages import orders as texts
from onebroker.config.refusal import Refusal
from onebroker.http import render
from onebroker.http.answers import place as answers
from onebroker.http.route import Answer, Parameter, Route, failure
from onebroker.http.services import Services


async def intent(request: Request, services: Services) -> Response:
    """Reading the answer does not use it up; it is kept for `answer_keep_seconds` (order-engine 5.3)."""
    orders = services.required_orders()
    intent_id = request_fields.uuid_text((request.view_args or {})["intent_id"], texts.INTENT_ID)
    keep_seconds = orders.settings.answer_keep_seconds
    waits = orders.intent_waits(intent_id)  # before the store is asked: the engine may take it up meanwhile
    try:
        found = await kept_answer(orders.store, intent_id, now=services.clock.epoch(), keep_seconds=keep_seconds)
    except Unreadable as error:
        raise Refusal(503, texts.KEPT_ANSWER_UNREADABLE) from error
    match found:
        case KeptAnswer():
            return render.json_answer({"intent_id": intent_id, "status": found.status, "response": found.response})
        case Waiting():
            return _waiting(intent_id)
        case None if waits:
            return _waiting(intent_id)
        case None:
            raise Refusal(404, texts.NO_ANSWER_KEPT)


def _waiting(intent_id: str) -> Response:
    return render.json_answer({"intent_id": intent_id, "state": "waiting"}, 202)


ROUTES = (
    Route(
        method="GET",
        path="/api/orders/intents/<intent_id>",
        handler=intent,
        tag="orders",
        operation_id="get_intent",
        summary="The engine's answer to one order",
        parameters=(
            Parameter(
                name="intent_id",
                place="path",
                required=True,
                schema={"type": "string", "format": "uuid"},
                doc="UUID, from the answer of place.",
            ),
        ),
        answers=(
            Answer(
                status=200,
                doc="`{intent_id, status, response}`: what place answered, or would have.",
                type=answers.KeptAnswer,
                example=answers.KEPT_EXAMPLE,
            ),
            Answer(
                status=202,
                doc="`{intent_id, state: waiting}`: it waits for the engine, or was taken up and is not answered yet.",
                type=answers.WaitingIntent,
                example=answers.WAITING_EXAMPLE,
            ),
            failure(400, texts.INTENT_ID),
            failure(404, texts.NO_ANSWER_KEPT),
            failure(503, "Redis could not be read, or what is kept cannot.", texts.KEPT_ANSWER_UNREADABLE),
        ),
    ),
)
