"""Upstox' words and numbers: value tables in both directions, segments, numbers, times, units per quantity.

Source: documentation pages "Place Order V3", "Order Status" (appendix) and "Instruments", read 2026-11-20.
"""

import math
from collections.abc import Mapping
from datetime import datetime

from onebroker.brokers.records import Listing
from onebroker.brokers.requests import BadAnswer
from onebroker.config.clock import IST
from onebroker.config.vocabulary import OrderStatus, OrderType, Product, Side, Validity, pass_through

STATUSES: dict[str, OrderStatus] = {
    "PUT ORDER REQ RECEIVED": OrderStatus.PENDING,
    "VALIDATION PENDING": OrderStatus.PENDING,
    "OPEN PENDING": OrderStatus.PENDING,
    "TRIGGER PENDING": OrderStatus.PENDING,
    "AFTER MARKET ORDER REQ RECEIVED": OrderStatus.PENDING,
    "MODIFY AFTER MARKET ORDER REQ RECEIVED": OrderStatus.PENDING,
    "OPEN": OrderStatus.OPEN,
    "MODIFY PENDING": OrderStatus.OPEN,
    "MODIFY VALIDATION PENDING": OrderStatus.OPEN,
    "MODIFIED": OrderStatus.OPEN,
    "NOT MODIFIED": OrderStatus.OPEN,
    "CANCEL PENDING": OrderStatus.OPEN,
    "NOT CANCELLED": OrderStatus.OPEN,
    "COMPLETE": OrderStatus.COMPLETE,
    "CANCELLED": OrderStatus.CANCELLED,
    "CANCELLED AFTER MARKET ORDER": OrderStatus.CANCELLED,
    "REJECTED": OrderStatus.REJECTED,
}
"""The broker writes them in lower case. It has no word for EXPIRED: what the exchange lets lapse is shown as cancelled."""
STATUSES_UNSUPPORTED = frozenset({OrderStatus.EXPIRED})

SIDE_TO_WIRE = {Side.BUY: "BUY", Side.SELL: "SELL"}
SIDE_FROM_WIRE = {"BUY": Side.BUY, "SELL": Side.SELL}

PRODUCT_TO_WIRE = {Product.CNC: "D", Product.MIS: "I", Product.NRML: "D"}
"""Delivery and overnight derivatives are one letter."""
DELIVERY = "D"
PRODUCT_FROM_WIRE = {"I": Product.MIS, "MTF": Product.MTF, "CO": Product.CO, "OCO": Product.BO}
"""Without `D`, which the segment decides (`product`)."""
PRODUCTS_UNSUPPORTED = frozenset({Product.ARB})
"""Upstox has no such product; CO, BO and MTF are read, never sent."""

ORDER_TYPE_TO_WIRE = {
    OrderType.MARKET: "MARKET",
    OrderType.LIMIT: "LIMIT",
    OrderType.SL: "SL",
    OrderType.SL_M: "SL-M",
}
ORDER_TYPE_FROM_WIRE = {
    "MARKET": OrderType.MARKET,
    "LIMIT": OrderType.LIMIT,
    "SL": OrderType.SL,
    "SL-M": OrderType.SL_M,
}

VALIDITY_TO_WIRE = {Validity.DAY: "DAY", Validity.IOC: "IOC"}
VALIDITY_FROM_WIRE = {"DAY": Validity.DAY, "IOC": Validity.IOC}
VALIDITIES_UNSUPPORTED = frozenset({Validity.GTT, Validity.GTC, Validity.GTD})

EXCHANGES = {
    "NSE_EQ": "nse", "NSE_FO": "nse", "NCD_FO": "nse", "NSE_COM": "nse", "NSE_INDEX": "nse",
    "BSE_EQ": "bse", "BSE_FO": "bse", "BCD_FO": "bse", "BSE_INDEX": "bse",
    "MCX_FO": "mcx", "MCX_INDEX": "mcx",
}  # fmt: skip
"""Segment (the part of an instrument key before the bar) -> our exchange. Others in its file are quotes only."""

