"""The parts of a row of the route table. The table itself is `http.route_table`."""

from collections.abc import Awaitable, Callable, Mapping
from enum import Enum
from typing import Literal, TypeAlias

import attrs
from quart import Request
from quart.wrappers import Response

from onebroker.http.services import Services

Handler: TypeAlias = Callable[[Request, Services], Awaitable[Response]]
"""Parses the request, then reads a published value or asks an actor, then renders the answer; raises Refusal."""

Kind: TypeAlias = Literal["string", "integer", "number", "boolean", "date", "array", "object"]
Method: TypeAlias = Literal["GET", "POST", "PUT", "DELETE"]


class TokenRule(Enum):
    """Who may call a route. This is checked before anything else in the request (rules 1.5)."""

    OPEN = "open"
    REQUIRED = "required"
    """Needs the access token."""
    CREDENTIALS = "credentials"
    """Needs the API key and the API secret of the settings."""
    METRICS = "metrics"
    """Needs the access token, or `Authorization: Bearer` with the metrics token of the settings."""


@attrs.frozen(kw_only=True)
class Parameter:
    """One parameter, for its reader in `http.parse` and for the OpenAPI document."""

    name: str
    place: Literal["path", "query", "header", "body"]
    """`path`: `<name>` in the route's path; `body`: a key of the JSON object."""
    kind: Kind = "string"
    required: bool = False
    minimum: int | None = None
    maximum: int | None = None
    items: Mapping[str, object] | None = None
    """JSON schema of an array's items; None = only `doc` describes them."""
    doc: str
    """One sentence; it includes the default."""


@attrs.frozen(kw_only=True)
class Answer:
    """One status of a route. `http/openapi.py` adds 421 to every route, and 401 to every route that needs the access token. The framework
    answers 405 and 500; no row stands for them."""

    status: int
    doc: str
    """When the status is answered, and for a failure its sentence."""
    content_type: str = "application/json"
    has_error: bool = True
    """Whether a failure (400 and above) carries `error`. The failure of an order that reached a broker does not (rules 2.8)."""
    schema: Mapping[str, object] | None = None
    """JSON schema of a success; None = only `doc` describes it."""
    example: object = None
    """An answer that fits `schema`; None = no example."""


@attrs.frozen(kw_only=True)
class Route:
    """One path and method. Two methods with one meaning (GET and POST forms) are two rows, with one handler or two."""

    method: Method
    path: str
    handler: Handler
    token: TokenRule = TokenRule.REQUIRED
    tag: str
    """Heading in the API document."""
    summary: str
    parameters: tuple[Parameter, ...] = ()
    list_form: tuple[Parameter, ...] = ()
    """For a body that may also be a list: first the list's array, then the keys that are allowed next to the list and
    not inside it. If the array names no other items, its items are the body of the single form."""
    only_these_keys: bool = False
    """Whether a body with any other key is refused (`http.bodies.body_keys`)."""
    reads_only: bool = False
    """Whether the route changes nothing though its method is not GET: the list form of a read."""
    answers: tuple[Answer, ...]

    @property
    def is_audited(self) -> bool:
        """Whether its requests can change something, so that each of them and its answer is a line of the audit (`http.audited_requests`)."""
        return self.method != "GET" and not self.reads_only

    @property
    def endpoint(self) -> str:
        """Return the name by which Quart knows the route; a GET and a POST of one path have different names."""
        return f"{self.method} {self.path}".replace(".", "-")
