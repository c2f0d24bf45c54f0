"""The legs of a plan as the machine sees them, and the actions it asks for (order-engine 2.1, 2.2). Values only."""

from decimal import Decimal
from typing import TypeAlias

import attrs

from onebroker.actors.engine.orders.parent_records import LegState
from onebroker.actors.engine.orders.reference_values import QuantityReference
from onebroker.config.vocabulary import OrderType, Side

CLOSING = "close"
"""`Leg.instance` of a leg that closes what its own part filled (1.8, close_filled)."""


class Reason:
    """Why the plan cancels a leg. `caller` and `late` are the reasons of cancels that did not come from the plan."""

    PLAN = "plan"
    """The leg's part ends."""
    PIECE = "piece"
    """The next piece is due and takes over the unfilled units."""
    REPLACE = "replace"
    """A fresh leg takes over the unfilled units."""
    SHRINK = "shrink"
    """Nothing is left for the leg to do."""
    CALLER = "caller"
    CLOSED = "closed"
    """Another plan, or another part, closes the position that the leg would close."""
    LATE = "late"

    BY_OTHERS = frozenset({CALLER, CLOSED})
    """Reasons that lie outside the leg's own part: its units are not sent again."""

    GIVES_BACK = frozenset({PIECE, REPLACE, SHRINK})
    """Reasons after which the unfilled units go back to the part."""


@attrs.frozen(kw_only=True)
class Leg:
    """One broker order. Quantities in units, prices in rupees, times in epoch seconds."""

    leg_id: str
    part: str
    broker: str
    instrument_id: str
    side: Side
    quantity: int
    """The order's total. While a change is under way, the larger of the old and the new total."""
    filled: int = 0
    average: Decimal | None = None
    price_untold: bool = False
    """Whether the broker has told no average of the fills for so long that nothing is known of their price."""
    order_type: OrderType = OrderType.LIMIT
    immediate: bool = False
    """Whether the order is IOC."""
    price: Decimal | None = None
    trigger: Decimal | None = None
    state: LegState = LegState.OPEN
    status_message: str | None = None
    shortage: bool = False
    """Whether its broker refused it for want of shares, margin or funds."""
    beyond_limits: bool = False
    """Whether its broker refused it, or has refused a change of it, because its price is outside of the exchange's limits."""
    refused_late: bool = False
    """Whether its broker refused it when the caller had already been answered."""
    cancel_reason: str | None = None
    piece: int = 0
    instance: str | None = None
    """The fill, row or closing for which the leg was made."""
    sent_at: float = 0.0
    moved_at: float = 0.0
    """When the leg's price was last moved; 0 = never."""
    changes: int = 0
    """The number of modifies sent for the leg."""
    refused: tuple[int, Decimal | None, Decimal | None] | None = None
    """(quantity, price, trigger) of the last change, where the broker refused it."""
    refused_why: str | None = None
    refused_at: float = 0.0
    settling: bool = False
    """Whether the broker refused to move the leg and has not shown it since. The leg may have ended."""
    cancels: int = 0
    """The number of the plan's own cancels that the broker refused."""
    cancelled_at: float = 0.0
    """When the last such cancel was sent."""
    wanted_since: float = 0.0
    """Since when a change or cancel that the plan wants has not been answered by the broker; 0 = nothing is wanted."""
    not_left: str | None = None
    """Why it did not leave when it was tried last; None = it is under way."""
    busy: bool = False
    """Whether a message for the leg is unanswered, or its outcome is not known."""
    fills_unknown: bool = False
    """Whether the leg ended unseen, so that it may have filled more than is known (K15)."""
    given_up: bool = False
    """Whether the leg stays unknown, because it cannot be told apart from other orders (row 13b). Nothing waits for it any longer."""
    unsent: bool = False
    """Whether the leg is an exit of a running plan that certainly never left, or that its broker turned away before it looked at the order."""
    triggered_at: float | None = None
    """Since when its broker's book shows that it was triggered; None = not, or the book does not tell."""
    ended_at: float = 0.0
    """For a leg that never reached its broker: when that was found out."""
    taken_off: int = 0
    """Units that another hand took off the order and that are not sent again. Negative: units that it added. Of an exit only the units that
    its broker does not hold (`spoken_for`)."""
    former: int | None = None
    """Of an exit that another hand made smaller: the units that it had before. None = it was not made smaller."""
    may_grow: bool = False
    """Whether it is not decided yet how many of the units that another hand took off an exit are exited after all (2.6)."""

    @property
    def never_reached(self) -> bool:
        """Whether it is certain that the broker never had the leg in its books."""
        return self.unsent or self.state is LegState.NOT_SENT

    @property
    def live(self) -> bool:
        return not self.state.final and not self.given_up

    @property
    def unfilled(self) -> int:
        return self.quantity - self.filled

    @property
    def committed(self) -> int:
        """The units that count in the part's sum: the whole quantity while the leg may fill, else the filled units."""
        return max(self.quantity, self.filled) if self.live else self.filled

    @property
    def added(self) -> int:
        """The units that another hand added, as far as they may still fill or have filled. They are no units of the part's sum."""
        added = max(0, -self.taken_off)
        return added if self.live else min(added, max(0, self.filled - self.quantity + added))

    @property
    def spoken_for(self) -> int:
        """The units of the part's sum that need no further order: committed units, and units that another hand took off the order."""
        return self.committed + max(0, self.taken_off) - self.added

    @property
    def accepted(self) -> bool:
        """Whether a broker ever accepted the leg."""
        return self.filled > 0 or self.state not in (
            LegState.SENDING,
            LegState.UNKNOWN,
            LegState.REJECTED,
            LegState.NOT_SENT,
        )

    @property
    def changeable(self) -> bool:
        """Whether a modify or cancel may be sent for the leg now."""
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
    exit_by_type: bool = False
    """`OrderPart.exit_by_type`."""
    replaces: bool = False
    """Whether the order takes over units of an order that the plan itself cancelled for it, or follows the fills of another (a hedge, a second leg). It is
    tried again as an exit is (row 42)."""
    piece: int = 0
    instance: str | None = None
    tag: str | None = None
    entry_tag: str | None = None
    """Of an order that closes what an entry of its plan has filled: the entry's own tag, "" where it has none; None = there is no such entry."""
    disclosed_quantity: int = 0
    is_strike: bool = False
    """Whether the order may rest for a moment where no broker takes immediate orders (book_depth)."""
    closing: QuantityReference | None = None
    """The order is bounded by what is left of this position."""
    unseen: str | None = None
    """The broker at which an order of the same part ended unseen. This order goes there too, bounded by what that broker holds (K15)."""


@attrs.frozen(kw_only=True)
class ChangeLeg:
    """A modify: the order as it shall be. A modify that `reduces` is sent before all other actions, in the same way as a cancel."""

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
    """A fresh read of the net positions that a part closes, or that make up its exposure.

    Positions to be closed are read after the resting orders there were cancelled, where the part says so.
    """

    part: str
    without_price: bool = False
    """Whether positions are closed too whose instrument has no price now: the close is overdue (1.11)."""


Action: TypeAlias = NewLeg | ChangeLeg | EndLeg | ReadRows
