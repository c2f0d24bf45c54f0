"""`POST | DELETE | GET /api/orders/halt`: stop trading by hand, let it go on, and tell whether it is halted (order-engine 4.10)."""

from quart import Request
from quart.wrappers import Response

from onebroker.actors.engine.context.messages import EngineAnswer
from onebroker.actors.engine.desk.halts import halt_body
from onebroker.actors.engine.desk.messages import HaltTrading, ResumeTrading
from onebroker.actors.engine.intake.desk_fields import (
    HALT_WORD,
    MOST_REASON,
    check_halt_word,
    halt_mode,
    halt_reason,
)
from onebroker.actors.kernel.mailbox import Reply
from onebroker.actors.store.durable import HaltMode
from onebroker.config.messages import halts as texts
from onebroker.config.messages import orders as order_texts
from onebroker.config.messages import shared
from onebroker.config.refusal import Refusal
from onebroker.http import parse, render
from onebroker.http.answers import stopping as answers
from onebroker.http.bodies import body_keys
from onebroker.http.orders.desk_requests import HALT_SECONDS, LATE, ask_desk
from onebroker.http.route import Answer, Parameter, Route, failure
from onebroker.http.services import Services

PATH = "/api/orders/halt"


async def halt(request: Request, services: Services) -> Response:
    orders = services.required_orders()
    body = await parse.body_object(request, order_texts.BODY_OBJECT)
    body_keys.check_query(request.args, HALT)
    body_keys.check_body(body, HALT, "a halt")
    check_halt_word(body)
    mode, reason = halt_mode(body), halt_reason(body)

    def make(reply: Reply[EngineAnswer]) -> HaltTrading:
        return HaltTrading(mode=mode, reason=reason, reply=reply)

    answer = await ask_desk(orders, make, {}, dry_run=False, beside_seconds=HALT_SECONDS)
    return render.json_answer(answer.body, answer.status)


async def resume(request: Request, services: Services) -> Response:
    orders = services.required_orders()
    body = await parse.optional_body_object(request, order_texts.BODY_OBJECT)
    body_keys.check_query(request.args, RESUME)
    body_keys.check_body(body, RESUME, "a resume")

    def make(reply: Reply[EngineAnswer]) -> ResumeTrading:
        return ResumeTrading(reply=reply)

    answer = await ask_desk(orders, make, {}, dry_run=False, beside_seconds=HALT_SECONDS)
    return render.json_answer(answer.body, answer.status)


async def present_halt(request: Request, services: Services) -> Response:
    published = services.required_orders().halt
    body_keys.check_query(request.args, PRESENT)
    if published.version == 0:
        raise Refusal(503, texts.NOT_KNOWN)
    return render.json_answer(halt_body(published.value))


ROUTES = (
    Route(
        method="POST",
        path=PATH,
        handler=halt,
        tag="orders",
        operation_id="halt_trading",
        examples={"exits only": {"confirm": HALT_WORD, "reason": "the feed shows wrong prices"}},
        summary="Halt trading: no entry leaves until a resume",
        only_these_keys=True,
        parameters=(
            Parameter(name="confirm", place="body", required=True, choices=(HALT_WORD,), doc=f"Exactly {HALT_WORD}."),
            Parameter(
                name="mode",
                place="body",
                choices=tuple(HaltMode),
                doc=f"{HaltMode.REDUCE_ONLY} (default): exits and cancels leave. {HaltMode.NOTHING}: only cancels leave.",
            ),
            Parameter(
                name="reason",
                place="body",
                required=True,
                pattern=rf"^\s*\S([\s\S]{{0,{MOST_REASON - 2}}}\S)?\s*$",
                doc=f"1 to {MOST_REASON} characters; refusals repeat it.",
            ),
        ),
        answers=(
            Answer(
                status=200,
                doc="`{halted, mode, reason, since, entries_under_way}`: trading is halted, and the halt is stored. "
                "`entries_under_way` is true when a message that was leaving at that moment has not been answered in time.",
                type=answers.Halted,
                example=answers.HALTED_EXAMPLE,
            ),
            failure(
                400,
                f"{texts.CONFIRM} / {order_texts.must_be_one_of('mode', HaltMode)} / {shared.is_required('reason')} / "
                f"{texts.reason_length(MOST_REASON)} / {order_texts.BODY_OBJECT}",
                texts.CONFIRM,
            ),
            failure(503, texts.not_stored("<error>"), texts.not_stored("disk I/O error")),
            failure(504, "No answer in time; trading may be halted (`outcome`).", *LATE, outcome="unknown"),
        ),
    ),
    Route(
        method="DELETE",
        path=PATH,
        handler=resume,
        tag="orders",
        operation_id="resume_trading",
        summary="Let trading go on after a halt",
        answers=(
            Answer(status=200, doc="`{halted: false}`", type=answers.Resumed, example=answers.RESUMED_EXAMPLE),
            failure(400, order_texts.takes_no("a resume", "<name>"), order_texts.takes_no("a resume", "mode")),
            failure(409, texts.NOT_HALTED),
            failure(503, f"{texts.not_resumed('<error>')} / {texts.NOT_KNOWN}", texts.NOT_KNOWN),
            failure(504, "No answer in time; trading may go on (`outcome`).", *LATE, outcome="unknown"),
        ),
    ),
    Route(
        method="GET",
        path=PATH,
        handler=present_halt,
        tag="orders",
        operation_id="get_halt",
        summary="Whether trading is halted",
        answers=(
            Answer(
                status=200,
                doc="`{halted: false}`, or `{halted, mode, reason, since}`",
                type=answers.HaltState,
                example=answers.STATE_EXAMPLE,
            ),
            failure(400, order_texts.takes_no("the query", "<name>"), order_texts.takes_no("the query", "mode")),
            failure(503, texts.NOT_KNOWN),
        ),
    ),
)
HALT, RESUME, PRESENT = ROUTES
