"""What is kept of each part of a plan between two looks, and in the store (order-engine 2.1, 2.4)."""

from collections.abc import Mapping
from decimal import Decimal
from enum import StrEnum
from typing import NamedTuple

import attrs


class PartState(StrEnum):
    PENDING = "pending"
    """Not due."""
    WAITING = "waiting"
    """Due; its condition or a price is not there."""
    HELD = "held"
    """In the virtual book."""
    SENDING = "sending"
    WORKING = "working"
    CANCELLING = "cancelling"
    COMPLETED = "completed"
    CANCELLED = "cancelled"
    REJECTED = "rejected"
    EXPIRED = "expired"
    FAILED = "failed"

    @property
    def final(self) -> bool:
        return self in FINAL_PARTS


FINAL_PARTS = frozenset(
    {PartState.COMPLETED, PartState.CANCELLED, PartState.REJECTED, PartState.EXPIRED, PartState.FAILED}
)


@attrs.frozen(kw_only=True)
class Bar:
    """A bar of last prices that is being built; times in epoch seconds."""

    began: float
    high: Decimal
    low: Decimal
    close: Decimal
    whole: bool
    """Whether it was watched from its beginning."""


@attrs.frozen(kw_only=True)
class Bars:
    """Bars of one instrument since a part was armed, and Wilder's average true range over them."""

    open_bar: Bar | None = None
    until: float | None = None
    """Epoch seconds at which the newest closed bar ended: what was received before is in the bars already."""
    closed: int = 0
    last_close: Decimal | None = None
    """Of the newest whole bar."""
    ranges: tuple[Decimal, ...] = ()
    """True ranges until there are enough for the first average."""
    atr: Decimal | None = None


@attrs.frozen(kw_only=True)
class Memory:
    """What a price rule remembers."""

    watermark: Decimal | None = None
    """Best last price since the start."""
    active: bool = False
    """Whether `activate_at` was reached; of a stop that was to break even, whether it was moved."""
    stop: Decimal | None = None
    """The trigger in force, which never moves back."""
    base: Decimal | None = None
    """What the watched instrument stood at when the rule began, or where a chase began; of a stop below a fill, the last price known
    when that was heard of."""
    shift: Decimal = Decimal(0)
    """What a caller's own price added to the rule."""
    own_price: Decimal | None = None
    """A caller's own price whose distance from the rule could not be measured yet; None = there is none."""
    since: float | None = None
    """Epoch seconds from which steps are counted."""
    began: float | None = None
    """Epoch seconds at which the rule began."""
    bars: Bars = Bars()
    resolved: Mapping[str, Decimal] = attrs.field(factory=dict)
    """Number of a piece -> what its price reference was worked out at."""
    past_limit_since: float | None = None
    """Epoch seconds since which the market has been past a stop's limit."""


@attrs.frozen(kw_only=True)
class Ending:
    """A part is being ended: it sends nothing more, its resting legs are cancelled, then it is `state`."""

    state: PartState
    message: str | None = None
    close: bool = False
    """What filled is closed before (1.8, close_filled)."""
    marketable: bool = False
    """What rests, or was never sent, goes on as marketable with follow (1.8, marketable)."""
    unfilled: bool = False
    """What it hangs on ended without a fill."""


class Holding(NamedTuple):
    """Where a position is: its row at one broker."""

    broker: str
    instrument_id: str
    product: str
    """As a position says it: delivery, intraday, carry."""

    @property
    def key(self) -> str:
        """What its legs carry as `instance`."""
        return f"{self.broker}|{self.instrument_id}|{self.product}"


@attrs.frozen(kw_only=True)
class RowToClose:
    """A net position that a part closes, as it was read; or one hedge of an exposure."""

    key: str
    """What its legs carry as `instance`."""
    broker: str | None
    """Where it is; None: a hedge goes wherever it may."""
    instrument_id: str
    product: str
    """Product to send."""
    quantity: int
    """Signed: of the net position, as far as it is used; of a hedge, what it is to buy, negated."""
    units: int
    """To be sent in all."""
    refusal: str | None = None
    """Why an order for it was refused before it was sent: by a check of the engine."""


