"""Problems with the brokers' logins: no login, no new login this morning, or an address from which a broker takes no orders."""

from collections.abc import Iterator, Mapping

from onebroker.actors.engine.context.engine_context import SessionHandle
from onebroker.actors.health.problem import Problem, ProblemKind
from onebroker.actors.sessions.session_view import LoginState, SessionView
from onebroker.brokers.broker import Broker, LoginKind

REPAIR_SECONDS = 3.0
"""A login that repairs itself sooner is no problem."""


def login_problems(sessions: Mapping[str, SessionHandle], now: float) -> Iterator[Problem]:
    """Yield the problems of every login. `now` in epoch seconds."""
    for code, handle in sessions.items():
        view = handle.view.value
        if view.live:
            yield from _of_living(code, view)
        elif not _in_repair(view, now):
            yield Problem(
                kind=ProblemKind.LOGIN,
                broker=code,
                what=f"{code} has no login: {view.trouble or 'it is being made'}",
                do=_advice(handle.broker, view),
                since=view.login_since,
            )


def _in_repair(view: SessionView, now: float) -> bool:
    since = now if view.login_since is None else view.login_since
    return view.login is LoginState.REPAIRING and now - since < REPAIR_SECONDS


def _advice(broker: Broker, view: SessionView) -> str:
    if broker.login_kind is LoginKind.ASSISTED:
        return f"onebroker login {broker.code}"
    keys = f"{', '.join(sorted(broker.all_credential_keys))} of [brokers.{broker.code}] in the settings"
    if view.login is LoginState.NEEDED:
        return f"correct {keys} and start the service again; `onebroker login {broker.code}` tries again with the present settings"
    return f"nothing, the login is tried again; if it stays, check {keys}"


def _of_living(code: str, view: SessionView) -> Iterator[Problem]:
    if view.trouble is None:
        return
    if view.address_refused:
        subject, do = (
            "address",
            f"register the address that `onebroker check {code}` shows with the broker (docs/first-broker/)",
        )
    else:
        subject, do = "morning", f"onebroker login {code}, before the present login ends"
    yield Problem(kind=ProblemKind.LOGIN, broker=code, subject=subject, what=f"{code}: {view.trouble}", do=do)
