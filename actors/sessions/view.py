"""What a session publishes of itself: its login, its orders as folded, its budget, the life of its feeds."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from enum import StrEnum

import attrs

from onebroker.actors.kernel.published import Published
from onebroker.brokers.broker import Access
from onebroker.brokers.records import HoldingRow, OrderRow, PositionRow
from onebroker.brokers.transport.budget import BudgetRoom


class LoginState(StrEnum):
    STARTING = "starting"
    LIVE = "live"
    REPAIRING = "repairing"
    NEEDED = "login needed"
    """A person, or a corrected setting, is needed."""


@attrs.frozen(kw_only=True)
class FeedView:
    """One socket of a broker, or all of its sockets of one kind."""

    connected: bool = False
    last_frame_at: float | None = None
    """Epoch seconds of the last sign of life."""
    reconnects: int = 0
    corrupt_frames: int = 0
    subscribed: int = 0
    trouble: str | None = None


def joined(sockets: Sequence[FeedView]) -> FeedView:
    """Return the sockets of one kind as one: connected when any is, in trouble when any is."""
    return FeedView(
        connected=any(one.connected for one in sockets),
        last_frame_at=max((one.last_frame_at for one in sockets if one.last_frame_at is not None), default=None),
        reconnects=sum(one.reconnects for one in sockets),
        corrupt_frames=sum(one.corrupt_frames for one in sockets),
        subscribed=sum(one.subscribed for one in sockets),
        trouble=next((one.trouble for one in sockets if one.trouble is not None), None),
    )


@attrs.frozen
class MarginKey:
    """Of what a broker was asked the margin."""

    instrument_token: str
    transaction_type: str
    product: str


@attrs.frozen(kw_only=True)
class MarginFigure:
    """What a broker said that an order needs, or that it did not say."""

    per_unit: Decimal | None
    """Rupees for one unit; None where it gave no figure."""
    asked_at: float
    """Monotonic seconds."""


@attrs.frozen(kw_only=True)
class ReadablePositions:
    """The rows that could be read of an answer about positions of which others could not."""

    rows: tuple[PositionRow, ...]
    read_started: float
    """Monotonic seconds at which the read began."""


@attrs.frozen(kw_only=True)
class OddOrder:
    """A row of the order book that cannot be read, by what it says of whose it is."""

    order_id: str | None
    """None where that cannot be read."""
    tag: str | None
    """Empty where the row says that there is none; None where it does not say."""
    since: float
    """Monotonic seconds by which the broker had shown an order of this id today, of which a row could not be read."""


@attrs.frozen(kw_only=True)
class PartlyRead:
    """The last answer about orders, of which some rows could not be read."""

    read_started: float
    """Monotonic seconds at which the read began."""
    shown: frozenset[str]
    """The ids of the orders whose rows could be read: of these it is as good as a whole book."""
    odd: tuple[OddOrder, ...]
    """The others."""


@attrs.frozen(kw_only=True)
class SessionView:
    broker: str
    login: LoginState = LoginState.STARTING
    trouble: str | None = None
    """Why the login is not live, or the broker takes no orders from this address, in a sentence without secrets."""
    address_refused: bool = False
    """Whether the broker took no order from this machine's address when it was sent one last."""
    access: Access | None = attrs.field(default=None, repr=False)
    """Present exactly when the login is live: what request builders need."""
    orders: Mapping[str, OrderRow] = attrs.field(factory=dict, repr=False)
    """order_id -> the order as folded from book reads and the order stream (order-engine 2.3)."""
    unseen: Mapping[str, OrderRow] = attrs.field(factory=dict, repr=False)
    """order_id -> an order that the broker has accepted and does not show yet, as it was accepted."""
    orders_read_started: float | None = None
    """Monotonic seconds at which the last whole, readable book read *began* (order-engine 0, fresh)."""
    orders_partly: PartlyRead | None = attrs.field(default=None, repr=False)
    """Set while the last answer about orders has rows that cannot be read."""
    positions_read_started: float | None = None
    """The same for `positions`, which are kept over an unreadable answer."""
    holdings_read_started: float | None = None
    """The same for `holdings`."""
    fills_moved_at: float | None = None
    """Monotonic seconds at which an order was last seen filled further than it was known to be; None = not since the service started."""
    positions: tuple[PositionRow, ...] = attrs.field(default=(), repr=False)
    readable_positions: ReadablePositions | None = attrs.field(default=None, repr=False)
    """Set while the last answer about positions has rows that cannot be read: the others, newer than `positions`."""
    holdings: tuple[HoldingRow, ...] = attrs.field(default=(), repr=False)
    margins: Mapping[MarginKey, MarginFigure] = attrs.field(factory=dict, repr=False)
    """What the broker was asked last about the margin of orders (`AskMargin`)."""
    room: BudgetRoom | None = None
    read_errors: Mapping[str, str] = attrs.field(factory=dict)
    """Resource -> why its last read failed; absent when it succeeded."""
    contradictions: int = 0
    """How often a finished order was reported open again."""
    broken_acknowledgments: int = 0
    """How often a broker has shown something else than what it had acknowledged."""
    clock_ahead: float | None = None
    """By how many seconds the broker's clock is at least ahead of this machine's, by the `Date` of its answers (below zero: behind;
    0: no difference to be told); None = not told."""
    market_feed: FeedView = FeedView()
    order_feed: FeedView = FeedView()

    @property
    def live(self) -> bool:
        return self.login is LoginState.LIVE


async def logged_in(view: Published[SessionView]) -> Access:
    """Wait until the broker has a login, and return what it gives access to."""
    while (access := view.value.access) is None:
        await view.wait_newer(view.version)
    return access
