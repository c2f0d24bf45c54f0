"""Kite's words and numbers: value tables in both directions, numbers, times, units per quantity.

Sources: kite.trade/docs/connect/v3/orders (statuses, products, order types), read 2026-11-20; status spellings beyond the
documents from the recorded order histories.
"""

import math
import re
from collections.abc import Mapping
from datetime import datetime

from onebroker.brokers.records import Listing
from onebroker.brokers.requests import BadAnswer
from onebroker.config.clock import IST
from onebroker.config.vocabulary import OrderStatus, OrderType, Product, Side, Validity, pass_through

STATUSES: dict[str, OrderStatus] = {
    "PUT ORDER REQ RECEIVED": OrderStatus.PENDING,
    "PUT ORDER REQUEST RECEIVED": OrderStatus.PENDING,
    "VALIDATION PENDING": OrderStatus.PENDING,
    "OPEN PENDING": OrderStatus.PENDING,
    "AMO REQ RECEIVED": OrderStatus.PENDING,
    "MODIFY AMO REQ RECEIVED": OrderStatus.PENDING,
    "TRIGGER PENDING": OrderStatus.PENDING,  # a stop that waits for its trigger is not yet working
    "OPEN": OrderStatus.OPEN,
    "MODIFY VALIDATION PENDING": OrderStatus.OPEN,
    "MODIFY PENDING": OrderStatus.OPEN,
    "MODIFIED": OrderStatus.OPEN,
    "NOT MODIFIED": OrderStatus.OPEN,
    "CANCEL PENDING": OrderStatus.OPEN,
    "NOT CANCELLED": OrderStatus.OPEN,
    "UPDATE": OrderStatus.OPEN,  # only on the order stream: a partial fill or a change
    "COMPLETE": OrderStatus.COMPLETE,
    "CANCELLED": OrderStatus.CANCELLED,
    "CANCELLED AMO": OrderStatus.CANCELLED,
    "REJECTED": OrderStatus.REJECTED,
    "LAPSED": OrderStatus.EXPIRED,
}

SIDE_TO_WIRE = {Side.BUY: "BUY", Side.SELL: "SELL"}
SIDE_FROM_WIRE = {"BUY": Side.BUY, "SELL": Side.SELL}

PRODUCT_TO_WIRE = {Product.CNC: "CNC", Product.MIS: "MIS", Product.NRML: "NRML"}
PRODUCT_FROM_WIRE = {
    "CNC": Product.CNC,
    "MIS": Product.MIS,
    "NRML": Product.NRML,
    "CO": Product.CO,
    "BO": Product.BO,
    "MTF": Product.MTF,
}
PRODUCTS_UNSUPPORTED = frozenset({Product.ARB})
"""Kite has no such product; CO, BO and MTF are read, never sent."""

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
"""Kite's TTL (minutes) is none of ours and passes through."""

EXCHANGES = {
    "NSE": "nse", "NFO": "nse", "CDS": "nse", "NCO": "nse",
    "BSE": "bse", "BFO": "bse", "BCD": "bse",
    "MCX": "mcx",
}  # fmt: skip
"""Kite's exchange -> ours. Others in its file (GLOBAL, NSEIX) are quotes only."""

LOT_EXCHANGES = frozenset({"CDS", "BCD", "MCX", "NCO"})
"""Here quantities are lots; everywhere else units."""

CURRENCY_UNITS = 1000
"""Units of the base currency in one contract of NSE and BSE: 1,000 (of JPYINR 100,000 yen, quoted per 100)."""

COMMODITY_UNITS = {
    "ALUMINI": 1000, "ALUMINIUM": 5000, "COPPER": 2500, "CRUDEOIL": 100, "CRUDEOILM": 10,
    "GOLD": 100, "GOLDGUINEA": 1, "GOLDM": 10, "GOLDPETAL": 1, "GOLDTEN": 1,
    "LEAD": 5000, "LEADMINI": 1000, "NATGASMINI": 250, "NATURALGAS": 1250,
    "SILVER": 30, "SILVERM": 5, "SILVERMIC": 1, "ZINC": 5000, "ZINCMINI": 1000,
}  # fmt: skip
"""MCX underlying -> units of quotation in one contract (price x this = rupees a lot): MCX contract specifications, read
2026-11-20. Kite's file says 1 for all of them. What is not here is unknown, never 1."""

_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")


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
    """Return a price; zero is Kite's way of giving none."""
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
    """Return a text, or None for an absent or empty one; numbers become their digits."""
    return None if value is None or value == "" else str(value)


def iso_time(value: object) -> str | None:
    """Return Kite's naive Indian time as ISO 8601 with its offset; None when there is none."""
    if not isinstance(value, str) or not _TIME.fullmatch(value):
        return None
    return f"{value[:10]}T{value[11:]}+05:30"


def epoch(value: object) -> float | None:
    """Return Kite's naive Indian time as epoch seconds; None when there is none."""
    if not isinstance(value, str) or not _TIME.fullmatch(value):
        return None
    try:
        return datetime.strptime(value, "%Y-%m-%d %H:%M:%S").replace(tzinfo=IST).timestamp()
    except ValueError:
        return None


def status(word: object) -> str:
    """Return our order status, or Kite's word upper-cased when it maps to nothing."""
    return _ours(STATUSES, word)


def side(word: object) -> str:
    return _ours(SIDE_FROM_WIRE, word)


def product(word: object) -> str:
    return _ours(PRODUCT_FROM_WIRE, word)


def order_type(word: object) -> str:
    return _ours(ORDER_TYPE_FROM_WIRE, word)


def validity(word: object) -> str:
    return _ours(VALIDITY_FROM_WIRE, word)


def _ours(table: Mapping[str, str], word: object) -> str:
    known = table.get(word) if isinstance(word, str) else None
    if known is not None:
        return known
    spelled = pass_through(word)
    return table.get(spelled, spelled)


def contract_units(exchange: str, broker_token: str, listings: Mapping[str, Listing]) -> int | None:
    """Return the units in one of Kite's quantities on `exchange`; None when it speaks lots of a size not known."""
    if exchange not in LOT_EXCHANGES:
        return 1
    listing = listings.get(broker_token)
    return None if listing is None else listing.contract_units


def row_of(value: object) -> dict[str, object]:
    """Return a row of an answer; raise `BadAnswer` when it is no object."""
    if not isinstance(value, dict):
        raise BadAnswer("a row that is not an object")
    return value


def rows_of(value: object) -> list[dict[str, object]]:
    """Return the rows of an answer; Kite writes null for none. Raise `BadAnswer` when it is no list of objects."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise BadAnswer("an answer that is not a list")
    return [row_of(row) for row in value]


def required(row: Mapping[str, object], name: str) -> str:
    """Return a field without which a row means nothing; raise `BadAnswer` when it is absent."""
    value = text(row.get(name))
    if value is None:
        raise BadAnswer(f"a row without {name}")
    return value
