"""What the engine is asked: by routes (through intake), by the desk, and what its router tells the parents."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, TypeAlias

import attrs

from onebroker.actors.catalogue.interface import Instrument
from onebroker.actors.kernel.mailbox import Reply
from onebroker.actors.sessions.messages import Sent
from onebroker.brokers.records import OrderRow


@attrs.frozen(kw_only=True)
class EngineAnswer:
    """An HTTP status and the body that goes with it."""

    status: int
    body: Mapping[str, Any]


@attrs.frozen(kw_only=True)
class EngineStatus:
    """What the engine publishes: whether it takes orders (lock held and refreshed, reconciled after start)."""

    running: bool
    reason: str
    """Why not; empty when running."""


@attrs.frozen(kw_only=True)
class PlaceBody:
    """A place request after the checks of spec 2 §8; every word in the API's own spelling, quantities in units."""

    instrument: Instrument
    transaction_type: str
    product: str
    order_type: str
    validity: str
    quantity: int
    disclosed_quantity: int
    price: Decimal | None
    trigger_price: Decimal | None
    after_market: bool
    tag: str | None
    broker: str | None
    """The pinned broker."""
    closes_position: bool
    sent: Mapping[str, Any]
    """The body as the caller sent it, for the parent record."""


# --- from routes -------------------------------------------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class Place:
    intent_id: str
    order: PlaceBody
    dry_run: bool
    routed: float
    """Monotonic seconds at which the request was read, for timing_ms.preparation."""
    deadline: float
    """Monotonic seconds at which the caller stops waiting."""
    reply: Reply[EngineAnswer]


# --- from the desk -----------------------------------------------------------------------------------------------------


class NotOurs(Exception):
    """The engine holds no open parent for this leg: the desk sends the message itself."""


@attrs.frozen(kw_only=True)
class CancelLeg:
    """Cancel one resting leg for a caller; answered with what the broker said. Refused with NotOurs, LoginNeeded, RoomFull,
    StoreError (nothing sent)."""

    parent_id: str
    row: OrderRow
    broker: str
    deadline: float
    """Monotonic seconds until which to wait for room."""
    reply: Reply[Sent]


EngineMessage: TypeAlias = Place | CancelLeg


# --- to a parent, from the engine's router ------------------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class LegSeen:
    """The broker shows an order of this parent."""

    broker: str
    row: OrderRow


@attrs.frozen(kw_only=True)
class BooksFresh:
    """A whole read of the broker's book, begun at `began` (monotonic seconds), is in."""

    broker: str
    began: float
    orders: Mapping[str, OrderRow] = attrs.field(repr=False)
    """The book as folded after that read."""


ParentMessage: TypeAlias = LegSeen | BooksFresh | CancelLeg
