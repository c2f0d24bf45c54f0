"""What a row of the route table is made of. The table itself is `http.table`."""

from collections.abc import Awaitable, Callable, Mapping
from enum import Enum
from typing import Literal, TypeAlias

import attrs
from quart import Request
from quart.wrappers import Response

from onebroker.http.services import Services

Handler: TypeAlias = Callable[[Request, Services], Awaitable[Response]]
"""parse -> read a published value, or ask -> render; raises Refusal."""

Kind: TypeAlias = Literal["string", "integer", "number", "boolean", "date", "array", "object"]
Method: TypeAlias = Literal["GET", "POST", "PUT", "DELETE"]


class TokenRule(Enum):
    """Who may call a route; checked before anything else of the request is looked at (rules 1.5)."""

    OPEN = "open"
    REQUIRED = "required"
    """The access token."""
    METRICS = "metrics"
    """The access token, or `Authorization: Bearer` with the metrics token of the settings."""


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
    """JSON schema of an array's items; None = told in `doc` only."""
    doc: str
    """One sentence; the default belongs in it."""


@attrs.frozen(kw_only=True)
class Answer:
    """One status of a route. 401 of the token check, 405 and 500 are added to every route by themselves."""

    status: int
    doc: str
    """When, and for a failure its sentence."""
    content_type: str = "application/json"
    has_error: bool = True
    """Whether a failure (400 and above) carries `error`; that of an order which reached a broker does not (rules 2.8)."""
    schema: Mapping[str, object] | None = None
    """JSON schema of a success; None = told in `doc` only."""
    example: object = None
    """An answer that fits `schema`; None = none is given."""


@attrs.frozen(kw_only=True)
class Route:
    """One path and method. Two methods with one meaning (GET and POST forms) are two rows with one handler, or two."""

    method: Method
    path: str
    handler: Handler
    token: TokenRule = TokenRule.REQUIRED
    tag: str
    """Heading in the API document."""
    summary: str
    parameters: tuple[Parameter, ...] = ()
    list_form: tuple[Parameter, ...] = ()
    """Where the body may also be a list: its array first, whose items are the body of the single form when nothing else is said, then
    what may stand beside it and no longer inside."""
    only_these_keys: bool = False
    """Whether a body with any other key is refused (`http.body_keys`)."""
    answers: tuple[Answer, ...]

    @property
    def endpoint(self) -> str:
        """Return the name by which Quart knows it; a GET and a POST of one path differ."""
        return f"{self.method} {self.path}".replace(".", "-")
