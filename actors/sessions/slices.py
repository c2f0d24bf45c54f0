"""The messages that document actors get from broker sessions."""

from typing import TypeAlias

import attrs

from onebroker.actors.store.keys import Resource
from onebroker.brokers.records import FundsRow, HoldingRow, OrderRow, PositionRow, TradeRow

Rows: TypeAlias = (
    tuple[OrderRow, ...] | tuple[TradeRow, ...] | tuple[PositionRow, ...] | tuple[HoldingRow, ...] | FundsRow
)


@attrs.frozen(kw_only=True)
class Slice:
    """All rows of one resource of one broker as last read. The newest slice per (broker, resource) counts.

    If `rows` is the same object as in the slice before, only `received_at` has changed.
    """

    broker: str
    resource: Resource
    rows: Rows | None
    """None with `error`: a refusal or an unreadable answer. The earlier rows then no longer count."""
    received_at: float
    """Epoch seconds at which the broker last confirmed these rows."""
    acknowledged: frozenset[str] = frozenset()
    """For orders: the ids of rows that include acknowledged changes which the broker does not show yet (`sessions/acknowledged_changes.py`). Even a
    finished status among these is not final: the broker has the last word."""
    error: str | None = None
    """Set when the last read was refused or unreadable (status `unreadable`)."""


@attrs.frozen(kw_only=True)
class BrokerRemoved:
    """A broker is no longer configured; its slice is dropped."""

    broker: str


@attrs.frozen
class Refresh:
    """Sent by the document actor to itself: the catalogue, with which the document is built, has changed."""


DocumentMessage: TypeAlias = Slice | BrokerRemoved | Refresh
