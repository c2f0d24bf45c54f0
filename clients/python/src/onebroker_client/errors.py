"""Every exception of the client. `OnebrokerError` is above all of them.

A refusal has the status of the answer, its sentence and its whole body. `OutcomeUnknown` is no refusal: the request may have been done.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class OnebrokerError(Exception):
    """Above every exception of this client."""


class Unreachable(OnebrokerError):
    """No connection to the service was made, so nothing was sent. Also of an order: it was not placed."""


class AnswerLost(OnebrokerError):
    """The connection ended before the answer came, of a request that changes nothing."""


class UnexpectedAnswer(OnebrokerError):
    """A success that is not what the service's document says. The request was done.

    `status`: the HTTP status. `body`: the JSON value, or the bytes where they are no JSON.
    """

    def __init__(self, reason: str, status: int, body: Any) -> None:
        super().__init__(reason)
        self.status = status
        self.body = body


class Refusal(OnebrokerError):
    """The service answered a status of 300 or more: the request was not done, or not as it was asked.

    `status`: the HTTP status. `error`: the sentence of the service. `body`: the decoded JSON object, with `error` and the keys that help.
    """

    def __init__(self, status: int, error: str, body: dict[str, Any]) -> None:
        super().__init__(f"{status}: {error}")
        self.status = status
        self.error = error
        self.body = body


class BadRequest(Refusal):
    """400: the request is wrong."""


class Unauthorized(Refusal):
    """401: the API key, the secret or the token is wrong. The client has connected again once."""


class Forbidden(Refusal):
    """403: trading is halted, or locked by the limit of the day's loss."""


class NotFound(Refusal):
    """404."""


class Conflict(Refusal):
    """409: the order has finished, or another message about it is under way."""


class Rejected(Refusal):
    """422: the order, the change or the cancel was rejected. `body` has `outcome`, `status_message` and what the broker said."""


class TooManyRequests(Refusal):
    """429: a limit of a broker is used up."""


class ServiceFault(Refusal):
    """500 of a read: a fault of the service."""


class NotSupported(Refusal):
    """501: the broker cannot do this."""


class BrokersUnavailable(Refusal):
    """502: no broker could be read."""


class ServiceUnavailable(Refusal):
    """503: not now. A request that changes something was not done."""


class TooLate(Refusal):
    """504 of a request that changes nothing: no answer in time."""


REFUSALS: dict[int, type[Refusal]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    422: Rejected,
    429: TooManyRequests,
    500: ServiceFault,
    501: NotSupported,
    502: BrokersUnavailable,
    503: ServiceUnavailable,
    504: TooLate,
}


class OutcomeUnknown(OnebrokerError):
    """A request that can change something has no answer, or one that leaves its outcome open (500, 502, 504). It may have been done.

    Do not send it again. `settle` finds out what became of it.
    """

    operation: str
    """`place_order`, for example."""
    intent_id: str | None
    """The engine's id of the request. None when the answer is lost: the service gives the id in its answer."""
    parent_id: str | None
    tag: str | None
    """The tag that the client gave to this one order. None where the caller chose the tag, because other orders may have it too."""
    status: int | None
    """500, 502 or 504, or None when the answer is lost."""
    error: str
    body: dict[str, Any]

    def __init__(
        self,
        operation: str,
        error: str,
        *,
        status: int | None = None,
        body: dict[str, Any] | None = None,
        tag: str | None = None,
    ) -> None:
        self.operation = operation
        self.status = status
        self.error = error
        self.body = body or {}
        self.intent_id = _text(self.body.get("intent_id"))
        self.parent_id = _text(self.body.get("parent_id"))
        self.tag = tag
        self._settle: Callable[[OutcomeUnknown, float], Any] | None = None
        super().__init__(f"{operation}: {error}; intent {self.intent_id or 'not known'}")

    def bind(self, settle: Callable[[OutcomeUnknown, float], Any]) -> None:
        """Say how a client follows this request."""
        self._settle = settle

    def settle(self, timeout_seconds: float = 60.0) -> Any:
        """Follow the request until its outcome is known, and return a `Settled`; of an AsyncClient: await it.

        It only reads, so nothing is sent twice. Raises OutcomeUnknown after `timeout_seconds`, and at once where there is nothing to
        follow: neither an intent id, nor a parent, nor a tag of this order alone.
        """
        if self._settle is None:
            raise TypeError("no client has raised this")
        return self._settle(self, timeout_seconds)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
