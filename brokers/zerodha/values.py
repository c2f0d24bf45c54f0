"""Kite's words and numbers: words in both directions, units per quantity.

Sources: Kite Connect 3 documentation, orders (statuses, products, order types), not re-read by us; further status spellings
from recorded order histories, and LAPSED from the official forum.
"""

from collections.abc import Mapping

from onebroker.brokers.codec.fields import listed_units
from onebroker.brokers.codec.words import Words
from onebroker.brokers.records import Listing
from onebroker.config.vocabulary import OrderStatus, OrderType, Product, Side, Validity

STATUSES: Words[OrderStatus, str] = Words(
    "zerodha",
    OrderStatus,
    read_only={
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
    },
)

SIDES = Words("zerodha", Side, both={Side.BUY: "BUY", Side.SELL: "SELL"})

PRODUCTS = Words(
    "zerodha",
    Product,
    both={Product.CNC: "CNC", Product.MIS: "MIS", Product.NRML: "NRML"},
    read_only={"CO": Product.CO, "BO": Product.BO, "MTF": Product.MTF},
    unsupported={Product.ARB},
)

ORDER_TYPES = Words(
    "zerodha",
    OrderType,
    both={OrderType.MARKET: "MARKET", OrderType.LIMIT: "LIMIT", OrderType.SL: "SL", OrderType.SL_M: "SL-M"},
)

VALIDITIES = Words(
    "zerodha",
    Validity,
    both={Validity.DAY: "DAY", Validity.IOC: "IOC"},
    unsupported={Validity.GTT, Validity.GTC, Validity.GTD},
)
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


def contract_units(exchange: str, broker_token: str, listings: Mapping[str, Listing]) -> int | None:
    """Return the units in one of Kite's quantities on `exchange`; None when it counts in lots of unknown size."""
    if exchange not in LOT_EXCHANGES:
        return 1
    return listed_units(broker_token, listings)
