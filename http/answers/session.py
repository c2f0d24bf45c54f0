"""Answers about the session, the process and the documents of the API."""

from typing import Any, Literal

import msgspec

from onebroker.config.messages import session


class Welcome(msgspec.Struct, kw_only=True):
    message: str


class Session(msgspec.Struct, kw_only=True):
    access_token: str = msgspec.field(name="access-token")
    """Goes into the header `access-token` of the other requests. All clients share it."""
    expires_at: str
    """YYYY-MM-DD HH:MM:SS.ffffff, Indian time. The first connect after 07:00 makes a new token."""


class SessionStatus(msgspec.Struct, kw_only=True):
    status: Literal["connected"]
    expires_at: str | None
    """As in the answer of connect."""


class SessionEnded(msgspec.Struct, kw_only=True):
    status: Literal["disconnected"]


class Alive(msgspec.Struct, kw_only=True):
    status: Literal["ok"]


class DescribedRoutes(msgspec.Struct, kw_only=True):
    """An OpenAPI 3.1 document."""

    openapi: str
    info: dict[str, Any]
    servers: list[dict[str, Any]]
    tags: list[dict[str, Any]]
    paths: dict[str, Any]
    components: dict[str, Any]


class DescribedStream(msgspec.Struct, kw_only=True):
    """An AsyncAPI 3 document."""

    asyncapi: str
    info: dict[str, Any]
    default_content_type: str = msgspec.field(name="defaultContentType")
    servers: dict[str, Any]
    channels: dict[str, Any]
    operations: dict[str, Any]
    components: dict[str, Any]


WELCOME_EXAMPLE = {"message": session.WELCOME}
SESSION_EXAMPLE = {"access-token": "6f1a52c8-0d0b-4b7e-9c55-2f2d6a3b1e90", "expires_at": "2026-11-26 09:00:00.000000"}
STATUS_EXAMPLE = {"status": "connected", "expires_at": "2026-11-26 09:00:00.000000"}
ENDED_EXAMPLE = {"status": "disconnected"}
ALIVE_EXAMPLE = {"status": "ok"}
_INFO = {"title": "onebroker", "version": "0.2.0"}
ROUTES_EXAMPLE = {
    "openapi": "3.1.0", "info": _INFO, "servers": [{"url": "/"}], "tags": [], "paths": {}, "components": {},
}  # fmt: skip
STREAM_EXAMPLE = {
    "asyncapi": "3.0.0", "info": _INFO, "defaultContentType": "application/json", "servers": {}, "channels": {}, "operations": {}, "components": {},
}  # fmt: skip
