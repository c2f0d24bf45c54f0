"""Dhan's words and numbers: value tables in both directions, segments, tokens, units per quantity, times.

Source: DhanHQ v2 documentation, annexure, not re-read by us; the letters of the order stream are from public live
captures. That MCX and currency quantities are lots is inferred from the files (lot 1), not from a recorded order.
"""

from collections.abc import Mapping
from typing import Final

from onebroker.brokers.codec.fields import iso_time, listed_units, text
from onebroker.brokers.codec.words import Words
from onebroker.brokers.records import Listing
from onebroker.config.vocabulary import OrderStatus, OrderType, Product, Side, Validity

STATUSES: Words[OrderStatus, str] = Words(
    "dhan",
    OrderStatus,
    read_only={
        "TRANSIT": OrderStatus.PENDING,  # not at the exchange yet
        "PENDING": OrderStatus.OPEN,  # a stop that waits for its trigger is called this too: see `waits_for_trigger`
        "CONFIRM": OrderStatus.OPEN,
        "MODIFIED": OrderStatus.OPEN,
        "PART_TRADED": OrderStatus.OPEN,
        "TRIGGERED": OrderStatus.OPEN,  # a leg of a super order
        "TRADED": OrderStatus.COMPLETE,
        "CLOSED": OrderStatus.COMPLETE,  # a super order with all its legs
        "REJECTED": OrderStatus.REJECTED,
        "CANCELLED": OrderStatus.CANCELLED,
        "EXPIRED": OrderStatus.EXPIRED,
    },
)
"""Versions of the annexure differ in which of these they list; all are read. The stream writes some in title case."""

SIDES = Words(
    "dhan",
    Side,
    both={Side.BUY: "BUY", Side.SELL: "SELL"},
    read_only={"B": Side.BUY, "S": Side.SELL},
)
"""Single letters, here and below, are the order stream's."""

PRODUCTS = Words(
    "dhan",
    Product,
    both={Product.CNC: "CNC", Product.MIS: "INTRADAY", Product.NRML: "MARGIN"},
    read_only={
        "C": Product.CNC, "I": Product.MIS, "M": Product.NRML, "MTF": Product.MTF, "F": Product.MTF,
        "CO": Product.CO, "V": Product.CO, "BO": Product.BO, "B": Product.BO,
    },
    unsupported={Product.ARB},
)  # fmt: skip

ORDER_TYPES = Words(
    "dhan",
    OrderType,
    both={
        OrderType.MARKET: "MARKET",
        OrderType.LIMIT: "LIMIT",
        OrderType.SL: "STOP_LOSS",
        OrderType.SL_M: "STOP_LOSS_MARKET",
    },
    read_only={"MKT": OrderType.MARKET, "LMT": OrderType.LIMIT, "SL": OrderType.SL, "SLM": OrderType.SL_M},
)

VALIDITIES = Words(
    "dhan",
    Validity,
    both={Validity.DAY: "DAY", Validity.IOC: "IOC"},
    unsupported={Validity.GTT, Validity.GTC, Validity.GTD},
)

SEGMENT_CODES: Mapping[int, str] = {
    0: "IDX_I", 1: "NSE_EQ", 2: "NSE_FNO", 3: "NSE_CURRENCY", 4: "BSE_EQ", 5: "MCX_COMM", 7: "BSE_CURRENCY", 8: "BSE_FNO",
}  # fmt: skip
"""The feed's number of a segment -> its name; 6 is unused, 0 holds the indices of every exchange."""

SEGMENT_PARTS: Mapping[tuple[str, str], str] = {
    ("NSE", "E"): "NSE_EQ", ("NSE", "D"): "NSE_FNO", ("NSE", "C"): "NSE_CURRENCY", ("NSE", "I"): "IDX_I",
    ("BSE", "E"): "BSE_EQ", ("BSE", "D"): "BSE_FNO", ("BSE", "C"): "BSE_CURRENCY", ("BSE", "I"): "IDX_I",
    ("MCX", "M"): "MCX_COMM", ("MCX", "I"): "IDX_I",
}  # fmt: skip
"""Exchange and segment, which the files and the order stream write as two fields -> segment."""

CASH_SEGMENTS = frozenset({"NSE_EQ", "BSE_EQ"})
INDEX_SEGMENT: Final = "IDX_I"
CURRENCY_SEGMENTS = frozenset({"NSE_CURRENCY", "BSE_CURRENCY"})
LOT_SEGMENTS = CURRENCY_SEGMENTS | {"MCX_COMM"}
"""In these segments quantities are lots; in the other known segments they are units."""
UNIT_SEGMENTS = frozenset(SEGMENT_CODES.values()) - LOT_SEGMENTS

_FIRST_YEAR = "1981"
"""0001 and 1980 mean no time."""


def token(segment: str, security_id: object) -> str:
    """Return the broker token of an instrument: security ids are unique only within a segment."""
    return f"{segment}:{security_id}"


def segment(broker_token: str) -> str:
    """Return the segment of a broker token: NSE_EQ of `NSE_EQ:1333`."""
    return broker_token.partition(":")[0]


def security_id(broker_token: str) -> str:
    return broker_token.partition(":")[2]


def instrument(listing: Listing) -> str:
    """Return the kind of instrument as Dhan calls it: EQUITY, INDEX, FUTIDX ... For a contract it is the listing's other name."""
    return listing.other_names or ("INDEX" if listing.exchange == INDEX_SEGMENT else "EQUITY")


def waits_for_trigger(status: str, order_type: str, filled: int) -> bool:
    """Tell whether an order counts as waiting for its trigger, so not working yet: a stop that has not traded
    (docs/decisions/0009-trigger-pending-is-pending.md). Dhan does not say when a stop was triggered. `status` and
    `order_type` are ours."""
    return status == OrderStatus.OPEN and order_type in (OrderType.SL, OrderType.SL_M) and not filled


def waits_for_market(status: str, after_market: bool, exchange_number: object) -> bool:
    """Tell whether an after-market order has not gone to the exchange yet; `status` is ours. Such orders were recorded as
    PENDING with the exchange's number 0."""
    return after_market and status == OrderStatus.OPEN and exchange_order_id(exchange_number) is None


def tag(value: object) -> str | None:
    """Return our tag of an order; `NA` means no tag."""
    written = text(value)
    return None if written is None or written.strip().upper() == "NA" else written


def contract_units(broker_token: str, listings: Mapping[str, Listing]) -> int | None:
    """Return the units in one of the broker's quantities; None when they are not known: lots, or an unknown segment."""
    if segment(broker_token) in UNIT_SEGMENTS:
        return 1
    return listed_units(broker_token, listings)


def exchange_order_id(value: object) -> str | None:
    """Return the exchange's order id; `0` means no id."""
    spelled = text(value)
    return None if spelled == "0" else spelled


def written_time(value: object) -> str | None:
    """Return a time as Dhan writes it (Indian, naive), or None for blank and for the dates that mean no time."""
    written = text(value)
    return None if written is None or written < _FIRST_YEAR else written


def order_time(value: object) -> str | None:
    """Return a time as ISO 8601 with the IST offset."""
    return iso_time(written_time(value))
