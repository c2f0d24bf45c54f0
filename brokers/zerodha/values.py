"""Kite's words and numbers: value tables in both directions, units per quantity.

Sources: Kite Connect 3 documentation, orders (statuses, products, order types), not re-read by us; further status spellings
from recorded order histories, and LAPSED from the official forum.
"""

from collections.abc import Mapping

from onebroker.brokers.codec.fields import listed_units, translated
from onebroker.brokers.records import Listing
from onebroker.config.vocabulary import OrderStatus, OrderType, Product, Side, Validity

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
"""Kite has no such product; CO, BO and MTF are read but never sent."""

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
"""Kite's TTL (minutes) is none of our words and passes through."""

EXCHANGES = {
    "NSE": "nse", "NFO": "nse", "CDS": "nse", "NCO": "nse",
    "BSE": "bse", "BFO": "bse", "BCD": "bse",
    "MCX": "mcx",
}  # fmt: skip
"""Kite's exchange -> ours. Others in its file (GLOBAL, NSEIX) are quotes only."""

LOT_EXCHANGES = frozenset({"CDS", "BCD", "MCX", "NCO"})
"""On these exchanges quantities are lots; elsewhere they are units. MCX's are so by Zerodha's own word
(kite.trade/forum/discussion/14531)."""

CURRENCY_UNITS = 1000
"""Units of the base currency in one contract of NSE and BSE: 1,000 (of JPYINR 100,000 yen, quoted per 100).
General knowledge, unchecked against a circular."""


def status(word: object) -> str:
    """Return our order status, or Kite's word in upper case when we have no word for it."""
    return translated(STATUSES, word)


def side(word: object) -> str:
    return translated(SIDE_FROM_WIRE, word)


def product(word: object) -> str:
    return translated(PRODUCT_FROM_WIRE, word)


def order_type(word: object) -> str:
    return translated(ORDER_TYPE_FROM_WIRE, word)


def validity(word: object) -> str:
    return translated(VALIDITY_FROM_WIRE, word)


def contract_units(exchange: str, broker_token: str, listings: Mapping[str, Listing]) -> int | None:
    """Return the units in one of Kite's quantities on `exchange`; None when it counts in lots of unknown size."""
    if exchange not in LOT_EXCHANGES:
        return 1
    return listed_units(broker_token, listings)
