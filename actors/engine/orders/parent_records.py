"""The stored records of a parent and its legs, and how they are written and read (order-engine 2.4, 5.5)."""

from collections.abc import Mapping
from decimal import Decimal
from enum import StrEnum
from typing import Any

import attrs
import msgspec

from onebroker.actors.engine.orders.part_state import PartRecord
from onebroker.config.converters import StructureError, structure


class ParentState(StrEnum):
    RECEIVED = "received"
    ARMED = "armed"
    WORKING = "working"
    CANCELLING = "cancelling"
    COMPLETED = "completed"
    CANCELLED = "cancelled"
    REJECTED = "rejected"
    EXPIRED = "expired"
    FAILED = "failed"
    HALTED = "halted"

    @property
    def final(self) -> bool:
        return self not in _OPEN_PARENTS


_OPEN_PARENTS = frozenset({ParentState.RECEIVED, ParentState.ARMED, ParentState.WORKING, ParentState.CANCELLING})


class LegState(StrEnum):
    SENDING = "sending"
    UNKNOWN = "unknown"
    PENDING = "pending"
    OPEN = "open"
    CANCELLING = "cancelling"
    COMPLETE = "complete"
    CANCELLED = "cancelled"
    REJECTED = "rejected"
    EXPIRED = "expired"
    NOT_SENT = "not_sent"

    @property
    def final(self) -> bool:
        return self not in _OPEN_LEGS

    @property
    def unsettled(self) -> bool:
        """Whether it is unknown if the broker has the order."""
        return self in (LegState.SENDING, LegState.UNKNOWN)


_OPEN_LEGS = frozenset({LegState.SENDING, LegState.UNKNOWN, LegState.PENDING, LegState.OPEN, LegState.CANCELLING})


@attrs.frozen(kw_only=True)
class LegChange:
    """New values of a resting order; None = unchanged. Rupees and units, with the field names of a place."""

    price: Decimal | None = None
    trigger_price: Decimal | None = None
    quantity: int | None = None
    """New total quantity."""
    order_type: str | None = None
    validity: str | None = None
    disclosed_quantity: int | None = None

    def given(self) -> dict[str, Any]:
        """Return the given values by field, in the order of the spec."""
        return {name: value for name, value in attrs.asdict(self).items() if value is not None}


@attrs.frozen(kw_only=True)
class LegRecord:
    """One broker order of a parent. Quantities in units, prices in rupees, times in epoch seconds."""

    leg_id: str
    part: str
    """Part path; `entry` for a simple order."""
    token: str
    broker: str
    segment: str
    instrument_token: str
    tradingsymbol: str
    transaction_type: str
    product: str
    order_type: str
    validity: str
    quantity: int
    price: Decimal | None
    trigger_price: Decimal | None
    session_day: str
    """YYYY-MM-DD; together with broker and order_id it identifies the order (brokers reuse ids)."""
    state: LegState = LegState.SENDING
    order_id: str | None = None
    status_message: str | None = None
    filled_quantity: int = 0
    average_price: float | None = None
    broker_response: Any = None
    cancel_reason: str | None = None
    """Why the leg is cancelled, such as `caller`, `plan`, `late`. A flatten sets the reason before any cancel is written."""
    cancel_accepted: bool = False
    """Whether the broker accepted a cancel: such a leg is never changed again (rules 2.4.4)."""
    wanted: LegChange | None = None
    """Values written ahead for a modify whose result is not known yet (order-engine 2.4 c)."""
    modifies: int = 0
    """How many modifies were sent. Counted ahead; a modify that certainly did not leave, or was turned away, is taken off again."""
    instrument_id: str = ""
    """Set on a plan's leg; a simple order has its parent's."""
    piece: int = 0
    """Which piece of its part's quantity the leg carries (order-engine 1.5)."""
    instance: str | None = None
    """The fill or position row for which the leg was made, or a mark that the leg closes its part's filled quantity."""
    given_up: bool = False
    """Whether the leg stays unknown until its session ends: the broker shows more candidate orders than there are such legs (row 13b)."""
    tag: str | None = None
    """The caller's tag of the leg's part, where it is another than the parent's."""
    entry_tag: str | None = None
    """The tag of the entry whose units the leg closes, where it is another than the leg's own: a close by that tag ends the leg too."""
    fills_unknown: bool = False
    """Whether the leg ended unseen: its day is over, no book shows it, and its last fills are not known (K15)."""
    moved_at: float = 0.0
    """When the leg's price was moved last."""
    taken_off: int = 0
    """Units that another hand took off the order at its broker (order-engine 2.2, row 24b). Negative: units that it added."""
    taken_back: int = 0
    """Filled units that the broker has taken back: the exchange annulled their trade."""
    taken_off_at: float = 0.0
    """When that was last found out."""
    unsent: bool = False
    """Whether another leg replaces this one, an exit of a running plan: no connection could be opened for it, or its broker turned it away
    before looking at the order."""
    refused_late: bool = False
    """Whether its broker refused the order in its book, after the parent's caller had been answered that it was accepted, or not known."""
    found_by_token: bool = False
    """Whether it is only known that the broker has the order: the store had lost the leg, the broker was asked for it by token, and no
    book has shown it yet (K19). Its quantity, prices and side are guesses until then."""
    sent_at: float = 0.0
    updated_at: float = 0.0

    @property
    def awaits_book(self) -> bool:
        """Whether a book must show the order before the parent continues."""
        return self.found_by_token and self.state.unsettled and not self.given_up


