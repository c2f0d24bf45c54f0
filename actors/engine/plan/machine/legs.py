"""The legs of a plan as the machine sees them, and what it wants done to them (order-engine 2.1, 2.2). Values only."""

from decimal import Decimal
from typing import TypeAlias

import attrs

from onebroker.actors.engine.orders.records import LegState
from onebroker.actors.engine.orders.references import QuantityReference
from onebroker.config.vocabulary import OrderType, Side

CLOSING = "close"
"""`Leg.instance` of a leg that closes what its own part filled (1.8, close_filled)."""


class Reason:
    """Why the plan cancels a leg; `caller` and `late` are others' words for theirs."""

    PLAN = "plan"
    """Its part ends."""
    PIECE = "piece"
    """The next piece is due and takes the rest along."""
    REPLACE = "replace"
    """A fresh leg takes the rest over."""
    SHRINK = "shrink"
    """Nothing is left for it to do."""
    CALLER = "caller"
    LATE = "late"

    GIVES_BACK = frozenset({PIECE, REPLACE, SHRINK})
    """The unfilled rest goes back to the part."""


@attrs.frozen(kw_only=True)
class Leg:
    """One broker order. Quantities in units, prices in rupees, times in epoch seconds."""

    leg_id: str
    part: str
    broker: str
    instrument_id: str
    side: Side
    quantity: int
    """The order's total; of a change under way the larger of both."""
    filled: int = 0
    average: Decimal | None = None
    order_type: OrderType = OrderType.LIMIT
    immediate: bool = False
    """Whether it is IOC."""
    price: Decimal | None = None
    trigger: Decimal | None = None
    state: LegState = LegState.OPEN
    status_message: str | None = None
    cancel_reason: str | None = None
    piece: int = 0
    instance: str | None = None
    """Which fill, row or closing it was made for."""
    sent_at: float = 0.0
    moved_at: float = 0.0
    """When its price was last moved; 0 = never."""
    changes: int = 0
    """Modifies sent for it."""
    refused: tuple[int, Decimal | None, Decimal | None] | None = None
    """The (quantity, price, trigger) of the change that its broker refused last."""
    settling: bool = False
    """Whether its broker refused to move it and has not shown it since: it may have ended."""
    cancels: int = 0
    """Cancels of the plan's own that its broker refused."""
    cancelled_at: float = 0.0
    """When the last one was sent."""
    busy: bool = False
    """Whether a message for it is unanswered, or its outcome is not known."""
    fills_unknown: bool = False
    """Whether it ended unseen, so that it may have filled more than is known (K15)."""
    given_up: bool = False
    """Whether it stays unknown, because it cannot be told from other orders (row 13b): it is waited for no more."""
    unsent: bool = False
    """Whether it certainly never left, or was turned away at the door, as an exit of a running plan."""
    ended_at: float = 0.0
    """When that was found out of one that never reached its broker."""

    @property
    def never_reached(self) -> bool:
        """Whether it is certain that its broker never had it in its books."""
        return self.unsent or self.state is LegState.NOT_SENT

    @property
    def live(self) -> bool:
        return not self.state.final and not self.given_up

    @property
    def unfilled(self) -> int:
        return self.quantity - self.filled

    @property
    def committed(self) -> int:
        """What it stands for in its part's sum: all of it while it may fill, else what it filled."""
        return max(self.quantity, self.filled) if self.live else self.filled

    @property
    def accepted(self) -> bool:
        """Whether a broker ever took it."""
        return self.filled > 0 or self.state not in (
            LegState.SENDING,
            LegState.UNKNOWN,
            LegState.REJECTED,
            LegState.NOT_SENT,
        )

    @property
    def changeable(self) -> bool:
        """Whether a modify or cancel may be sent for it now."""
        return self.state in (LegState.OPEN, LegState.PENDING) and not self.busy


@attrs.frozen(kw_only=True)
class NewLeg:
    """An order to be placed."""

    part: str
    instrument_id: str
    side: Side
    product: str
    validity: str
    quantity: int
    order_type: OrderType
    price: Decimal | None
    trigger: Decimal | None
    broker: str | None
    """The pinned broker."""
    is_exit: bool
    known_exit: bool = False
    piece: int = 0
    instance: str | None = None
    tag: str | None = None
    disclosed_quantity: int = 0
    is_strike: bool = False
    """Whether it may rest for a moment where no broker takes immediate orders (book_depth)."""
    closing: QuantityReference | None = None
    """Bounded by what is left of this position."""
    unseen: str | None = None
    """The broker at which an order of the same part ended unseen: this one goes there too, bounded by what it holds (K15)."""


@attrs.frozen(kw_only=True)
class ChangeLeg:
    """A modify: the order as it shall be; `reduces` goes before everything else and as a cancel does."""

    leg_id: str
    quantity: int
    price: Decimal | None
    trigger: Decimal | None
    reduces: bool


@attrs.frozen(kw_only=True)
class EndLeg:
    """A cancel."""

    leg_id: str
    reason: str


@attrs.frozen(kw_only=True)
class ReadRows:
    """The net positions that a part closes, or that make its exposure, are to be read, fresh; those that it closes after what rests
    there was cancelled where it says so."""

    part: str


Action: TypeAlias = NewLeg | ChangeLeg | EndLeg | ReadRows
