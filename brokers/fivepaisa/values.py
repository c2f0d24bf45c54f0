"""5paisa's words and numbers: value tables in both directions, its names of instruments, its times, units per quantity.

Source: docs/brokers/fivepaisa.md, sections 4 and 5.
"""

import re
from collections.abc import Mapping

from onebroker.brokers.codec.fields import listed_units, milliseconds, number
from onebroker.brokers.codec.words import Words
from onebroker.brokers.records import Listing
from onebroker.config.clock import from_epoch
from onebroker.config.vocabulary import OrderStatus, OrderType, Product, Side, Validity

STATUSES: Words[OrderStatus, str] = Words(
    "fivepaisa",
    OrderStatus,
    read_only={
        "XMITTED": OrderStatus.PENDING,  # sent, not confirmed; the pages leave open whether it may still be refused
        "AH PLACED": OrderStatus.PENDING,
        "AH MODIFIED": OrderStatus.PENDING,
        "PENDING": OrderStatus.OPEN,  # part-filled orders too: there is no word of their own
        "PLACED": OrderStatus.OPEN,
        "MODIFIED": OrderStatus.OPEN,
        "SL TRIGGERED": OrderStatus.OPEN,
        "FULLY EXECUTED": OrderStatus.COMPLETE,
        "CANCELLED": OrderStatus.CANCELLED,
        "AH CANCELLED": OrderStatus.CANCELLED,
        "REJECTED BY 5P": OrderStatus.REJECTED,
        "REJECTED BY EXCH": OrderStatus.REJECTED,
    },
    unsupported={OrderStatus.EXPIRED},
)
"""No word on the broker's page says that an order lapsed."""

SIDES = Words("fivepaisa", Side, both={Side.BUY: "B", Side.SELL: "S"}, read_only={"BUY": Side.BUY, "SELL": Side.SELL})
"""The pages spell a side `B` and, in one sample, `Buy`."""

DELIVERY = "D"
PRODUCTS = Words(
    "fivepaisa",
    Product,
    # `IsIntraday` of an order; delivery and carried derivatives have the same value.
    send_only={Product.CNC: False, Product.MIS: True, Product.NRML: False},
    read_only={"I": Product.MIS, "S": Product.BO, "C": Product.CO},
    unsupported={Product.MTF, Product.ARB},
)
"""Without `D`, for which the segment decides (`product`). Books have no word for margin trading (a flag of another call);
CO and BO are read but never sent."""

ORDER_TYPES_SENT = frozenset({OrderType.LIMIT, OrderType.SL})
"""See `broker.py` for why no order goes out at price 0."""
ORDER_TYPE_FROM_WIRE = {
    (False, False): OrderType.LIMIT,
    (False, True): OrderType.SL,
    (True, False): OrderType.MARKET,
    (True, True): OrderType.SL_M,
}
"""(at market, with a trigger) -> order type: 5paisa has no word for the type."""

VALIDITIES = Words(
    "fivepaisa",
    Validity,
    both={Validity.DAY: "0", Validity.IOC: "3"},
    read_only={"1": Validity.GTD, "2": Validity.GTC},
    unsupported={Validity.GTT},
)
VALIDITY_WORDS = {"4": "EOS", "5": "VTD", "6": "FOK"}
"""Validities that are none of our words: the broker's number -> the word of its page."""

EXCHANGES = {
    "N:C": "nse", "N:D": "nse", "N:U": "nse", "N:Y": "nse",
    "B:C": "bse", "B:D": "bse", "B:U": "bse", "B:Y": "bse",
    "M:D": "mcx", "N:X": "ncdex",
}  # fmt: skip
"""Exchange and kind of market -> our exchange. C cash and indices, D derivatives, U currency, Y commodities of NSE and BSE,
X NCDEX (positions and candles only)."""
CASH_SEGMENTS = frozenset({"N:C", "B:C"})
LOT_SEGMENTS = frozenset({"N:U", "B:U", "M:D", "N:X", "N:Y", "B:Y"})
"""In these segments a quantity is a number of contracts, to be multiplied (official pages); elsewhere it is units."""
FIRST_INDEX = 999900
"""Script codes of the cash market from this number on are indices."""

_DATE = re.compile(r"/Date\((-?\d+)")


def segment(exchange: object, kind: object) -> str:
    """Return exchange and kind of market as one word: `N:C`."""
    return f"{str(exchange).strip()}:{str(kind).strip()}"


def broker_token(exchange: object, kind: object, code: object) -> str:
    """Return our name of an instrument at 5paisa, `N:C:1660`: a script code alone is unique only within its market."""
    return f"{segment(exchange, kind)}:{str(code).strip()}"


def parts(token: str) -> tuple[str, str, str]:
    """Return exchange, kind of market and script code of a `broker_token`."""
    exchange, _, rest = token.partition(":")
    kind, _, code = rest.partition(":")
    return exchange, kind, code


def segment_of(token: str) -> str:
    """Return the `segment` of a `broker_token`."""
    return token.rpartition(":")[0]


def is_index(token: str) -> bool:
    """Tell whether a `broker_token` names an index, which has no book and no quantities."""
    code = parts(token)[2]
    return segment_of(token) in CASH_SEGMENTS and code.isdecimal() and int(code) >= FIRST_INDEX


def side(word: object) -> str:
    """Return BUY or SELL; empty where the row gives no side."""
    return SIDES.read(word or "")


def product(word: object, where: str) -> str:
    """Return our product; `D` is CNC in a cash segment, NRML in every other."""
    if str(word or "").strip().upper() == DELIVERY:
        return Product.CNC if where in CASH_SEGMENTS else Product.NRML
    return PRODUCTS.read(word or "")


def order_type(at_market: object, trigger: object) -> str:
    """Return our order type from the flag `AtMarket` (Y, or a bare truth) and the trigger price."""
    market = at_market is True or str(at_market).strip().upper() in ("Y", "TRUE")
    return ORDER_TYPE_FROM_WIRE[market, (number(trigger) or 0.0) > 0]


def validity(word: object) -> str:
    """Return our validity, or the broker's word; a row without a validity is an order for the day."""
    read = VALIDITIES.read("0" if word is None else word)
    return VALIDITY_WORDS.get(read, read)


def contract_units(token: str, listings: Mapping[str, Listing]) -> int | None:
    """Return the units in one of the broker's quantities; None when it counts in contracts of unknown size."""
    if segment_of(token) not in LOT_SEGMENTS:
        return 1
    return listed_units(token, listings)


def date_epoch(value: object) -> float | None:
    """Return `/Date(ms+0530)/` as epoch seconds; None for its null date. The milliseconds are UTC, the offset is only information."""
    found = _DATE.match(value.strip()) if isinstance(value, str) else None
    return None if found is None else milliseconds(found[1])


def date_text(value: object) -> str | None:
    """Return `/Date(ms+0530)/` as ISO 8601 in India; None for its null date."""
    seconds = date_epoch(value)
    return None if seconds is None else from_epoch(seconds).isoformat()
