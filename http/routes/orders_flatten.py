"""`POST /api/orders/flatten`: cancel every order and close every position, everywhere (rules 2.4.7; order-engine 5.7)."""

from quart import Request
from quart.wrappers import Response

from onebroker.actors.engine.context.messages import EngineAnswer
from onebroker.actors.engine.desk.messages import Flatten
from onebroker.actors.engine.intake import request_fields
from onebroker.actors.engine.intake.desk_fields import FLATTEN_WORD, check_flatten_word
from onebroker.actors.kernel.mailbox import Reply
from onebroker.config.messages import order_changes as texts
from onebroker.config.messages import orders as order_texts
from onebroker.http import parse, render
from onebroker.http.answers import stopping as answers
from onebroker.http.bodies import body_keys
from onebroker.http.orders.desk_requests import FLATTEN_SECONDS, LATE, ask_desk
from onebroker.http.orders.dry_run_flag import DRY_RUN
from onebroker.http.route import Answer, Parameter, Route, failure
from onebroker.http.services import Services


async def flatten(request: Request, services: Services) -> Response:
    orders = services.required_orders()
    body = await parse.body_object(request, order_texts.BODY_OBJECT)
    routed = services.clock.monotonic()
    parse.refuse_repeats(request, DRY_RUN)
    body_keys.check_query(request.args, FLATTEN)
    body_keys.check_body(body, FLATTEN, "a flatten")
    check_flatten_word(body)
    skip_covered = request_fields.flag(body, SKIP_COVERED.name)
    request_fields.check_dry_run(body)
    # Any non-empty value in the body counts. A caller who asks for a dry run in the query also gets one.
    asked = parse.flag(request.args, DRY_RUN)
    dry_run = bool(body.get("dry_run")) or bool(asked)

    def make(reply: Reply[EngineAnswer]) -> Flatten:
        return Flatten(skip_covered=skip_covered, dry_run=dry_run, routed=routed, reply=reply)

    answer = await ask_desk(orders, make, {}, dry_run=dry_run, beside_seconds=FLATTEN_SECONDS)
    return render.json_answer(answer.body, answer.status)


SKIP_COVERED = Parameter(
    name="skip_covered",
    place="body",
    kind="boolean",
    doc="(ours) Leave delivery positions below zero as they are where the holdings cover them: they are sales out of the holdings.",
)
DRY_RUN_FIELD = Parameter(
    name="dry_run",
    place="body",
    kind="boolean",
    null_is_absent=False,
    doc="List what would be cancelled and closed, and send nothing; any non-empty value counts.",
)
ROUTES = (
    Route(
        method="POST",
        path="/api/orders/flatten",
        handler=flatten,
        tag="orders",
        operation_id="flatten",
        examples={"dry run": {"confirm": FLATTEN_WORD, "dry_run": True}, "now": {"confirm": FLATTEN_WORD}},
        summary="Cancel every order and close every position at every broker",
        only_these_keys=True,
        parameters=(
            DRY_RUN,
            Parameter(
                name="confirm", place="body", required=True, choices=(FLATTEN_WORD,), doc=f"Exactly {FLATTEN_WORD}."
            ),
            SKIP_COVERED,
            DRY_RUN_FIELD,
        ),
        answers=(
            Answer(
                status=200,
                doc="All is flat, nothing was to be done, or a dry run.",
                type=answers.Flattened,
                example=answers.FLAT_EXAMPLE,
            ),
            Answer(status=200, doc="A dry run.", type=answers.FlattenDryRun, example=answers.DRY_RUN_EXAMPLE),
            Answer(
                status=207,
                doc="`flat` is false: a cancel or a close failed, a broker could not be read, or orders of ours "
                "stand under `not_shown_after_waiting`: they may still fill, and are cancelled when their brokers show them. "
                "`positions_not_readable` says of which brokers some position rows could not be read; the others are closed. "
                "`positions_doubted` says of which positions row and fills do not agree.",
                type=answers.Flattened,
                example=answers.NOT_FLAT_EXAMPLE,
            ),
            failure(400, f"{texts.CONFIRM} / {order_texts.BODY_OBJECT}", texts.CONFIRM),
            failure(
                503, "Redis could not be read; nothing was sent.", order_texts.redis_unreadable("the store is away")
            ),
            failure(504, "No answer in time; it goes on all the same.", *LATE, outcome="unknown"),
        ),
    ),
)
FLATTEN = ROUTES[0]
