"""The parts of a row of the route table. The table itself is `http.route_table`."""

from collections.abc import Awaitable, Callable, Mapping
from enum import Enum
from typing import Any, Literal, TypeAlias

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
    """Of an array: the fewest items."""
    maximum: int | None = None
    """Of an array: the most items."""
    choices: tuple[str, ...] = ()
    """The words that it may be; the reader may take them in any case."""
    pattern: str = ""
    """The form of a text: a regular expression for the whole text."""
    schema: Mapping[str, object] | None = None
    """JSON schema in the place of the one that `kind`, the bounds, `choices` and `pattern` make."""
    null_is_absent: bool = True
    """Whether a null in a body counts as absent. A null for a required parameter is refused as a missing one is."""
    doc: str
    """One sentence; it includes the default."""


@attrs.frozen(kw_only=True)
class Answer:
    """One status of a route; several rows may have one status. The document adds 421 to every route, 401 to every route that needs the access
    token, and the pages of the framework (`http/document/operations.py`)."""

    status: int
    doc: str
    """When the status is answered, and for a failure its sentence."""
    content_type: str = "application/json"
    type: Any = None
    """The type of the body (`http/answers/`). None = a `Failure`; of a status below 400, no body."""
    example: object = None
    """A body that fits the type."""
    headers: Mapping[str, str] = attrs.field(factory=dict)
    """Header of the answer -> what it says."""


def failure(status: int, doc: str, sentence: str | None = None, **keys: object) -> Answer:
    """Return the row of a failure. `sentence`: an example of `error`, where `doc` is not itself the sentence; `keys`: what stands beside it."""
    return Answer(status=status, doc=doc, example={"error": doc if sentence is None else sentence, **keys})


@attrs.frozen(kw_only=True)
class Route:
    """One path and method. Two methods with one meaning (GET and POST forms) are two rows, with one handler or two."""

    method: Method
    path: str
    handler: Handler
    token: TokenRule = TokenRule.REQUIRED
    tag: str
    """Heading in the API document."""
    operation_id: str
    """Its name in the API document, and in clients made from it: `place_order`. It never changes."""
    summary: str
    parameters: tuple[Parameter, ...] = ()
    list_form: tuple[Parameter, ...] = ()
    """For a body that may also be a list: first the list's array, then the keys that are allowed next to the list and
    not inside it. If the array names no other items, its items are the body of the single form."""
    only_these_keys: bool = False
    """Whether a body with any other key is refused (`http.bodies.body_keys`)."""
    body_may_be_absent: bool = False
    """Whether all that the body says can also be left out, or stand in the query (architecture 10)."""
    reads_only: bool = False
    """Whether the route changes nothing though its method is not GET: the list form of a read."""
    examples: Mapping[str, object] = attrs.field(factory=dict)
    """Name -> a body that is accepted."""
    answers: tuple[Answer, ...]
    counted_as: str = ""
    """The path under which the metrics count its requests, where that is another than its own: the files of a page count as their page, and what is
    rarely asked as the route beside it, because each path costs a dozen samples of a scrape."""

    @property
    def is_audited(self) -> bool:
        """Whether its requests can change something, so that each of them and its answer is a line of the audit (`http.audited_requests`)."""
        return self.method != "GET" and not self.reads_only

    @property
    def endpoint(self) -> str:
        """Return the name by which Quart knows the route; a GET and a POST of one path have different names."""
        return f"{self.method} {self.path}".replace(".", "-")
