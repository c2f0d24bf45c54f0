"""`POST /api/orders/close` (ours): cancel and close within limits, as a flatten does for everything (rules 2.10.6; order-engine 5.7)."""

from quart import Request
from quart.wrappers import Response

from onebroker.actors.engine.context.messages import EngineAnswer
from onebroker.actors.engine.desk.messages import Flatten
from onebroker.actors.engine.intake import request_fields
from onebroker.actors.engine.intake.desk_fields import (
    CLOSE_WORD,
    PRODUCT_CHOICES,
    check_close_word,
    close_limits,
)
from onebroker.actors.kernel.mailbox import Reply
from onebroker.config.messages import instruments as instrument_texts
from onebroker.config.messages import order_changes as texts
from onebroker.config.messages import orders as order_texts
from onebroker.http import parse, render
from onebroker.http.answers import stopping as answers
from onebroker.http.answers.shared import SHARE
from onebroker.http.bodies import body_keys
from onebroker.http.orders.desk_requests import FLATTEN_SECONDS, LATE, ask_desk
from onebroker.http.orders.dry_run_flag import DRY_RUN
from onebroker.http.route import Answer, Parameter, Route, failure
from onebroker.http.routes.orders_flatten import DRY_RUN_FIELD, SKIP_COVERED
from onebroker.http.services import Services

_ID = str(SHARE["instrument_id"])


async def close(request: Request, services: Services) -> Response:
    orders = services.required_orders()
    body = await parse.body_object(request, order_texts.BODY_OBJECT)
    routed = services.clock.monotonic()
    parse.refuse_repeats(request, DRY_RUN)
    body_keys.check_query(request.args, CLOSE)
    body_keys.check_body(body, CLOSE, "a close")
    check_close_word(body)
    limits = close_limits(body, orders.brokers)
    skip_covered = request_fields.flag(body, SKIP_COVERED.name)
    request_fields.check_dry_run(body)
    asked = parse.flag(request.args, DRY_RUN)
    dry_run = bool(body.get("dry_run")) or bool(asked)

    def make(reply: Reply[EngineAnswer]) -> Flatten:
        return Flatten(limits=limits, skip_covered=skip_covered, dry_run=dry_run, routed=routed, reply=reply)

    answer = await ask_desk(orders, make, {}, dry_run=dry_run, beside_seconds=FLATTEN_SECONDS)
    return render.json_answer(answer.body, answer.status)


ROUTES = (
    Route(
        method="POST",
        path="/api/orders/close",
        handler=close,
        tag="orders",
        operation_id="close_positions",
        examples={
            "an instrument at every broker": {"confirm": CLOSE_WORD, "instrument_id": _ID, "product": "MIS"},
            "a broker, dry run": {"confirm": CLOSE_WORD, "broker": "zerodha", "dry_run": True},
        },
        summary="Cancel the orders and close the positions of a broker, an instrument, a product or a tag, at every broker that holds them",
        only_these_keys=True,
        parameters=(
            DRY_RUN,
            Parameter(name="confirm", place="body", required=True, choices=(CLOSE_WORD,), doc=f"Exactly {CLOSE_WORD}."),
            Parameter(name="broker", place="body", doc="Broker code. At least one limit is needed; all must match."),
            Parameter(name="instrument_id", place="body", doc="The instrument, at every broker that lists it."),
            Parameter(
                name="product",
                place="body",
                choices=PRODUCT_CHOICES,
                doc="An order's or a position's word, in any case.",
            ),
            Parameter(
                name="tag",
                place="body",
                pattern="^[A-Za-z0-9]{1,20}$",
                doc="Orders with this tag, and the units that today's orders with it opened.",
            ),
            SKIP_COVERED,
            DRY_RUN_FIELD,
        ),
        answers=(
            Answer(
                status=200,
                doc="All of it is closed, there was nothing to do, or a dry run.",
                type=answers.ClosedWithin,
                example=answers.CLOSED_EXAMPLE,
            ),
            Answer(status=200, doc="A dry run.", type=answers.CloseDryRun, example=answers.CLOSE_DRY_RUN_EXAMPLE),
            Answer(
                status=207,
                doc="`flat` is false, for the reasons of a flatten.",
                type=answers.ClosedWithin,
                example=answers.NOT_CLOSED_EXAMPLE,
            ),
            failure(
                400,
                f"{texts.CONFIRM_CLOSE} / {texts.CLOSE_WHAT} / {order_texts.must_be_one_of('broker', ['<codes>'])} / "
                f"{order_texts.UUID} / {order_texts.must_be_one_of('product', PRODUCT_CHOICES)} / {order_texts.TAG} / "
                f"{order_texts.true_or_false(SKIP_COVERED.name)} / {order_texts.BODY_OBJECT}",
                texts.CONFIRM_CLOSE,
            ),
            failure(404, "The instrument is not mapped.", instrument_texts.not_mapped(_ID, "2026-11-25")),
            failure(
                503, "Redis could not be read; nothing was sent.", order_texts.redis_unreadable("the store is away")
            ),
            failure(504, "No answer in time; it goes on all the same.", *LATE, outcome="unknown"),
        ),
    ),
)
CLOSE = ROUTES[0]
