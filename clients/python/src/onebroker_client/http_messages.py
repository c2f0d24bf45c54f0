"""An HTTP request and its answer as values, and what can become of a request that has no answer."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class HttpRequest:
    method: str
    target: str
    """Path and query, escaped."""
    body: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class HttpAnswer:
    status: int
    content_type: str
    body: bytes


class NotSent(Exception):
    """No connection was made: no byte of the request has left."""


class Lost(Exception):
    """The request has left, at least in part, and no whole answer came."""
