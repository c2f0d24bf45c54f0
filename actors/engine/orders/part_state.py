"""The record of each part of a plan, kept from one look to the next and in the store (order-engine 2.1, 2.4)."""

from collections.abc import Mapping
from decimal import Decimal
from enum import StrEnum
from typing import NamedTuple

import attrs

from onebroker.config.vocabulary import Side


class PartState(StrEnum):
    PENDING = "pending"
    """Not due."""
    WAITING = "waiting"
    """Due, but its condition is not true yet or a price is missing."""
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
    """A bar of last prices that is still being built. Times in epoch seconds."""

    began: float
    high: Decimal
    low: Decimal
    close: Decimal
    whole: bool
    """Whether the bar was watched from its beginning."""


@attrs.frozen(kw_only=True)
class Bars:
    """Bars of one instrument since a part was armed, and Wilder's average true range over them."""

    open_bar: Bar | None = None
    until: float | None = None
    """Epoch seconds at which the newest closed bar ended. Prices received before that are in the bars already."""
    closed: int = 0
    last_close: Decimal | None = None
    """Close of the newest whole bar."""
    ranges: tuple[Decimal, ...] = ()
    """True ranges, collected until there are enough for the first average."""
    atr: Decimal | None = None


@attrs.frozen(kw_only=True)
class Memory:
    """The memory of a price rule."""

    watermark: Decimal | None = None
    """Best last price since the start."""
    active: bool = False
    """Whether `activate_at` was reached; of a stop with break-even, whether the stop was moved; of a limit with a crossing
    rule, whether the limit was already compared with the touch (`machine/crossing.py`)."""
    stop: Decimal | None = None
    """The trigger in force, which never moves back."""
    base: Decimal | None = None
    """Price of the watched instrument when the rule began, or where a chase began. Of a stop below a fill: the last price known
    when the fill was heard of."""
    shift: Decimal = Decimal(0)
    """The difference that a caller's own price adds to the rule."""
    passed: int = 0
    """Of a stop that milestones move: how many were passed when `shift` was measured. The next one ends it."""
    own_price: Decimal | None = None
    """A caller's own price whose distance from the rule could not be measured yet; None = no such price."""
    since: float | None = None
    """Epoch seconds from which steps are counted."""
    began: float | None = None
    """Epoch seconds at which the rule began."""
    bars: Bars = Bars()
    resolved: Mapping[str, Decimal] = attrs.field(factory=dict)
    """Number of a piece -> the price to which its price reference resolved."""
    past_limit_since: float | None = None
    """Epoch seconds since which the market has been past a stop's limit."""


@attrs.frozen(kw_only=True)
class Ending:
    """The ending of a part: it sends nothing more, its resting legs are cancelled, and then its state is `state`."""

    state: PartState
    message: str | None = None
    close: bool = False
    """The filled quantity is closed first (1.8, close_filled)."""
    marketable: bool = False
    """The resting and the unsent quantity continue as marketable with follow (1.8, marketable)."""
    by_caller: bool = False
    """A caller ended the part, not the plan."""
    unfilled: bool = False
    """The part that this part hangs on ended without a fill."""
    lost: bool = False
    """Neither the plan nor its caller wanted this ending: an exit that ends so leaves its units open."""


def is_of_row(instance: str | None) -> bool:
    """Whether a leg is for a position (`Holding.key`), and not for a fill or a closing."""
    return instance is not None and "|" in instance


class Holding(NamedTuple):
    """The place of a position: its row at one broker."""

    broker: str
    instrument_id: str
    product: str
    """In the words of a position: delivery, intraday, carry."""

    @property
    def key(self) -> str:
        """What its legs carry as `instance`."""
        return f"{self.broker}|{self.instrument_id}|{self.product}"


def closing_side(net: int) -> Side:
    """Return the side of the order that closes a position of so many signed units."""
    return Side.SELL if net > 0 else Side.BUY


