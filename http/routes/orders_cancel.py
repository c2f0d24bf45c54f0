"""`DELETE /api/orders/cancel` by order_id (spec 2 §4.5)."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from quart import Request
from quart.wrappers import Response

from onebroker.actors.engine.desk import CancelOrder
from onebroker.actors.engine.messages import EngineAnswer
from onebroker.actors.kernel.mailbox import ActorNotRunning, AskTimedOut, Reply
from onebroker.config.messages import orders as texts
from onebroker.config.messages import shared
from onebroker.config.refusal import Refusal
from onebroker.config.vocabulary import Outcome
from onebroker.http import order_fields, parse, render
from onebroker.http.route import Answer, Parameter, Route
from onebroker.http.services import OrderServices, Services

_ORDER_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
BESIDE_BROKER_SECONDS = 11.0
"""What a cancel may take beside the broker's own time: room 5 s, and the hand-over from desk to parent to session."""
_ORDER_ID_QUERY = Parameter(
    name="order_id", place="query", doc="The broker's order id; required here or in a JSON body, which wins."
)
_BROKER_QUERY = Parameter(name="broker", place="query", doc="Broker code; needed only when two brokers hold the id.")
_UNSERVED = ("orders", "parent_id", "part")


async def cancel(request: Request, services: Services) -> Response:
    orders = services.required_orders()
    body = await parse.optional_body_object(request, texts.BODY_OBJECT)
    routed = services.clock.monotonic()  # a body may take its time to arrive, which is not ours
    parse.refuse_repeats(request, _ORDER_ID_QUERY, _BROKER_QUERY, order_fields.DRY_RUN)
    given = {**request.args.to_dict(), **{name: value for name, value in body.items() if value is not None}}
    for name in _UNSERVED:
        if name in given:
            raise Refusal(400, texts.not_served(f"a cancel by {name}"))
    order_id = read_order_id(given)
    broker = order_fields.broker(given.get("broker"), orders.brokers)
    dry_run = order_fields.dry_run(body, request.args)

    def ask(reply: Reply[EngineAnswer]) -> CancelOrder:
        return CancelOrder(order_id=order_id, broker=broker, dry_run=dry_run, routed=routed, reply=reply)

    answer = await _answer(orders, ask, order_id, dry_run=dry_run)
    return render.json_answer(answer.body, answer.status)


async def _answer(
    orders: OrderServices, ask: Callable[[Reply[EngineAnswer]], CancelOrder], order_id: str, *, dry_run: bool
) -> EngineAnswer:
    """Ask the desk. Once the cancel got into its mailbox its outcome is unknown, and the answer says so."""
    unknown = {"order_id": order_id} if dry_run else {"order_id": order_id, "outcome": Outcome.UNKNOWN.value}
    try:
        return await orders.desk.ask(ask, orders.settings.broker_timeout_seconds + BESIDE_BROKER_SECONDS)
    except ActorNotRunning as error:
        if not error.taken:
            raise
        raise Refusal(504, shared.stopped_before_answer(error.name), unknown) from error
    except AskTimedOut as error:
        if not error.queued:
            raise
        raise Refusal(504, shared.late(str(error)), unknown) from error


def read_order_id(given: Mapping[str, Any]) -> str:
    """Return the order id; a JSON integer is accepted, a boolean is not."""
    value = given.get("order_id")
    if value is None or value == "":
        raise Refusal(400, texts.ORDER_ID_REQUIRED)
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(text, str) or _ORDER_ID.fullmatch(text) is None:
        raise Refusal(400, texts.ORDER_ID_FORM)
    return text


ROUTES = (
    Route(
        method="DELETE",
        path="/api/orders/cancel",
        handler=cancel,
        tag="orders",
        summary="Cancel one order by the broker's own id",
        parameters=(
            _ORDER_ID_QUERY,
            _BROKER_QUERY,
            order_fields.DRY_RUN,
            Parameter(
                name="order_id", place="body", doc="1 to 64 letters, digits, hyphens or underscores; or an integer."
            ),
            Parameter(name="broker", place="body", doc="Broker code; needed only when two brokers hold the id."),
            Parameter(name="dry_run", place="body", kind="boolean", doc="Build the request and send nothing."),
        ),
        answers=(
            Answer(status=200, doc="Accepted by the broker, or a dry run."),
            Answer(
                status=400, doc=f"{texts.ORDER_ID_REQUIRED} / {texts.ORDER_ID_FORM} / broker must be one of the codes"
            ),
            Answer(status=404, doc=texts.ORDER_NOT_FOUND),
            Answer(status=409, doc="The order has finished, or two brokers hold the id."),
            Answer(status=422, has_error=False, doc="Refused by the broker."),
            Answer(status=503, doc="No login, no rate room, or Redis away: nothing was sent."),
            Answer(status=504, has_error=False, doc="Unknown (`outcome`); the cancel may have been applied."),
        ),
    ),
)
