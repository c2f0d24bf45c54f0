"""`DELETE /api/orders/cancel` by order_id (spec 2 §4.5)."""

import re
from typing import Any

from quart import Request
from quart.wrappers import Response

from onebroker.actors.engine.desk import CancelOrder
from onebroker.actors.engine.messages import EngineAnswer
from onebroker.actors.kernel.mailbox import Reply
from onebroker.config.messages import orders as texts
from onebroker.config.refusal import Refusal
from onebroker.http import parse, render
from onebroker.http.route import Answer, Parameter, Route
from onebroker.http.services import Services

_ORDER_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_FLAGS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
ASK_SECONDS = 15.0
"""Longer than a cancel can take: room 5 s, the broker 4 s, and the hand-over."""


async def cancel(request: Request, services: Services) -> Response:
    orders = services.required_orders()
    routed = services.clock.monotonic()
    body = await parse.optional_body_object(request, texts.BODY_OBJECT)
    given = {**request.args.to_dict(), **body}  # the body wins
    for name in ("orders", "parent_id"):
        if name in given:
            raise Refusal(400, texts.not_served(f"a cancel by {name}"))
    order_id = read_order_id(given)
    broker = read_broker(given, orders.brokers)
    dry_run = read_dry_run(given)

    def ask(reply: Reply[EngineAnswer]) -> CancelOrder:
        return CancelOrder(order_id=order_id, broker=broker, dry_run=dry_run, routed=routed, reply=reply)

    answer = await orders.desk.ask(ask, ASK_SECONDS)
    return render.json_answer(answer.body, answer.status)


def read_order_id(given: dict[str, Any]) -> str:
    """Return the order id; a JSON integer is accepted, a boolean is not."""
    value = given.get("order_id")
    if value is None or value == "":
        raise Refusal(400, texts.ORDER_ID_REQUIRED)
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(text, str) or _ORDER_ID.fullmatch(text) is None:
        raise Refusal(400, texts.ORDER_ID_FORM)
    return text


def read_broker(given: dict[str, Any], brokers: tuple[str, ...]) -> str | None:
    value = given.get("broker")
    if value is None:
        return None
    code = value.strip().lower() if isinstance(value, str) else ""
    if code not in brokers:
        raise Refusal(400, texts.must_be_one_of("broker", brokers))
    return code


def read_dry_run(given: dict[str, Any]) -> bool:
    """Return the flag: a JSON boolean in a body, its words in a query."""
    value = given.get("dry_run", False)
    flag = _FLAGS.get(value.strip().lower()) if isinstance(value, str) else value
    if not isinstance(flag, bool):
        raise Refusal(400, texts.true_or_false("dry_run"))
    return flag


ROUTES = (
    Route(
        method="DELETE",
        path="/api/orders/cancel",
        handler=cancel,
        tag="orders",
        summary="Cancel one order by the broker's own id",
        parameters=(
            Parameter(name="order_id", place="query", required=True, doc="The broker's order id; also in a JSON body."),
            Parameter(name="broker", place="query", doc="Broker code; needed only when two brokers hold the id."),
            Parameter(name="dry_run", place="query", kind="boolean", doc="Build the request and send nothing."),
        ),
        answers=(
            Answer(status=200, doc="Accepted by the broker, or a dry run."),
            Answer(status=400, doc=texts.ORDER_ID_FORM),
            Answer(status=404, doc=texts.ORDER_NOT_FOUND),
            Answer(status=409, doc="The order has finished, or two brokers hold the id."),
            Answer(status=422, doc="Refused by the broker."),
            Answer(status=503, doc="No login, no rate room, or Redis away: nothing was sent."),
            Answer(status=504, doc="Unknown; the cancel may have been applied."),
        ),
    ),
)
