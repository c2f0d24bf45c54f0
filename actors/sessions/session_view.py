"""What a session publishes about itself: its login, its folded orders, its budget, and the state of its feeds."""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from enum import StrEnum

import attrs

from onebroker.actors.kernel.published import Published
from onebroker.brokers.broker import Access
from onebroker.brokers.records import HoldingRow, OrderRow, PositionRow, TradeRow
from onebroker.brokers.transport.budget import BudgetRoom


class LoginState(StrEnum):
    STARTING = "starting"
    LIVE = "live"
    REPAIRING = "repairing"
    NEEDED = "login needed"
    """A person, or a corrected setting, is needed."""


@attrs.frozen(kw_only=True)
class FeedView:
    """The state of one socket of a broker, or of all its sockets of one kind together."""

    connected: bool = False
    last_frame_at: float | None = None
    """Epoch seconds of the last sign of life."""
    reconnects: int = 0
    corrupt_frames: int = 0
    subscribed: int = 0
    trouble: str | None = None
    down_since: float | None = None
    """Epoch seconds since which a socket that is wanted has no connection, or none that lasts. None = connected, or nothing is wanted of it."""
    corrupt_since: float | None = None
    """Epoch seconds of the first of the corrupt frames that follow each other closely; None = none has come for a while, or ever."""
    corrupt_at: float | None = None
    """Epoch seconds of the last corrupt frame."""


def joined(sockets: Sequence[FeedView]) -> FeedView:
    """Return the joint state of sockets of one kind: connected when any socket is, in trouble or down when any socket is."""
    return FeedView(
        connected=any(socket.connected for socket in sockets),
        last_frame_at=max(
            (socket.last_frame_at for socket in sockets if socket.last_frame_at is not None), default=None
        ),
        reconnects=sum(socket.reconnects for socket in sockets),
        corrupt_frames=sum(socket.corrupt_frames for socket in sockets),
        subscribed=sum(socket.subscribed for socket in sockets),
        trouble=next((socket.trouble for socket in sockets if socket.trouble is not None), None),
        down_since=_first(socket.down_since for socket in sockets),
        corrupt_since=_first(socket.corrupt_since for socket in sockets),
        corrupt_at=max((socket.corrupt_at for socket in sockets if socket.corrupt_at is not None), default=None),
    )


def _first(moments: Iterable[float | None]) -> float | None:
    return min((moment for moment in moments if moment is not None), default=None)


@attrs.frozen
class MarginKey:
    """What a broker's margin was asked for."""

    instrument_token: str
    transaction_type: str
    product: str


@attrs.frozen(kw_only=True)
class MarginFigure:
    """The margin that a broker gave for an order, or the fact that it gave none."""

    per_unit: Decimal | None
    """Rupees for one unit; None = the broker gave no figure."""
    asked_at: float
    """Monotonic seconds."""


@attrs.frozen(kw_only=True)
class ReadablePositions:
    """The readable rows of an answer about positions in which other rows could not be read."""

    rows: tuple[PositionRow, ...]
    read_started: float
    """Monotonic seconds at which the read began."""


@attrs.frozen(kw_only=True)
class OddOrder:
    """An unreadable row of the order book, with what can be read of its identity."""

    order_id: str | None
    """None = the order id cannot be read."""
    tag: str | None
    """Empty = the row says that there is no tag; None = the row does not say."""
    since: float
    """Monotonic seconds at which an unreadable row of this order id was first seen today."""


@attrs.frozen(kw_only=True)
class PartlyRead:
    """The last answer about orders, when some of its rows could not be read."""

    read_started: float
    """Monotonic seconds at which the read began."""
    shown: frozenset[str]
    """The ids of the orders whose rows could be read. For these orders the answer is as good as a whole book."""
    odd: tuple[OddOrder, ...]
    """The rows that could not be read."""


@attrs.frozen(kw_only=True)
class SessionView:
    broker: str
    login: LoginState = LoginState.STARTING
    login_since: float | None = None
    """Epoch seconds since which the broker has a live login, or since which it has none. None = the session has not started yet."""
    trouble: str | None = None
    """Why the login is not live, why the morning login failed, or why the broker refuses orders from this address; without secrets."""
    address_refused: bool = False
    """Whether the broker refused an order because of this machine's address, and has accepted none since."""
    access: Access | None = attrs.field(default=None, repr=False)
    """What request builders need. Present exactly when the login is live."""
    orders: Mapping[str, OrderRow] = attrs.field(factory=dict, repr=False)
    """order_id -> the order as folded from book reads and the order stream (order-engine 2.3)."""
    unseen: Mapping[str, OrderRow] = attrs.field(factory=dict, repr=False)
    """order_id -> an order, as accepted, that the broker does not show yet; only orders that can be changed or cancelled."""
    orders_read_started: float | None = None
    """Monotonic seconds at which the last whole, readable book read *began* (order-engine 0, fresh)."""
    orders_partly: PartlyRead | None = attrs.field(default=None, repr=False)
    """Set as long as the last answer about orders has rows that cannot be read."""
    positions_read_started: float | None = None
    """Monotonic seconds at which the last readable read of `positions` *began*. An unreadable answer does not change `positions`."""
    holdings_read_started: float | None = None
    """Monotonic seconds at which the last readable read of `holdings` *began*."""
    fills_moved_at: float | None = None
    """Monotonic seconds at which an order was last seen to have filled further than known before. None = not since the session started."""
    corrected_fills: Mapping[str, int] = attrs.field(factory=dict, repr=False)
    """order_id -> the filled units of an order of today of which the broker has taken units back (`taken_back.py`). They may be lower than
    those that were shown before."""
    positions: tuple[PositionRow, ...] = attrs.field(default=(), repr=False)
    readable_positions: ReadablePositions | None = attrs.field(default=None, repr=False)
    """Set as long as the last answer about positions has unreadable rows: its readable rows, which are newer than `positions`."""
    trades: tuple[TradeRow, ...] = attrs.field(default=(), repr=False)
    """The last readable trade book."""
    holdings: tuple[HoldingRow, ...] = attrs.field(default=(), repr=False)
    margins: Mapping[MarginKey, MarginFigure] = attrs.field(factory=dict, repr=False)
    """The latest margin figures that the broker was asked for (`AskMargin`)."""
    room: BudgetRoom | None = None
    read_errors: Mapping[str, str] = attrs.field(factory=dict)
    """Resource -> why its last read failed; absent when the read succeeded."""
    reads_failing_since: Mapping[str, float] = attrs.field(factory=dict)
    """Resource -> epoch seconds at which its first failed read since the last good read ended. It has the keys of `read_errors`."""
    contradictions: int = 0
    """How often one channel reported a finished order with another status, or a lower filled quantity than before."""
    broken_acknowledgments: int = 0
    """How often a broker has contradicted what it had acknowledged."""
    clock_ahead: float | None = None
    """By how many seconds the broker's clock is at least ahead of this machine's clock, by the `Date` of its answers. Below zero: behind;
    0: no provable difference; None = not known."""
    market_feed: FeedView = FeedView()
    order_feed: FeedView = FeedView()

    @property
    def live(self) -> bool:
        return self.login is LoginState.LIVE


async def logged_in(view: Published[SessionView]) -> Access:
    """Wait until the broker has a live login, and return the access with it."""
    while (access := view.value.access) is None:
        await view.wait_newer(view.version)
    return access