class Flattened(StrEnum):
    """What is known of the units that a halted plan had open. None: there were none, or they are closed."""

    CLOSING = "closing"
    """The flatten that halted the plan closes them, or should."""
    LEFT = "left"
    """They were not closed in time."""


@attrs.frozen(kw_only=True)
class ParentRecord:
    """One order that a caller asked of the engine (rules 2.2.5). Times in epoch seconds."""

    parent_order_id: str
    synthetic_type: str
    routed_from: str | None
    state: ParentState
    instrument_id: str
    intent_id: str
    created_at: float
    updated_at: float
    deadline: float
    """Epoch seconds at which the caller stops waiting."""
    body: Mapping[str, Any]
    parameters: Mapping[str, Any]
    tag: str | None
    """The caller's own tag."""
    status_message: str | None = None
    troubles: tuple[str, ...] = ()
    """What is wrong with the parent now, such as units that are open without a stop (`actors/engine/context/troubles.py`)."""
    filled_after_end: Mapping[str, int] = attrs.field(factory=dict)
    """Of a plan that a caller or a flatten ended: instrument id -> units that its entries filled since then, less its exits."""
    flattened: Flattened | None = None
    """Of a plan that a flatten halted with open units: whether these were closed afterwards."""
    over_filled_quantity: int = 0
    legs: tuple[LegRecord, ...] = ()
    skipped: tuple[Mapping[str, str], ...] = ()
    warnings: tuple[str, ...] = ()
    """What the answer says about the orders that left: positions that they open beside units held at other brokers."""
    answered: bool = False
    """Whether the caller's answer was written."""
    plan: Mapping[str, Any] | None = None
    """The tree as `plan.stored_tree` writes it; None for a simple order."""
    parts: Mapping[str, PartRecord] = attrs.field(factory=dict)
    """Part path -> the record of that part of the plan."""

    def said(self) -> str | None:
        """Return the `status_message` that is shown for the parent: the stored message, and what is wrong with the parent now."""
        said = [] if self.status_message is None else self.status_message.split("; ")
        return "; ".join(dict.fromkeys([*said, *self.troubles])) or None

    def leg(self, leg_id: str) -> LegRecord | None:
        return next((leg for leg in self.legs if leg.leg_id == leg_id), None)

    def with_leg(self, leg: LegRecord) -> "ParentRecord":
        """Return the record with `leg` added, or in place of the leg with the same id."""
        others = tuple(leg if held.leg_id == leg.leg_id else held for held in self.legs)
        return attrs.evolve(self, legs=others if self.leg(leg.leg_id) else (*self.legs, leg))


_ENCODER = msgspec.json.Encoder(decimal_format="number")


def encode_parent(record: ParentRecord) -> bytes:
    return _ENCODER.encode(attrs.asdict(record))


def decode_parent(body: bytes) -> ParentRecord:
    """Read a stored parent. Raises `config.converters.StructureError` when the text is not a parent."""
    try:
        document = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise StructureError(["orders:parent is not JSON"]) from error
    return structure(ParentRecord, document, "orders:parent")


@attrs.frozen(kw_only=True)
class LegEntry:
    """The value of `orders:leg:…` and `orders:token:…`: the owner of an order."""

    parent_id: str
    leg_id: str
    synthetic_type: str
    intent_id: str
    leg_role: str
    tag: str | None
    broker: str
    session_day: str = ""
    """YYYY-MM-DD: the day on which the order id is valid."""
    entry_tag: str | None = None
    """`LegRecord.entry_tag`."""


def encode_entry(entry: LegEntry) -> bytes:
    return msgspec.json.encode(entry)


def decode_entry(body: bytes) -> LegEntry | None:
    """Return the entry, or None when the text cannot be read as an entry."""
    try:
        return msgspec.json.decode(body, type=LegEntry)
    except msgspec.MsgspecError:
        return None


def tag_of(record: ParentRecord, leg: LegRecord) -> str | None:
    """Return the caller's tag of a leg: that of its part, else of its parent."""
    return record.tag if leg.tag is None else leg.tag


def entry_of(record: ParentRecord, leg: LegRecord) -> LegEntry:
    return LegEntry(
        parent_id=record.parent_order_id,
        leg_id=leg.leg_id,
        synthetic_type=record.synthetic_type,
        intent_id=record.intent_id,
        leg_role=leg.part,
        tag=tag_of(record, leg),
        broker=leg.broker,
        session_day=leg.session_day,
        entry_tag=leg.entry_tag,
    )
