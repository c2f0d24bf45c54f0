"""Answers of flatten and of the halt of trading (rules 2.4.7; order-engine 4.10, 5.7)."""

from typing import Any, Literal

import msgspec

from onebroker.actors.store.durable import HaltMode
from onebroker.config.vocabulary import Outcome, Side
from onebroker.http.answers.place import Timing
from onebroker.http.answers.shared import INTENT_ID, SHARE, UNSET, SegmentName, Unset, UuidText


class OpenOrder(msgspec.Struct, kw_only=True):
    """An order that a flatten would cancel."""

    broker: str
    order_id: str
    status: str


class Closing(msgspec.Struct, kw_only=True):
    """An order that closes a position, or a slice of a position above the freeze quantity."""

    broker: str
    position_key: str
    instrument_token: str
    tradingsymbol: str
    exchange: str
    """The broker's own exchange code."""
    segment: SegmentName | None
    """Null when the broker's token does not name exactly one instrument."""
    product: str
    """Product word of a position, such as `intraday`."""
    quantity: int | None
    """Units of the position, signed; null when they are not known."""
    transaction_type: Side
    close_quantity: int | None
    """Units of the order."""
    covered_by_holdings: bool | Unset = UNSET
    """(ours) True: a sale out of the holdings, which this order buys back unless `skip_covered` is true. Else absent."""


class UnreadablePositions(msgspec.Struct, kw_only=True):
    """A broker of which some position rows could not be read."""

    broker: str
    status_message: str


class DoubtedPosition(msgspec.Struct, kw_only=True):
    """A position whose row at the broker and whose fills do not agree. Units are signed."""

    broker: str
    position_key: str
    instrument_id: UuidText | None
    """Null when the broker's token does not name exactly one instrument."""
    tradingsymbol: str
    product: str
    """Product word of a position, such as `intraday`."""
    shown: int
    """Units that the broker shows."""
    by_fills: int
    """Units by the broker's own orders: carried in, bought and sold."""
    since: str
    """Since when they do not agree, in Indian time."""
    status_message: str


class FlattenDryRun(msgspec.Struct, kw_only=True):
    """What a flatten would do; nothing was sent."""

    dry_run: Literal[True]
    would_cancel: list[OpenOrder]
    would_close: list[Closing]
    brokers_not_read: list[str]
    """Brokers whose orders or positions are not known now."""
    positions_not_readable: list[UnreadablePositions]
    positions_doubted: list[DoubtedPosition] | Unset = UNSET
    """Only when there are such positions."""
    timing_ms: Timing


class ParentsHalted(msgspec.Struct, kw_only=True):
    """What became of the engine's open parents."""

    halted_parents: int | Unset = UNSET
    partly: list[str] | Unset = UNSET
    """Of a close: ids of parents that also work outside its limits. They go on; their orders within the limits are cancelled."""
    error: str | Unset = UNSET
    """Why they could not be halted."""
    intent_id: UuidText | Unset = UNSET


class FlattenCancel(msgspec.Struct, kw_only=True):
    """The cancel of one order."""

    broker: str
    order_id: str
    sent: bool
    outcome: Outcome | None
    """Null when the cancel was not sent."""
    status_message: str | None


class UnshownOrder(msgspec.Struct, kw_only=True):
    """An order of ours that may be alive and that no broker's book shows."""

    broker: str
    leg_id: str
    order_id: str | None
    tradingsymbol: str
    transaction_type: Side
    quantity: int
    status_message: str


class FlattenClose(Closing, kw_only=True):
    """The close of one position."""

    sent: bool
    outcome: Outcome | None
    order_id: str | None
    status_message: str | None
    http_status: int
    """The status that place would give the order."""
    intent_id: UuidText | None


class Flattened(msgspec.Struct, kw_only=True):
    """What a flatten did."""

    halted: ParentsHalted
    cancelled: list[FlattenCancel]
    still_open_after_waiting: list[str]
    """`broker:order_id` of orders that the books still show open."""
    not_shown_after_waiting: list[UnshownOrder]
    """They may still fill, and are cancelled when their brokers show them."""
    closed: list[FlattenClose]
    positions_still_open_after_waiting: list[str]
    """`broker:position_key`."""
    brokers_not_read: list[str]
    positions_not_readable: list[UnreadablePositions]
    positions_doubted: list[DoubtedPosition] | Unset = UNSET
    """Only when there are such positions. They are closed by their fills, or by their row where it shows more than the fills explain."""
    flat: bool
    """True only when every cancel and close went out, and the brokers show nothing open and agree with their own fills."""
    timing_ms: Timing


