"""Upstox' words and numbers: value tables in both directions, segments, units per quantity.

Source: documentation pages "Place Order V3", "Order Status" (appendix) and "Instruments", not re-read by us.
"""

from collections.abc import Mapping

from onebroker.brokers.codec.fields import listed_units
from onebroker.brokers.codec.words import Words
from onebroker.brokers.records import Listing
from onebroker.config.vocabulary import OrderStatus, OrderType, Product, Side, Validity

STATUSES: Words[OrderStatus, str] = Words(
    "upstox",
    OrderStatus,
    read_only={
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
    },
    unsupported={OrderStatus.EXPIRED},
)
"""Upstox writes them in lower case. An order that the exchange lets lapse is shown as cancelled."""

SIDES = Words("upstox", Side, both={Side.BUY: "BUY", Side.SELL: "SELL"})

DELIVERY = "D"
"""Delivery and overnight derivatives share one letter: `product` reads it by the segment."""
PRODUCTS = Words(
    "upstox",
    Product,
    both={Product.MIS: "I"},
    read_only={"MTF": Product.MTF, "CO": Product.CO, "OCO": Product.BO},
    send_only={Product.CNC: DELIVERY, Product.NRML: DELIVERY},
    unsupported={Product.ARB},
)

ORDER_TYPES = Words(
    "upstox",
    OrderType,
    both={OrderType.MARKET: "MARKET", OrderType.LIMIT: "LIMIT", OrderType.SL: "SL", OrderType.SL_M: "SL-M"},
)

VALIDITIES = Words(
    "upstox",
    Validity,
    both={Validity.DAY: "DAY", Validity.IOC: "IOC"},
    unsupported={Validity.GTT, Validity.GTC, Validity.GTD},
)

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


def product(word: object, broker_token: str) -> str:
    """Return our product; `D` is CNC in a cash segment, NRML in every other."""
    if word == DELIVERY:
        return Product.CNC if segment(broker_token) in CASH_SEGMENTS else Product.NRML
    return PRODUCTS.read(word)


def contract_units(broker_token: str, listings: Mapping[str, Listing]) -> int | None:
    """Return the units in one of the broker's quantities; None when it counts in contracts of unknown size."""
    if segment(broker_token) not in LOT_SEGMENTS:
        return 1
    return listed_units(broker_token, listings)
