"""What the engine stores of a parent and its legs, and how it is written and read (order-engine 2.4, 5.5)."""

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
        """Whether it is not known if the broker has it."""
        return self in (LegState.SENDING, LegState.UNKNOWN)


_OPEN_LEGS = frozenset({LegState.SENDING, LegState.UNKNOWN, LegState.PENDING, LegState.OPEN, LegState.CANCELLING})


@attrs.frozen(kw_only=True)
class LegChange:
    """New values of a resting order; None = as it is. Rupees and units, as a place names them."""

    price: Decimal | None = None
    trigger_price: Decimal | None = None
    quantity: int | None = None
    """New total."""
    order_type: str | None = None
    validity: str | None = None
    disclosed_quantity: int | None = None

    def given(self) -> dict[str, Any]:
        """Return the values that are given, by field, in the order of the spec."""
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
    """YYYY-MM-DD; with broker and order_id it names the order (brokers use ids again)."""
    state: LegState = LegState.SENDING
    order_id: str | None = None
    status_message: str | None = None
    filled_quantity: int = 0
    average_price: float | None = None
    broker_response: Any = None
    cancel_reason: str | None = None
    """Why a cancel was written ahead: `caller`, `plan`, `late`."""
    cancel_accepted: bool = False
    """Whether the broker took a cancel: such a leg is never changed again (rules 2.4.4)."""
    wanted: LegChange | None = None
    """Values written ahead of a modify whose result is not known yet (order-engine 2.4 c)."""
    modifies: int = 0
    """How many modifies were sent; written ahead, and taken back of one that certainly did not leave."""
    instrument_id: str = ""
    """Of a plan's leg; a simple order's is the parent's."""
    piece: int = 0
    """Which piece of its part's quantity it carries (order-engine 1.5)."""
    instance: str | None = None
    """Which fill or position row it was made for, or that it closes what its part filled."""
    given_up: bool = False
    """Whether it stays unknown to its session's end: the broker shows more orders that could be it than there are (row 13b)."""
    fills_unknown: bool = False
    """Whether it ended unseen: its day is over, no book shows it, and what it filled last is not known (K15)."""
    moved_at: float = 0.0
    """When its price was moved last."""
    unsent: bool = False
    """Whether no connection could be opened for it, or its broker turned it away at the door, and another goes in its place: an exit of
    a running plan."""
    found_by_token: bool = False
    """Whether no more is known of it than that its broker has it: the store had lost it, its broker was asked for it by its token, and no
    book has shown it yet (K19). Its quantity, prices and side are guesses until then."""
    sent_at: float = 0.0
    updated_at: float = 0.0

    @property
    def awaits_book(self) -> bool:
        """Whether a book must show it before its parent goes on."""
        return self.found_by_token and self.state.unsettled and not self.given_up


@attrs.frozen(kw_only=True)
class ParentRecord:
    """One order asked of the engine (rules 2.2.5). Times in epoch seconds."""

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
    """The caller's own."""
    status_message: str | None = None
    troubles: tuple[str, ...] = ()
    """What is wrong with it now, such as units that are open without a stop (`actors/engine/context/troubles.py`)."""
    filled_after_end: Mapping[str, int] = attrs.field(factory=dict)
    """Of a plan that a caller or a flatten ended: instrument id -> units that its entries filled since, less its exits."""
    over_filled_quantity: int = 0
    legs: tuple[LegRecord, ...] = ()
    skipped: tuple[Mapping[str, str], ...] = ()
    answered: bool = False
    """Whether the caller's answer was written."""
    plan: Mapping[str, Any] | None = None
    """The tree as `plan.stored` writes it; None for a simple order."""
    parts: Mapping[str, PartRecord] = attrs.field(factory=dict)
    """Path -> how that part of the plan stands."""

    def said(self) -> str | None:
        """Return what is shown as the parent's `status_message`: what was said of it, and what is wrong with it now."""
        said = [] if self.status_message is None else self.status_message.split("; ")
        return "; ".join(dict.fromkeys([*said, *self.troubles])) or None

    def leg(self, leg_id: str) -> LegRecord | None:
        return next((leg for leg in self.legs if leg.leg_id == leg_id), None)

    def with_leg(self, leg: LegRecord) -> "ParentRecord":
        """Return the record with `leg` in the place of the one of the same id, or added."""
        others = tuple(leg if held.leg_id == leg.leg_id else held for held in self.legs)
        return attrs.evolve(self, legs=others if self.leg(leg.leg_id) else (*self.legs, leg))


_ENCODER = msgspec.json.Encoder(decimal_format="number")


def encode_parent(record: ParentRecord) -> bytes:
    return _ENCODER.encode(attrs.asdict(record))


def decode_parent(body: bytes) -> ParentRecord:
    """Read a stored parent. Raises `config.converters.StructureError` when it is not one."""
    try:
        document = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise StructureError(["orders:parent is not JSON"]) from error
    return structure(ParentRecord, document, "orders:parent")


@attrs.frozen(kw_only=True)
class LegEntry:
    """What `orders:leg:…` and `orders:token:…` hold: whose an order is."""

    parent_id: str
    leg_id: str
    synthetic_type: str
    intent_id: str
    leg_role: str
    tag: str | None
    broker: str
    session_day: str = ""
    """YYYY-MM-DD: the day for which the order id counts."""


def encode_entry(entry: LegEntry) -> bytes:
    return msgspec.json.encode(entry)


def decode_entry(body: bytes) -> LegEntry | None:
    """Return the entry, or None when it cannot be read as one."""
    try:
        return msgspec.json.decode(body, type=LegEntry)
    except msgspec.MsgspecError:
        return None


def entry_of(record: ParentRecord, leg: LegRecord) -> LegEntry:
    return LegEntry(
        parent_id=record.parent_order_id,
        leg_id=leg.leg_id,
        synthetic_type=record.synthetic_type,
        intent_id=record.intent_id,
        leg_role=leg.part,
        tag=record.tag,
        broker=leg.broker,
        session_day=leg.session_day,
    )