@attrs.frozen(kw_only=True)
class Joint:
    """What a condition on the joint profit and loss of positions remembers; rupees."""

    base: Decimal
    """The figure from which gains are counted."""
    best: Decimal
    """The best gain so far."""
    holders: tuple[str, ...]
    """Brokers that had such a position when the base was taken."""


@attrs.frozen(kw_only=True)
class Instance:
    """An exit made for one fill of the part it hangs on."""

    key: str
    leg_id: str
    """Whose fill."""
    quantity: int
    """Units of that fill, grown by further ones at the same price."""
    price: Decimal
    """What it is measured from."""


@attrs.frozen(kw_only=True)
class PartRecord:
    """One part as it stands. Times in epoch seconds, quantities in units."""

    state: PartState = PartState.PENDING
    status_message: str | None = None
    due_at: float | None = None
    """When its turn came; None = not yet."""
    fired: bool = False
    """Its `when` has come true, or it has none; never taken back."""
    fired_at: float | None = None
    """When that was."""
    times_seen: tuple[str, ...] = ()
    """Where the times stand in `when` that came while the plan was looked at: they are never late again."""
    over: bool = False
    """Of a group: its lifetime has ended; never taken back."""
    released: bool = False
    """The market has reached its held limit."""
    started_at: float | None = None
    """When it began to send: what its pieces are timed from."""
    ending: Ending | None = None
    quantity: int | None = None
    """A caller's own number in the place of the plan's; of a shrink group: what it guards in all."""
    price: Decimal | None = None
    trigger_price: Decimal | None = None
    memory: Memory = Memory()
    directions: Mapping[str, str] = attrs.field(factory=dict)
    """Where a condition stands in `when` (`""`, `all.0`) -> the direction taken when it was armed."""
    condition_bars: Mapping[str, Bars] = attrs.field(factory=dict)
    sizes: tuple[int, ...] = ()
    """Piece sizes that were drawn."""
    volume_base: int | None = None
    """The market's volume when participation began."""
    armed_day: str | None = None
    """The day (YYYY-MM-DD) on which a daily leg was refused before it was sent, or found again: none is sent for it any more."""
    arms_at: float | None = None
    """When a daily part sends its next order; None while one rests, or when no trading day is known."""
    marketable: bool = False
    """Its lifetime ended with `marketable`, or the market fell through the trigger to which its stop was to be moved: all that is
    unfilled goes as marketable with follow from then on."""
    own: PartState | None = None
    """How its own legs ended, while what hangs on it goes on."""
    rows: tuple[RowToClose, ...] | None = None
    """The net positions it closes, once read; the hedge an exposure wants now."""
    rows_message: str | None = None
    """What could not be read or cleared before them; the part then ends as failed."""
    rows_at: float | None = None
    """When they (or `nets`) were read; None also for what was read before a restart."""
    rows_again: bool = False
    """Those for which nothing was sent are to be read again."""
    nets: Mapping[str, int] | None = None
    """Of an exposure: net units by instrument, as they were read for the next decision."""
    holders: tuple[str, ...] = ()
    """Brokers that have had a row of the exposure: without them it is not known."""
    joint: Mapping[str, Joint] = attrs.field(factory=dict)
    """Where a condition stands in `when` -> what it remembers of the joint profit and loss."""
    made: tuple[Instance, ...] = ()
    """The exits made for single fills."""
    held_up: str | None = None
    """Why an exit could not leave when it was tried last; it is tried again."""
    reserved: int = 0
    """Units taken off the resting leg for an immediate order (discretion)."""
    refusal: str | None = None
    """Why a leg was refused before it was sent: by a check of the engine."""
