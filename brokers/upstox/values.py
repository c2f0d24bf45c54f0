"""Upstox' words and numbers: value tables in both directions, segments, units per quantity.

Source: documentation pages "Place Order V3", "Order Status" (appendix) and "Instruments", not re-read by us.
"""

from collections.abc import Mapping

from onebroker.brokers.codec.fields import listed_units, translated
from onebroker.brokers.records import Listing
from onebroker.config.vocabulary import OrderStatus, OrderType, Product, Side, Validity

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
"""The broker writes them in lower case. It has no word for EXPIRED: an order that the exchange lets lapse is shown as cancelled."""
STATUSES_UNSUPPORTED = frozenset({OrderStatus.EXPIRED})

SIDE_TO_WIRE = {Side.BUY: "BUY", Side.SELL: "SELL"}
SIDE_FROM_WIRE = {"BUY": Side.BUY, "SELL": Side.SELL}

PRODUCT_TO_WIRE = {Product.CNC: "D", Product.MIS: "I", Product.NRML: "D"}
"""Delivery and overnight derivatives share one letter."""
DELIVERY = "D"
PRODUCT_FROM_WIRE = {"I": Product.MIS, "MTF": Product.MTF, "CO": Product.CO, "OCO": Product.BO}
"""Without `D`, for which the segment decides (`product`)."""
PRODUCTS_UNSUPPORTED = frozenset({Product.ARB})
"""Upstox has no such product; CO, BO and MTF are read but never sent."""

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
"""Segment (the part of an instrument key before the bar) -> our exchange. Other segments in its file are quotes only."""

CASH_SEGMENTS = frozenset({"NSE_EQ", "BSE_EQ"})
INDEX_SEGMENTS = frozenset({"NSE_INDEX", "BSE_INDEX", "MCX_INDEX"})
LOT_SEGMENTS = frozenset({"NCD_FO", "BCD_FO", "NSE_COM", "MCX_FO"})
"""Currency, interest rate, commodity: in these segments quantities are contracts; elsewhere they are units. Unchecked for
currency orders."""
QUOTE_ONLY_SEGMENTS = frozenset({"GLOBAL_INDEX", "GLOBAL_INDICATOR"})


def segment(broker_token: str) -> str:
    """Return the segment of an instrument key: NSE_EQ of `NSE_EQ|INE002A01018`."""
    return broker_token.partition("|")[0]


def status(word: object) -> str:
    """Return our order status, or the broker's word in upper case when we have no word for it."""
    return translated(STATUSES, word)


def side(word: object) -> str:
    return translated(SIDE_FROM_WIRE, word)


def product(word: object, broker_token: str) -> str:
    """Return our product; `D` is CNC in a cash segment, NRML in every other."""
    if word == DELIVERY:
        return Product.CNC if segment(broker_token) in CASH_SEGMENTS else Product.NRML
    return translated(PRODUCT_FROM_WIRE, word)


def order_type(word: object) -> str:
    return translated(ORDER_TYPE_FROM_WIRE, word)


def validity(word: object) -> str:
    return translated(VALIDITY_FROM_WIRE, word)


def contract_units(broker_token: str, listings: Mapping[str, Listing]) -> int | None:
    """Return the units in one of the broker's quantities; None when it counts in contracts of unknown size."""
    if segment(broker_token) not in LOT_SEGMENTS:
        return 1
    return listed_units(broker_token, listings)