class CloseLimits(msgspec.Struct, kw_only=True):
    """What a close covers; null = no limit."""

    broker: str | None
    instrument_id: UuidText | None
    product: str | None
    """Product word of a position, such as `intraday`."""
    tag: str | None


class CloseDryRun(FlattenDryRun, kw_only=True):
    """What a close within limits would do; nothing was sent."""

    closes: CloseLimits
    trades_not_read: list[str] | Unset = UNSET
    """`broker:position_key`; only of a close by tag, where the trade book does not show all fills: the units of the tag follow the order book then."""


class ClosedWithin(Flattened, kw_only=True):
    """What a close did within its limits. Every field is about the limits only."""

    closes: CloseLimits
    trades_not_read: list[str] | Unset = UNSET
    """`broker:position_key`; only of a close by tag, where the trade book does not show all fills: the units of the tag follow the order book then."""


class Halted(msgspec.Struct, kw_only=True):
    """Trading is halted, and the halt is stored."""

    halted: Literal[True]
    mode: HaltMode
    reason: str
    since: str
    """ISO 8601 with offset."""
    entries_under_way: bool
    """Whether a message that was leaving at that moment was not answered in time."""


class HaltState(msgspec.Struct, kw_only=True):
    """Whether trading is halted. The other fields are there only when it is."""

    halted: bool
    mode: HaltMode | Unset = UNSET
    reason: str | Unset = UNSET
    since: str | Unset = UNSET
    """ISO 8601 with offset."""


class Resumed(msgspec.Struct, kw_only=True):
    halted: Literal[False]


# --- examples ---------------------------------------------------------------------------------------------------------------

_CLOSING: dict[str, Any] = {
    "broker": "zerodha",
    "position_key": "408065:MIS",
    "instrument_token": "408065",
    "tradingsymbol": "INFY",
    "exchange": "NSE",
    "segment": "nse_equities",
    "product": "intraday",
    "quantity": 10,
    "transaction_type": "SELL",
    "close_quantity": 10,
}
DRY_RUN_EXAMPLE = {
    "dry_run": True,
    "would_cancel": [{"broker": "zerodha", "order_id": "251125000012345", "status": "OPEN"}],
    "would_close": [_CLOSING],
    "brokers_not_read": [],
    "positions_not_readable": [],
    "timing_ms": {"preparation": 1.1},
}
FLAT_EXAMPLE: dict[str, Any] = {
    "halted": {"halted_parents": 2},
    "cancelled": [
        {
            "broker": "zerodha",
            "order_id": "251125000012345",
            "sent": True,
            "outcome": "accepted",
            "status_message": None,
        }
    ],
    "still_open_after_waiting": [],
    "not_shown_after_waiting": [],
    "closed": [
        {
            **_CLOSING,
            "sent": True,
            "outcome": "accepted",
            "order_id": "251125000012399",
            "status_message": None,
            "http_status": 200,
            "intent_id": INTENT_ID,
        }
    ],
    "positions_still_open_after_waiting": [],
    "brokers_not_read": [],
    "positions_not_readable": [],
    "flat": True,
    "timing_ms": {"preparation": 1.4},
}
NOT_FLAT_EXAMPLE = {
    **FLAT_EXAMPLE, "positions_still_open_after_waiting": ["zerodha:408065:MIS"], "brokers_not_read": ["upstox"], "flat": False,
}  # fmt: skip
_LIMITS = {"broker": None, "instrument_id": SHARE["instrument_id"], "product": "intraday", "tag": None}
CLOSE_DRY_RUN_EXAMPLE = {**DRY_RUN_EXAMPLE, "closes": _LIMITS}
CLOSED_EXAMPLE = {**FLAT_EXAMPLE, "closes": _LIMITS, "halted": {"halted_parents": 2, "partly": []}}
NOT_CLOSED_EXAMPLE = {**NOT_FLAT_EXAMPLE, "closes": _LIMITS}
_HALT = {
    "halted": True,
    "mode": "reduce_only",
    "reason": "the feed shows wrong prices",
    "since": "2026-11-25T09:16:02.100+05:30",
}
HALTED_EXAMPLE = {**_HALT, "entries_under_way": False}
STATE_EXAMPLE = _HALT
RESUMED_EXAMPLE = {"halted": False}