@attrs.frozen(kw_only=True)
class RowToClose:
    """A net position that a part closes, as it was read; or one hedge of an exposure."""

    key: str
    """What its legs carry as `instance`."""
    broker: str | None
    """The position's broker; None: a hedge may go to any broker."""
    instrument_id: str
    product: str
    """Product to send."""
    quantity: int
    """Signed. Of a net position: its units, as far as they are used. Of a hedge: the units to buy, negated."""
    units: int
    """Units to send in all."""
    refusal: str | None = None
    """Why a check of the engine refused an order for this row before it was sent."""
    cleared: bool = False
    """Whether the close has ended orders or waiting exits that would have closed the position, so that it guards the position now."""

    @property
    def closing_side(self) -> Side:
        return closing_side(self.quantity)


@attrs.frozen(kw_only=True)
class Joint:
    """The memory of a condition on the joint profit and loss of positions; rupees."""

    base: Decimal
    """The profit and loss from which gains are counted."""
    best: Decimal
    """The best gain so far."""
    holders: tuple[str, ...]
    """Brokers that had such a position when the base was taken."""


@attrs.frozen(kw_only=True)
class Instance:
    """An exit made for one fill of the part it hangs on."""

    key: str
    leg_id: str
    """The leg whose fill it is."""
    quantity: int
    """Units of that fill; further fills at the same price are added."""
    price: Decimal
    """The price from which the exit is measured."""


