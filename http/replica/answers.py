"""The answer of `GET /api/replica`."""

from typing import Literal

import msgspec

from onebroker.actors.store.keys import Resource


class ReplicaState(msgspec.Struct, frozen=True, kw_only=True):
    """What a replica knows of the service."""

    status: Literal["ok", "degraded"]
    time: str
    """The service's time as far as it is known, else that of the replica's machine."""
    service: str
    """Address of the service."""
    why_not: str | None
    """Why the service is not heard; null while it is heard."""
    heard_for_seconds: float | None
    """How long the present connection is open; null without one."""
    behind_seconds: float | None
    """How much longer than the fastest message the last one was on its way; null while the service is not heard."""
    document_age_seconds: dict[Resource, float | None]
    """Age of each document; null for a document that was never heard."""
    instruments: int
    """Instruments that are followed at the service."""
    streams: int
    """Open connections of `/stream` at the replica."""


EXAMPLE = {
    "status": "ok",
    "time": "2026-11-27T12:00:00",
    "service": "http://127.0.0.1:8000",
    "why_not": None,
    "heard_for_seconds": 3600.5,
    "behind_seconds": 0.002,
    "document_age_seconds": {"orders": 0.4, "trades": 0.4, "positions": 0.7, "holdings": 2.1, "funds": 0.7},
    "instruments": 120,
    "streams": 87,
}
