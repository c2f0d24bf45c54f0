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
from onebroker.http.bodies import body_keys
from onebroker.http.orders.desk_requests import HALT_SECONDS, ask_desk
from onebroker.http.route import Answer, Parameter, Route
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
        summary="Halt trading: no entry leaves until a resume",
        only_these_keys=True,
        parameters=(
            Parameter(name="confirm", place="body", required=True, doc=f"Exactly {HALT_WORD}."),
            Parameter(
                name="mode",
                place="body",
                doc=f"{HaltMode.REDUCE_ONLY} (default): exits and cancels leave. {HaltMode.NOTHING}: only cancels leave.",
            ),
            Parameter(
                name="reason", place="body", required=True, doc=f"1 to {MOST_REASON} characters; refusals repeat it."
            ),
        ),
        answers=(
            Answer(
                status=200,
                doc="`{halted, mode, reason, since, entries_under_way}`: trading is halted, and the halt is stored. "
                "`entries_under_way` is true when a message that was leaving at that moment has not been answered in time.",
            ),
            Answer(
                status=400,
                doc=f"{texts.CONFIRM} / {order_texts.must_be_one_of('mode', HaltMode)} / {shared.is_required('reason')} / "
                f"{texts.reason_length(MOST_REASON)} / {order_texts.BODY_OBJECT}",
            ),
            Answer(status=503, doc=texts.not_stored("<error>")),
            Answer(status=504, doc="No answer in time; trading may be halted (`outcome`)."),
        ),
    ),
    Route(
        method="DELETE",
        path=PATH,
        handler=resume,
        tag="orders",
        summary="Let trading go on after a halt",
        answers=(
            Answer(status=200, doc="`{halted: false}`"),
            Answer(status=400, doc=order_texts.takes_no("a resume", "<name>")),
            Answer(status=409, doc=texts.NOT_HALTED),
            Answer(status=503, doc=f"{texts.not_resumed('<error>')} / {texts.NOT_KNOWN}"),
            Answer(status=504, doc="No answer in time; trading may go on (`outcome`)."),
        ),
    ),
    Route(
        method="GET",
        path=PATH,
        handler=present_halt,
        tag="orders",
        summary="Whether trading is halted",
        answers=(
            Answer(status=200, doc="`{halted: false}`, or `{halted, mode, reason, since}`"),
            Answer(status=503, doc=texts.NOT_KNOWN),
        ),
    ),
)
HALT, RESUME, PRESENT = ROUTES
