"""What document actors hear from broker sessions."""

from typing import TypeAlias

import attrs

from onebroker.actors.store.keys import Resource
from onebroker.brokers.records import FundsRow, HoldingRow, OrderRow, PositionRow, TradeRow

Rows: TypeAlias = (
    tuple[OrderRow, ...] | tuple[TradeRow, ...] | tuple[PositionRow, ...] | tuple[HoldingRow, ...] | FundsRow
)


@attrs.frozen(kw_only=True)
class Slice:
    """All rows of one resource of one broker as last read; newest wins per (broker, resource).

    The same `rows` object means that nothing changed since the slice before (only `received_at` moved on).
    """

    broker: str
    resource: Resource
    rows: Rows | None
    """None with `error`: a refusal or an unreadable answer; the rows before it no longer count."""
    received_at: float
    """Epoch seconds at which the broker was last seen to say this."""
    acknowledged: frozenset[str] = frozenset()
    """Of orders: the ids of rows over which lies what the broker has acknowledged and does not show yet (`sessions/acknowledged.py`).
    Even an end among it is not final: the broker has the last word."""
    error: str | None = None
    """Set when the last read was refused or unreadable (status `unreadable`)."""


@attrs.frozen(kw_only=True)
class BrokerRemoved:
    """A broker is no longer configured; its slice is dropped."""

    broker: str


@attrs.frozen
class Refresh:
    """From itself: what the document is built with (the catalogue) has changed."""


DocumentMessage: TypeAlias = Slice | BrokerRemoved | Refresh
