"""The health of the service as a whole. Moments are written YYYY-MM-DDTHH:MM:SS in Indian time."""

from typing import Any, Literal

import msgspec

from onebroker.actors.health.problem import ProblemKind
from onebroker.actors.store.keys import Resource
from onebroker.http.answers.health_parts import (
    AlertsHealth,
    AuditHealth,
    BrokerHealth,
    CatalogueHealth,
    ChargesHealth,
    ClockHealth,
    DiskHealth,
    EngineHealth,
    HaltHealth,
    HistoryHealth,
    LossHealth,
    MarketHealth,
    OrderProblem,
    ReferenceHealth,
    StoreHealth,
    StreamsHealth,
    UnknownOrder,
)
from onebroker.http.answers.shared import AS_OF, UNSET, Unset
from onebroker.http.listener.connection_limits import ConnectionFigures


class Problem(msgspec.Struct, kw_only=True):
    """Something that is wrong now."""

    what: str
    """What is wrong, with the broker's words where there are such."""
    broker: str | None
    """Broker code; null: it is not of one broker."""
    since: str
    """Since when it is wrong, as far as that is known, in Indian time."""
    do: str
    """What the reader can do."""
    kind: ProblemKind
    subject: str | None
    """Tells problems of one kind and broker apart."""


class Crash(msgspec.Struct, kw_only=True):
    """A part of the service that crashed and was started again."""

    actor: str
    error: str
    count: int
    at: str
    last_message: str | None


class Health(msgspec.Struct, kw_only=True):
    """What is wrong now, and the state of each part. A part that does not run has no key."""

    status: Literal["ok", "degraded"]
    """`degraded` while `problems` is not empty."""
    time: str
    problems: list[Problem]
    """Oldest first."""
    actors: dict[str, bool]
    """Part of the service -> whether it is up."""
    crashes: list[Crash]
    store: StoreHealth
    brokers: dict[str, BrokerHealth] | Unset = UNSET
    engine: EngineHealth | Unset = UNSET
    unknown_orders: list[UnknownOrder] | Unset = UNSET
    order_problems: list[OrderProblem] | Unset = UNSET
    market: dict[str, MarketHealth] | Unset = UNSET
    """Exchange and calendar, such as `nse equity` -> what is known of today."""
    clock: ClockHealth | Unset = UNSET
    charges: ChargesHealth | Unset = UNSET
    daily_loss: LossHealth | Unset | None = UNSET
    """Null: there is no limit."""
    halt: HaltHealth | Unset = UNSET
    catalogue: CatalogueHealth | Unset = UNSET
    documents: dict[Resource, str | None] | Unset = UNSET
    """Document -> its `as_of`; null before it is first made."""
    reference: ReferenceHealth | Unset = UNSET
    history: HistoryHealth | Unset = UNSET
    alerts: AlertsHealth | Unset = UNSET
    disk: DiskHealth | Unset = UNSET
    audit: AuditHealth | Unset = UNSET
    streams: StreamsHealth | Unset = UNSET
    connections: ConnectionFigures | Unset = UNSET


EXAMPLE: dict[str, Any] = {
    "status": "degraded",
    "time": AS_OF,
    "problems": [
        {
            "what": "zerodha has no login: a person must log in (onebroker login)",
            "broker": "zerodha",
            "since": "2026-11-25T06:00:00",
            "do": "onebroker login zerodha",
            "kind": "login",
            "subject": None,
        }
    ],
    "actors": {"token": True, "engine": True},
    "crashes": [],
    "store": {"reachable": True, "durability": "every write on disk"},
    "market": {"nse equity": {"today": "trading", "open": True, "known_until": "2026-12-31"}},
}
