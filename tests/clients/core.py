"""Plays the generators of the client's core: `play(steps, ...)` sends the given results in and keeps what was asked for."""

from collections.abc import Generator, Mapping
from decimal import Decimal
from typing import Any

import msgspec
from onebroker_client.exchange import Access, Now, Send, Sleep
from onebroker_client.http_messages import HttpAnswer, HttpRequest, Lost, NotSent
from onebroker_client.reading import Reader

JSON = "application/json"
TOKEN = "6f1a52c0"


def access(*, decimals: bool = False, token: str | None = TOKEN, key: bool = True) -> Access:
    reader = Reader(Decimal if decimals else float)
    names = ("demo-key", "demo-secret") if key else (None, None)
    return Access(reader, *names, token, make_tag=lambda: "TAGTAGTAGTAGTAGTAG01")


def answer(status: int, body: object = None) -> HttpAnswer:
    return HttpAnswer(status, JSON, body if isinstance(body, bytes) else msgspec.json.encode(body))


def connected(token: str) -> HttpAnswer:
    return answer(200, {"access-token": token, "expires_at": "2026-11-28 07:00:00.000000"})


NOT_SENT = NotSent("refused")
LOST = Lost("closed")


class Played:
    """What came of a generator, and everything that it asked for."""

    def __init__(self) -> None:
        self.requests: list[HttpRequest] = []
        self.pauses: list[float] = []
        self.value: Any = None
        self.error: Exception | None = None

    @property
    def sent(self) -> list[str]:
        return [f"{request.method} {request.target}" for request in self.requests]

    def body(self, number: int = 0) -> Any:
        return msgspec.json.decode(self.requests[number].body or b"null")


def play(
    steps: Generator[Any, Any, Any], *results: HttpAnswer | Exception, routes: Mapping[str, Any] | None = None
) -> Played:
    """Answer each Send with the next result, or by its target's row of `routes`. The clock goes on with the pauses alone."""
    played, waiting, time = Played(), list(results), 0.0
    result: Any = None
    try:
        step = next(steps)
        while True:
            if isinstance(step, Sleep):
                played.pauses.append(step.seconds)
                time, result = time + step.seconds, None
            elif isinstance(step, Now):
                result = time
            else:
                assert isinstance(step, Send)
                played.requests.append(step.request)
                result = _next(step.request, waiting, routes)
            step = steps.throw(result) if isinstance(result, Exception) else steps.send(result)
    except StopIteration as stop:
        played.value = stop.value
    except (AssertionError, IndexError):
        raise
    except Exception as error:  # noqa: BLE001 — it is what the test looks at
        played.error = error
    assert waiting == [], "not every answer was asked for"
    return played


def _next(request: HttpRequest, waiting: list[Any], routes: Mapping[str, Any] | None) -> Any:
    if routes is None:
        return waiting.pop(0)
    found = routes[request.target.partition("?")[0]]
    return found(request) if callable(found) else found