CASH_SEGMENTS = frozenset({"NSE_EQ", "BSE_EQ"})
INDEX_SEGMENTS = frozenset({"NSE_INDEX", "BSE_INDEX", "MCX_INDEX"})
LOT_SEGMENTS = frozenset({"NCD_FO", "BCD_FO", "NSE_COM", "MCX_FO"})
"""Currency, interest rate, commodity: here quantities are contracts; everywhere else units."""
QUOTE_ONLY_SEGMENTS = frozenset({"GLOBAL_INDEX", "GLOBAL_INDICATOR"})


def number(value: object) -> float | None:
    """Return a broker's number, or None when it gave none (absent, blank, `NA`, not a number)."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        try:
            value = float(value.strip().replace(",", ""))
        except ValueError:
            return None
    if isinstance(value, (int, float)) and math.isfinite(value):
        return float(value)
    return None


def price(value: object) -> float | None:
    """Return a price; zero is the broker's way of giving none."""
    return number(value) or None


def whole(value: object) -> int:
    """Return a quantity; None and blank are zero. Raise `BadAnswer` for a part of one."""
    quantity = number(value)
    if quantity is None:
        return 0
    if quantity != int(quantity):
        raise BadAnswer(f"a quantity of {quantity}")
    return int(quantity)


def text(value: object) -> str | None:
    """Return a text, or None for an absent or blank one; numbers become their digits."""
    return None if value is None or str(value).strip() == "" else str(value)


def iso_time(value: object) -> str | None:
    """Return the broker's time (`YYYY-MM-DD HH:MM:SS`, naive Indian) as ISO 8601 with its offset; None when there is none."""
    moment = _moment(value)
    return None if moment is None else moment.isoformat()


def epoch(value: object) -> float | None:
    """Return the broker's time as epoch seconds, unmarked ones being Indian; None when there is none."""
    moment = _moment(value)
    return None if moment is None else moment.timestamp()


def _moment(value: object) -> datetime | None:
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value.strip())
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=IST)


def milliseconds(value: object) -> float | None:
    """Return epoch milliseconds (a number or its digits) as epoch seconds; None when there are none."""
    stamp = number(value)
    return stamp / 1000 if stamp and stamp > 0 else None


def segment(broker_token: str) -> str:
    """Return the segment of an instrument key: NSE_EQ of `NSE_EQ|INE002A01018`."""
    return broker_token.partition("|")[0]


def status(word: object) -> str:
    """Return our order status, or the broker's word upper-cased when it maps to nothing."""
    return STATUSES.get(pass_through(word), pass_through(word))


def side(word: object) -> str:
    return SIDE_FROM_WIRE.get(pass_through(word), pass_through(word))


def product(word: object, broker_token: str) -> str:
    """Return our product; `D` is CNC in a cash segment, NRML in every other."""
    if word == DELIVERY:
        return Product.CNC if segment(broker_token) in CASH_SEGMENTS else Product.NRML
    return PRODUCT_FROM_WIRE.get(pass_through(word), pass_through(word))


def order_type(word: object) -> str:
    return ORDER_TYPE_FROM_WIRE.get(pass_through(word), pass_through(word))


def validity(word: object) -> str:
    return VALIDITY_FROM_WIRE.get(pass_through(word), pass_through(word))


def contract_units(broker_token: str, listings: Mapping[str, Listing]) -> int | None:
    """Return the units in one of the broker's quantities; None when it speaks contracts of a size not known."""
    if segment(broker_token) not in LOT_SEGMENTS:
        return 1
    listing = listings.get(broker_token)
    return None if listing is None else listing.contract_units


def row_of(value: object) -> dict[str, object]:
    """Return a row of an answer; raise `BadAnswer` when it is no object."""
    if not isinstance(value, dict):
        raise BadAnswer("a row that is not an object")
    return value


def rows_of(value: object) -> list[dict[str, object]]:
    """Return the rows of an answer; null is none. Raise `BadAnswer` when it is no list of objects."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise BadAnswer("an answer that is not a list")
    return [row_of(row) for row in value]


def required(row: Mapping[str, object], *names: str) -> str:
    """Return a field without which a row means nothing, under the first of its spellings; raise `BadAnswer`."""
    for name in names:
        value = text(row.get(name))
        if value is not None:
            return value
    raise BadAnswer(f"a row without {names[0]}")
