"""Fyers' words and numbers: words in both directions, segments, instrument tokens, tags, times, units per quantity.

Sources: documentation "FYERS API v3" (appendix, orders), not re-read by us; fyers-apiv3 3.2.0 (segments of its data socket).
Fyers writes most words as numbers. A number that we also send stands in its table as a number, the others as their digits.
"""

from collections.abc import Mapping
from typing import Final

from onebroker.brokers.codec.fields import listed_units, required, text
from onebroker.brokers.codec.spelled_times import spelled_moment
from onebroker.brokers.codec.words import Words
from onebroker.brokers.records import Listing
from onebroker.config.vocabulary import OrderStatus, OrderType, Product, Side, Validity

STATUSES: Words[OrderStatus, str] = Words(
    "fyers",
    OrderStatus,
    read_only={
        "1": OrderStatus.CANCELLED,
        "2": OrderStatus.COMPLETE,
        "4": OrderStatus.PENDING,  # in transit
        "5": OrderStatus.REJECTED,
        "6": OrderStatus.OPEN,  # everything that is pending at Fyers: `books.py` finds what is not working yet
        "7": OrderStatus.EXPIRED,
    },
)
"""3 is not used."""

SIDES = Words("fyers", Side, both={Side.BUY: 1, Side.SELL: -1})

PRODUCTS = Words(
    "fyers",
    Product,
    both={Product.CNC: "CNC", Product.MIS: "INTRADAY", Product.NRML: "MARGIN"},
    read_only={"MTF": Product.MTF, "CO": Product.CO, "BO": Product.BO},
    unsupported={Product.ARB},
)

ORDER_TYPES = Words(
    "fyers",
    OrderType,
    both={OrderType.LIMIT: 1, OrderType.MARKET: 2, OrderType.SL_M: 3, OrderType.SL: 4},
)

VALIDITIES = Words(
    "fyers",
    Validity,
    both={Validity.DAY: "DAY", Validity.IOC: "IOC"},
    unsupported={Validity.GTT, Validity.GTC, Validity.GTD},
)

SEGMENTS = {
    "1010": "nse_cm", "1011": "nse_fo", "1012": "cde_fo", "1020": "nse_com",
    "1210": "bse_cm", "1211": "bse_fo", "1212": "bcs_fo",
    "1120": "mcx_fo",
}  # fmt: skip
"""The numbers of exchange and segment, with which every fyToken begins -> the data socket's word for both."""
EXCHANGES = {
    "nse_cm": "nse", "nse_fo": "nse", "cde_fo": "nse", "nse_com": "nse",
    "bse_cm": "bse", "bse_fo": "bse", "bcs_fo": "bse",
    "mcx_fo": "mcx",
}  # fmt: skip
CASH_SEGMENTS = frozenset({"nse_cm", "bse_cm"})
LOT_SEGMENTS = frozenset({"cde_fo", "bcs_fo", "nse_com", "mcx_fo"})
"""Currency and commodity: in these segments quantities are lots of the contract's size; in the other known segments they are units."""
UNIT_SEGMENTS = frozenset(EXCHANGES) - LOT_SEGMENTS

_TOKEN_AT: Final = 10
"""A fyToken is exchange (2), segment (2), expiry as YYMMDD (zeros for cash), then the exchange's own token."""

_INDEX_TICKER: Final = "-INDEX"
_USER_TAG, _NO_TAG = "1", "UNTAGGED"
_NO_YEAR: Final = 1970


def segment_token(segment: str, tail: str) -> str:
    """Return our broker_token of an instrument: the data socket's segment and the exchange's token (an index's name)."""
    return f"{segment}|{tail}"


def broker_token(row: Mapping[str, object], *names: str) -> str:
    """Return our broker_token for the fyToken of a row, a text or a number, from the first of `names` that is filled.

    A bare token is completed by the row's exchange and segment. A row of an unknown segment keeps its numbers; a row
    without a token uses its symbol. Neither is an instrument of ours, and both are shown. Raises `BadAnswer` for a row
    with neither token nor symbol.
    """
    token = next((spelled for name in names if (spelled := text(row.get(name))) is not None), None)
    if token is not None and len(token) > _TOKEN_AT:
        prefix, tail = token[:4], token[_TOKEN_AT:]
    else:
        prefix = f"{text(row.get('exchange')) or ''}{text(row.get('segment')) or ''}"
        tail = required(row, "symbol") if token is None else token
    return segment_token(SEGMENTS.get(prefix, prefix), tail)


def segment(token: str) -> str:
    """Return the segment of a broker_token: nse_cm of `nse_cm|3045`."""
    return token.partition("|")[0]


def is_index(ticker: str) -> bool:
    """Tell whether a ticker such as `NSE:NIFTY50-INDEX` is an index."""
    return ticker.endswith(_INDEX_TICKER)


def exchange(ticker: str) -> str:
    """Return Fyers' own exchange word: NSE of `NSE:SBIN-EQ`."""
    return ticker.partition(":")[0]


def tag(value: object) -> str | None:
    """Return the caller's own tag. `1:` precedes a caller's tag, `2:` the broker's; `Untagged` means no tag."""
    kind, colon, name = (text(value) or "").partition(":")
    if not colon:
        return kind or None
    return name if kind == _USER_TAG and name and name.upper() != _NO_TAG else None


def wire_tag(tag: str) -> str:
    """Return a tag of ours as Fyers' own lists write it."""
    return f"{_USER_TAG}:{tag}"


def stamp(value: object) -> str | None:
    """Return a time such as `09-Mar-2023 09:34:38` (Indian) as ISO 8601 with its offset.

    None for anything else; Fyers writes `NA` or the first hours of 1970 for no time.
    """
    moment = spelled_moment(value)
    return None if moment is None or moment.year <= _NO_YEAR else moment.isoformat()


def contract_units(token: str, listings: Mapping[str, Listing]) -> int | None:
    """Return the units in one of Fyers' quantities; None when they are not known: lots, or an unknown segment."""
    if segment(token) in UNIT_SEGMENTS:
        return 1
    return listed_units(token, listings)
