"""Kotak Neo's words and numbers: words in both directions, segments, placeholders, times, units per quantity.

Source: docs/brokers/kotakneo.md, section 5 (documentation, official SDK's settings, live third-party client).
"""

import re
from collections.abc import Mapping

from onebroker.brokers.codec.fields import iso_time, listed_units, number, text
from onebroker.brokers.codec.spelled_times import spelled_moment
from onebroker.brokers.codec.words import Words
from onebroker.brokers.records import Listing
from onebroker.config.vocabulary import OrderStatus, OrderType, Product, Side, Validity

STATUSES: Words[OrderStatus, str] = Words(
    "kotakneo",
    OrderStatus,
    read_only={
        "PUT ORDER REQ RECEIVED": OrderStatus.PENDING,
        "VALIDATION PENDING": OrderStatus.PENDING,
        "OPEN PENDING": OrderStatus.PENDING,
        "AFTER MARKET ORDER REQ RECEIVED": OrderStatus.PENDING,
        "MODIFY AFTER MARKET ORDER REQ RECEIVED": OrderStatus.PENDING,
        # Not working in the market yet (docs/decisions/0009-trigger-pending-is-pending.md).
        "TRIGGER PENDING": OrderStatus.PENDING,
        "OPEN": OrderStatus.OPEN,
        "MODIFIED": OrderStatus.OPEN,
        "MODIFY PENDING": OrderStatus.OPEN,
        "MODIFY VALIDATION PENDING": OrderStatus.OPEN,
        "CANCEL PENDING": OrderStatus.OPEN,
        "COMPLETE": OrderStatus.COMPLETE,
        "TRADED": OrderStatus.COMPLETE,
        "CANCELLED": OrderStatus.CANCELLED,
        "CANCELED": OrderStatus.CANCELLED,
        "CANCELLED AFTER MARKET ORDER": OrderStatus.CANCELLED,
        "REJECTED": OrderStatus.REJECTED,
    },
    unsupported={OrderStatus.EXPIRED},
)
"""Words of `ordSt`, which come in lower case. No word for EXPIRED has been seen; `expired` would pass through as EXPIRED."""

SIDES = Words("kotakneo", Side, both={Side.BUY: "B", Side.SELL: "S"})

PRODUCTS = Words(
    "kotakneo",
    Product,
    both={Product.CNC: "CNC", Product.MIS: "MIS", Product.NRML: "NRML"},
    read_only={"MTF": Product.MTF, "CO": Product.CO, "BO": Product.BO},
    unsupported={Product.ARB},
)
"""CO and BO occur only in old rows: both were withdrawn on 1 April 2026."""

ORDER_TYPES = Words(
    "kotakneo",
    OrderType,
    both={OrderType.MARKET: "MKT", OrderType.LIMIT: "L", OrderType.SL: "SL", OrderType.SL_M: "SL-M"},
    read_only={"LMT": OrderType.LIMIT},  # the order stream's spelling, by the SDK's own remark
)

VALIDITIES = Words(
    "kotakneo",
    Validity,
    both={Validity.DAY: "DAY", Validity.IOC: "IOC"},
    unsupported={Validity.GTT, Validity.GTC, Validity.GTD},
)

EXCHANGES = {
    "nse_cm": "nse", "nse_fo": "nse", "cde_fo": "nse", "nse_com": "nse",
    "bse_cm": "bse", "bse_fo": "bse", "bcs_fo": "bse",
    "mcx_fo": "mcx",
}  # fmt: skip
"""Segment -> our exchange."""
ORDER_SEGMENTS = frozenset({"nse_cm", "bse_cm", "nse_fo", "bse_fo", "mcx_fo"})
"""Segments in which the official client of 2026 places orders; the documents also name cde_fo."""
CASH_SEGMENTS = frozenset({"nse_cm", "bse_cm"})
CONTRACT_SEGMENTS = frozenset({"cde_fo", "bcs_fo", "nse_com", "mcx_fo"})
"""Segments where a quantity may count contracts: the instrument file says how many units one contract has (`instruments`)."""
DAY_ONLY_SEGMENTS = frozenset({"mcx_fo"})
CANDLE_SEGMENTS = frozenset({"nse_cm", "nse_fo", "bse_cm", "bse_fo"})

AFTER_MARKET = "AMO"
"""`ordGenTp` of an after-market order; kept as the row's variety."""

_NOTHING = frozenset({"", "NA", "--", "-", "N/A"})
"""How the broker writes "none"; `- ` with its blank is also such a word."""
_SLASHED = re.compile(r"(\d{4})/(\d{2})/(\d{2}) +(\d{2}:\d{2}:\d{2})")


def token_of(segment: str, number: object) -> str:
    """Return the broker token, `nse_cm|2885`: exchange tokens are unique within a segment only."""
    return f"{segment}|{number}"


def segment(broker_token: str) -> str:
    """Return the segment of a broker token."""
    return broker_token.partition("|")[0]


def wire_name(listing: Listing) -> str:
    """Return the name that quotes and the market stream use: for an index its display name."""
    return listing.broker_token if listing.other_names is None else token_of(listing.exchange, listing.other_names)


def said(value: object) -> str | None:
    """Return a text; None for the broker's placeholders of "none"."""
    spelled = text(value)
    return None if spelled is None or spelled.strip().upper() in _NOTHING else spelled.strip()


def stamp(value: object) -> str | None:
    """Return a time of the broker's, which is Indian (`22-Jan-2025 14:28:01`, `2025/01/22 14:28:01`), as ISO with its offset."""
    spelled = said(value)
    if spelled is None:
        return None
    if (match := _SLASHED.fullmatch(spelled)) is not None:
        return iso_time(f"{match[1]}-{match[2]}-{match[3]} {match[4]}")
    moment = spelled_moment(spelled)
    return iso_time(spelled) if moment is None else moment.isoformat()


def row_units(row: Mapping[str, object], broker_token: str, listings: Mapping[str, Listing]) -> int | None:
    """Return `contract_units` for a book's row. Where the listing does not give them, the row's own lot and multiplier
    do, by the rule of the instrument files: a lot above 1 is counted in units, else the multiplier is the size of a
    contract."""
    units = contract_units(broker_token, listings)
    if units is not None:
        return units
    if (number(row.get("lotSz")) or 0.0) > 1:
        return 1
    multiplier = number(row.get("multiplier")) or 0.0
    return int(multiplier) if multiplier > 1 and multiplier == int(multiplier) else None


def contract_units(broker_token: str, listings: Mapping[str, Listing]) -> int | None:
    """Return the units in one of the broker's quantities; None when it counts in contracts of unknown size."""
    if segment(broker_token) not in CONTRACT_SEGMENTS:
        return 1
    return listed_units(broker_token, listings)