@attrs.frozen(kw_only=True)
class PartRecord:
    """The current record of one part. Times in epoch seconds, quantities in units."""

    state: PartState = PartState.PENDING
    status_message: str | None = None
    due_at: float | None = None
    """When the part's turn came; None = not yet."""
    fired: bool = False
    """The part's `when` came true, or it has no `when`; never taken back."""
    fired_at: float | None = None
    """When `fired` became true."""
    times_seen: tuple[str, ...] = ()
    """Places in `when` of the times that came while the plan was watched: such a time is never late again."""
    over: bool = False
    """Of a group: its lifetime has ended; never taken back."""
    released: bool = False
    """The market has reached the part's held limit."""
    started_at: float | None = None
    """When the part began to send; its pieces are timed from here."""
    ending: Ending | None = None
    quantity: int | None = None
    """A caller's own quantity, which replaces the plan's. Of a shrink group: the quantity that it guards in all (records of before `taken_by_caller`)."""
    taken_by_caller: int = 0
    """Units that callers have taken off the orders of an exit, or of a shrink group. What its entry fills later is guarded all the same."""
    price: Decimal | None = None
    trigger_price: Decimal | None = None
    memory: Memory = Memory()
    directions: Mapping[str, str] = attrs.field(factory=dict)
    """Place of a condition in `when` (`""`, `all.0`) -> the direction taken when it was armed."""
    condition_bars: Mapping[str, Bars] = attrs.field(factory=dict)
    sizes: tuple[int, ...] = ()
    """The piece sizes that were drawn."""
    volume_base: int | None = None
    """The market's volume when participation began; the volumes of later days are counted on."""
    volume_seen: int | None = None
    """The largest volume that participation has seen today; None = no second figure has borne out the base yet."""
    volume_base_at: float | None = None
    """When the quote of the base was received, in epoch seconds: it bears itself out by no second look."""
    volume_day: str | None = None
    """The day (YYYY-MM-DD) of `volume_seen`, or of the base."""
    armed_day: str | None = None
    """The day (YYYY-MM-DD) on which a daily leg was refused before it was sent, or was found again. No more legs are sent for that day."""
    arms_at: float | None = None
    """When a daily part sends its next order; None while an order rests, or when no trading day is known."""
    marketable: bool = False
    """Either its lifetime ended with `marketable`, or the market fell through the trigger to which its stop was to be moved. From then
    on, the unfilled quantity goes as marketable with follow."""
    action_day: str | None = None
    """The day (YYYY-MM-DD) on which a corporate action of its share scaled or ended the part."""
    figures_days: Mapping[str, str] = attrs.field(factory=dict)
    """Share -> the day (YYYY-MM-DD) whose prices and units the part's figures mean. A share that is missing: `action_day`, or else the day of
    the placement."""
    actions_seen: str | None = None
    """The last day (YYYY-MM-DD) on which the part went through a session without a corporate action of its shares."""
    changed_day: str | None = None
    """The last day (YYYY-MM-DD) on which a caller, or another hand at a broker, gave the part figures of its own."""
    own: PartState | None = None
    """How the part's own legs ended, while the parts that hang on it continue."""
    rows: tuple[RowToClose, ...] | None = None
    """The net positions that the part closes, once they are read; or the hedge that an exposure wants now."""
    rows_message: str | None = None
    """What could not be read or cleared before these rows; the part then ends as failed. Of an exposure: why its units are not known; it waits."""
    rows_at: float | None = None
    """When `rows` (or `nets`) were read; None also for rows read before a restart."""
    rows_again: bool = False
    """Whether to read the rows again for which nothing was sent."""
    rows_wait: Mapping[str, str] = attrs.field(factory=dict)
    """Instrument -> why a position in it is not closed yet; what rests at it was left alone. It is read again."""
    rows_unread: tuple[str, ...] = ()
    """Brokers whose positions could not be read, so that they are not closed yet. They are read again."""
    rows_unheard: bool = False
    """Whether the caller had the answer before any row was read: it hears nothing of what could not be closed."""
    rows_cleared: tuple[str, ...] = ()
    """`RowToClose.key` of the positions whose guards the close has ended, also of positions that are no rows."""
    cleared_first: tuple[RowToClose, ...] = ()
    """The positions, as far as they are cleared, before there are any rows: their guards have ended already, and the first read is under way."""
    nets: Mapping[str, int] | None = None
    """Of an exposure: net units by instrument, as read for the next decision."""
    holders: tuple[str, ...] = ()
    """Brokers that have had a row of the exposure: without these brokers the exposure is not known."""
    joint: Mapping[str, Joint] = attrs.field(factory=dict)
    """Place of a condition in `when` -> its memory of the joint profit and loss."""
    made: tuple[Instance, ...] = ()
    """The exits made for single fills."""
    held_up: str | None = None
    """Why an exit could not leave at the last try, or why what is due cannot happen; it is tried again."""
    waits_since: float | None = None
    """Since when what is due cannot happen (`plan/machine/overdue.py`); None = it can, or is not due."""
    gone: Mapping[str, int] = attrs.field(factory=dict)
    """Broker -> units that the part has filled, or guards, and that somebody else has closed (`plan/machine/held_units.py`)."""
    gone_most: Mapping[str, int] = attrs.field(factory=dict)
    """Broker -> the most that `gone` has been. What has come back since is guarded only as far as no other exit does (`plan/machine/free_units.py`)."""
    missing_since: float | None = None
    """Since when shares that the part guarded on an earlier day are not in the holdings, and no sale explains it (`plan/machine/missing_shares.py`)."""
    armed_over: int | None = None
    """Of an exit without an entry: the units that were held when it became due. 0: it is its caller's entry; None: that was not settled."""
    armed_beside: int | None = None
    """Of these units, those that another plan had bought and guarded then: their caller wants a second exit over them (`plan/machine/free_units.py`)."""
    armed_against: int | None = None
    """Of an entry whose exits guard nothing (a grid's rung, the first order of an `oto`): the units on the other side that were held when it became
    due. Its fills close these first, and what they close opens nothing that could go; None: that was not settled."""
    swaps: bool = False
    """Whether a target is swapped in for the stop of its group, because its broker has refused to have both (`plan/machine/swaps.py`)."""
    swaps_since: float | None = None
    """Since when, where the target was meant to rest beside the stop."""
    swap_units: int = 0
    """Units that a target wants to send and for which the stop is making room."""
    swap_filled: int = 0
    """The units that the target had filled when `swap_units` was noted: what fills after that has come true."""
    swap_at: float | None = None
    """When the market last touched the target of a swap, or the swap was wished."""
    reserved: int = 0
    """Units taken off the resting leg for an immediate order (discretion)."""
    refusal: str | None = None
    """Why a check of the engine refused a leg before it was sent."""
