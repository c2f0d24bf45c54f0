"""HTTP as every dialect's server uses it: the table of routes, refusals, incoming bodies, outgoing JSON and CSV. No broker's words."""

import csv
import io
import re
from collections.abc import Callable, Iterable, Sequence
from urllib.parse import parse_qsl

import attrs
import msgspec

from onebroker.brokers.requests import WireResponse
from onebroker.brokers.simulator.dialects.dialect import DialectRequest

_NOT_FOUND, _NOT_ALLOWED = 404, 405


def _compiled(pattern: str) -> "re.Pattern[str]":
    return re.compile(pattern)


@attrs.frozen
class Route:
    """One method and path of a server."""

    method: str
    pattern: "re.Pattern[str]" = attrs.field(converter=_compiled)
    """Matches the whole path. Its groups are the handler's further arguments."""
    handler: Callable[..., WireResponse]
    is_open: bool = attrs.field(default=False, kw_only=True)
    """Whether the route answers without a login."""


class NoRoute(Exception):
    """No route answers here. `status` is 405 if another method of the path would answer, else 404."""

    def __init__(self, status: int) -> None:
        super().__init__(f"no route: {status}")
        self.status = status


class Refused(Exception):
    """A call that is answered with a refusal, whose bytes are in the broker's words."""

    def __init__(self, answer: WireResponse) -> None:
        super().__init__(answer.status, answer.body)
        self.answer = answer


def answer(routes: Sequence[Route], request: DialectRequest, check: Callable[[DialectRequest], None]) -> WireResponse:
    """Return the answer of the first matching route. If the route needs a login, `check` runs first.

    Raises `NoRoute`, and everything that `check` and the handler raise.
    """
    status = _NOT_FOUND
    for route in routes:
        match = route.pattern.fullmatch(request.path)
        if match is None:
            continue
        status = _NOT_ALLOWED
        if route.method != request.method:
            continue
        if not route.is_open:
            check(request)
        return route.handler(request, *match.groups())
    raise NoRoute(status)


def form_of(request: DialectRequest) -> dict[str, str]:
    """Return the fields of a form body. The last value of a repeated name counts."""
    return dict(parse_qsl(request.body.decode("utf-8", "replace"), keep_blank_values=True))


def as_json(status: int, body: object) -> WireResponse:
    """Return an answer whose body is JSON."""
    return WireResponse(status=status, headers={"content-type": "application/json"}, body=msgspec.json.encode(body))


def as_csv(body: bytes) -> WireResponse:
    """Return an answer whose body is a CSV file."""
    return WireResponse(status=200, headers={"content-type": "text/csv"}, body=body)


def csv_file(header: Sequence[str] | None, rows: Iterable[Sequence[object]]) -> bytes:
    """Return a CSV file; None = a file without a header. Lines end with a line feed."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if header is not None:
        writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue().encode()
