"""The login of a broker in a browser: `POST /api/brokers/<code>/login` answers the broker's page, and `GET /login/<code>` is the address to which
the broker sends the person back. Ours (rules 1.10.7)."""

from datetime import timedelta
from functools import partial
from html import escape

from quart import Request
from quart.wrappers import Response

from onebroker.actors.engine.context.engine_context import SessionHandle
from onebroker.actors.kernel.mailbox import ActorNotRunning, AskTimedOut, Reply
from onebroker.actors.sessions.messages import ExchangeRedirect
from onebroker.actors.store import keys
from onebroker.brokers.broker import Login, LoginKind
from onebroker.brokers.requests import BrokerError
from onebroker.config.clock import from_epoch, local_text
from onebroker.config.messages import broker_login as sentences
from onebroker.config.messages import shared
from onebroker.config.refusal import Refusal
from onebroker.http import refusals, render
from onebroker.http.answers import broker_login as answers
from onebroker.http.login_windows import WINDOW_SECONDS, new_state
from onebroker.http.route import Answer, Parameter, Route, TokenRule, failure
from onebroker.http.services import LoginServices, Services

ASK_SECONDS = 30.0
"""How long a broker may take for a login."""
CONTENT_SECURITY_POLICY = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

CODE = Parameter(name="code", place="path", required=True, doc="Code of a broker in service, such as `zerodha`.")


async def ask_page(request: Request, services: Services) -> Response:
    """Answer the broker's page and open its window; a broker that needs no person logs in now."""
    logins, code = services.required_logins(), _code(request)
    service = logins.brokers.get(code)
    if service is None:
        raise Refusal(404, sentences.broker_must_be_one_of(logins.brokers))
    if service.broker.login_kind is LoginKind.UNATTENDED:
        login = await _exchanged(logins, code, "")
        made = {"user_id": login.user_id, "expires_at": local_text(from_epoch(login.expires_at))}
        return render.json_answer({"broker": code, "page": None, "redirect": None, "closes_at": None, "login": made})
    if not service.broker.login_repeats_state and await logins.store.get(keys.broker_login(code)) is None:
        raise Refusal(409, sentences.first_login_by_command(code))
    state = new_state() if service.broker.login_repeats_state else ""
    logins.windows.open(code, state, services.clock.monotonic())
    closes_at = services.clock.now() + timedelta(seconds=WINDOW_SECONDS)
    page = service.broker.login.login_page(service.access, state)
    return render.json_answer(
        {"broker": code, "page": page, "redirect": f"/login/{code}", "closes_at": local_text(closes_at), "login": None}
    )


async def take_redirect(request: Request, services: Services) -> Response:
    """Take the address to which the broker sent a browser. It is open to everybody, so it tells nothing of what there is."""
    logins, code = services.required_logins(), _code(request)
    # Programs that preview a link send HEAD; the code in the address works once, and is the person's.
    if request.method == "HEAD" or not logins.windows.take(code, request.url, services.clock.monotonic()):
        return _page(404, sentences.NOT_OPEN)
    try:
        await _exchanged(logins, code, request.url)
    except (Refusal, ActorNotRunning, AskTimedOut) as error:
        refusal = refusals.refusal_of(error)
        return _page(refusal.status, refusal.sentence)
    return _page(200, sentences.DONE)


async def _exchanged(logins: LoginServices, code: str, redirect: str) -> Login:
    session: SessionHandle = logins.sessions[code]
    try:
        return await session.address.ask(partial(_exchange, redirect), ASK_SECONDS)
    except (BrokerError, ValueError) as error:
        raise Refusal(502, sentences.login_failed(code, str(error))) from error


def _exchange(redirect: str, reply: Reply[Login]) -> ExchangeRedirect:
    return ExchangeRedirect(redirect=redirect, reply=reply)


def _code(request: Request) -> str:
    return str((request.view_args or {})["code"])


def _page(status: int, sentence: str) -> Response:
    text = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>onebroker</title><p>{escape(sentence)}</p></html>'
    )
    answer = render.plain_answer(text.encode(), "text/html; charset=utf-8")
    answer.status_code = status
    answer.headers["Content-Security-Policy"] = CONTENT_SECURITY_POLICY
    # The address holds the broker's code.
    answer.headers["Referrer-Policy"] = "no-referrer"
    return answer


_HTML = "<!doctype html><html lang=en><title>onebroker</title><p>"

ROUTES = (
    Route(
        method="POST",
        path="/api/brokers/<code>/login",
        handler=ask_page,
        tag="session",
        operation_id="log_in_broker",
        summary="The page at which a person logs in to a broker",
        parameters=(CODE,),
        answers=(
            Answer(
                status=200,
                doc="The page, which brings its login back within five minutes; or the login, of a broker that needs no person",
                type=answers.BrokerLogin,
                example=answers.PAGE_EXAMPLE,
            ),
            Answer(status=200, doc="", type=answers.BrokerLogin, example=answers.LOGIN_EXAMPLE),
            failure(
                404, "broker must be one of <brokers in service>", sentences.broker_must_be_one_of(("zerodha", "dhan"))
            ),
            failure(
                409, "the first login of <broker> must be made by ...", sentences.first_login_by_command("icicidirect")
            ),
            failure(502, "the login of <broker> failed: <reason>", sentences.login_failed("dhan", "wrong PIN")),
            failure(503, shared.not_running("the session of <broker>")),
            failure(504, shared.late("the session of <broker> did not answer in time")),
        ),
    ),
    Route(
        method="GET",
        path="/login/<code>",
        handler=take_redirect,
        token=TokenRule.OPEN,
        tag="session",
        operation_id="take_login",
        summary="Where a broker sends a person back who has logged in",
        parameters=(CODE,),
        answers=tuple(
            Answer(status=status, doc=doc, content_type="text/html", type=str, example=f"{_HTML}{example}</p></html>")
            for status, doc, example in (
                (200, "The service has the login.", sentences.DONE),
                (404, "No window is open for this address, or it is not that of the login.", sentences.NOT_OPEN),
                (502, "The broker refused the login, or it is of another account.", "the login of zerodha failed: ..."),
                (503, "The session of the broker is not running.", shared.not_running("the session of zerodha")),
                (
                    504,
                    "The session of the broker did not answer in time.",
                    "the session of zerodha did not answer in time",
                ),
            )
        ),
    ),
)
