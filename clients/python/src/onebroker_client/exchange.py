"""The rules of a call, without a socket, a clock or a pause: what is sent, what is sent again, and what is an error.

`call` is a generator. It yields what it needs (`Send`, `Sleep`, `Now`), a client does it and sends the result in, or throws `NotSent` or
`Lost`. So both clients have the same rules.

| What happens | A read, or connect | A request that changes something |
|---|---|---|
| no connection was made | sent again | sent again: nothing had left |
| 401 | connect, sent again once | connect, sent again once: a 401 was not done |
| 503 | sent again | ServiceUnavailable |
| the answer is lost | sent again | OutcomeUnknown |
| 500, 502, 504 | the exception of the status | OutcomeUnknown |

A read by POST (a list of instruments) is not sent again after a 503 or a lost answer.
"""

from __future__ import annotations

import secrets
import string
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, TypeVar

from onebroker_client.answering import FIRST_FAILURE, failure, read_answer
from onebroker_client.building import build
from onebroker_client.errors import AnswerLost, OutcomeUnknown, Unauthorized, Unreachable
from onebroker_client.http_messages import HttpAnswer, HttpRequest, Lost, NotSent
from onebroker_client.operation import Operation
from onebroker_client.operations import OPERATIONS
from onebroker_client.reading import Reader

PAUSES_SECONDS = (0.2, 0.5, 1.0)
"""Before each repetition of one call."""
TOKEN_HEADER = "access-token"
_LETTERS = string.ascii_letters + string.digits
_TAG_LETTERS = 20


@dataclass(frozen=True)
class Send:
    """Send a request; the result is an HttpAnswer."""

    request: HttpRequest


@dataclass(frozen=True)
class Sleep:
    """Wait; the result is None."""

    seconds: float


@dataclass(frozen=True)
class Now:
    """The result is the time in seconds of a clock that only goes on."""


Step: TypeAlias = "Send | Sleep | Now"
S = TypeVar("S")
T = TypeVar("T")
Steps: TypeAlias = Generator[Step, Any, T]


def new_tag() -> str:
    """Return a tag that no other order has."""
    return "".join(secrets.choice(_LETTERS) for _ in range(_TAG_LETTERS))


@dataclass
class Access:
    """The credentials of a client, its token, and how it reads answers."""

    reader: Reader
    api_key: str | None = None
    api_secret: str | None = None
    token: str | None = None
    make_tag: Callable[[], str] = new_tag

    @property
    def has_key(self) -> bool:
        return self.api_key is not None and self.api_secret is not None


def advance(steps: Generator[S, Any, Any], result: Any) -> S:
    """Give a generator the result of its step, or throw in what ended it, and return the next step."""
    return steps.throw(result) if isinstance(result, NotSent | Lost) else steps.send(result)


def call(access: Access, name: str, arguments: Mapping[str, Any]) -> Steps[Any]:
    """Make one call and return its answer. Raises what `onebroker_client.errors` lists, and ValueError for a number that is not finite."""
    operation = OPERATIONS[name]
    arguments, tag = _tagged(access, operation, arguments)
    attempt = _Attempt(operation, changes=operation.changes and not arguments.get("dry_run"), tag=tag)
    request = build(operation, arguments)
    answer = yield from _answered(access, attempt, request)
    if answer.status >= FIRST_FAILURE:
        raise failure(operation, answer, changes=attempt.changes, tag=tag)
    value = read_answer(operation, answer, access.reader)
    if name == "connect":
        access.token = value.access_token
    elif name == "disconnect":
        access.token = None
    return value


def renew(access: Access, used: str | None) -> Steps[None]:
    """Get a token, unless another call has replaced the one that was `used` meanwhile."""
    if access.token is None or access.token == used:
        yield from call(access, "connect", {})


@dataclass
class _Attempt:
    """What a call has left of its repetitions."""

    operation: Operation
    changes: bool
    tag: str | None
    pauses: tuple[float, ...] = PAUSES_SECONDS
    may_renew: bool = True

    def pause(self) -> Sleep | None:
        if not self.pauses:
            return None
        first, *rest = self.pauses
        self.pauses = tuple(rest)
        return Sleep(first)


def _tagged(access: Access, operation: Operation, arguments: Mapping[str, Any]) -> tuple[Mapping[str, Any], str | None]:
    """Give an order without a tag one of its own. By it the order is found when its answer is lost: the service takes no id of the caller's."""
    if operation.name != "place_order" or arguments.get("dry_run") or arguments.get("orders") is not None:
        return arguments, None
    if arguments.get("tag") is not None:
        return arguments, None
    tag = access.make_tag()
    return {**arguments, "tag": tag}, tag


def _answered(access: Access, attempt: _Attempt, request: HttpRequest) -> Steps[HttpAnswer]:
    """Return the answer that counts: after repetitions, and after a new token."""
    operation = attempt.operation
    while True:
        sent = yield from _with_headers(access, operation, request)
        try:
            answer: HttpAnswer = yield Send(sent)
        except NotSent as error:
            if (pause := attempt.pause()) is None:
                raise Unreachable(f"{operation.name} was not sent: {error}") from error
            yield pause
            continue
        except Lost as error:
            pause = attempt.pause() if operation.is_repeatable else None
            if pause is None:
                raise _lost(attempt, error) from error
            yield pause
            continue
        if answer.status == 401 and operation.access == "token" and access.has_key and attempt.may_renew:
            attempt.may_renew = False
            yield from renew(access, sent.headers.get(TOKEN_HEADER))
        elif answer.status == 503 and operation.is_repeatable and (pause := attempt.pause()) is not None:
            yield pause
        else:
            return answer


def _lost(attempt: _Attempt, error: Lost) -> AnswerLost | OutcomeUnknown:
    name = attempt.operation.name
    if attempt.changes:
        return OutcomeUnknown(name, f"the answer is lost: {error}", tag=attempt.tag)
    return AnswerLost(f"the answer to {name} is lost: {error}")


def _with_headers(access: Access, operation: Operation, request: HttpRequest) -> Steps[HttpRequest]:
    if operation.access == "credentials":
        return replace(request, headers={**request.headers, **_credentials(access)})
    if operation.access == "open":
        return request
    if access.token is None:
        yield from renew(access, None)
    return replace(request, headers={**request.headers, TOKEN_HEADER: str(access.token)})


def _credentials(access: Access) -> dict[str, str]:
    if access.api_key is None or access.api_secret is None:
        raise Unauthorized(401, "the client has no token, and no API key and secret to get one", {})
    return {"api-key": access.api_key, "api-secret": access.api_secret}
