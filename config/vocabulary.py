"""The fixed words of the API (rules 2.2.1). Brokers are not among them: their codes come from the registry."""

from enum import StrEnum


class Side(StrEnum):
    """transaction_type."""

    BUY = "BUY"
    SELL = "SELL"

    @property
    def sign(self) -> int:
        """+1 for BUY, -1 for SELL."""
        return 1 if self is Side.BUY else -1

    @property
    def opposite(self) -> "Side":
        return Side.SELL if self is Side.BUY else Side.BUY


class Product(StrEnum):
    """product. A caller may send the first three; the others are only received."""

    CNC = "CNC"
    MIS = "MIS"
    NRML = "NRML"
    CO = "CO"
    BO = "BO"
    MTF = "MTF"
    ARB = "ARB"


SENDABLE_PRODUCTS = (Product.CNC, Product.MIS, Product.NRML)

POSITION_PRODUCTS: dict[str, str] = {
    Product.CNC: "delivery",
    Product.MIS: "intraday",
    Product.NRML: "carry",
    Product.CO: "cover",
    Product.BO: "bracket",
    Product.MTF: "margin_trading",
}
"""Product -> the word on a position row."""


class OrderType(StrEnum):
    MARKET = "MARKET"
    LIMIT = "LIMIT"
    SL = "SL"
    SL_M = "SL-M"

    @property
    def takes_price(self) -> bool:
        return self in (OrderType.LIMIT, OrderType.SL)

    @property
    def takes_trigger(self) -> bool:
        return self in (OrderType.SL, OrderType.SL_M)


class Validity(StrEnum):
    """validity. DAY and IOC may be sent; the others are only received."""

    DAY = "DAY"
    IOC = "IOC"
    GTT = "GTT"
    GTC = "GTC"
    GTD = "GTD"


SENDABLE_VALIDITIES = (Validity.DAY, Validity.IOC)


class OrderStatus(StrEnum):
    PENDING = "PENDING"
    OPEN = "OPEN"
    COMPLETE = "COMPLETE"
    CANCELLED = "CANCELLED"
    REJECTED = "REJECTED"
    EXPIRED = "EXPIRED"


FINISHED_STATUSES = frozenset({OrderStatus.COMPLETE, OrderStatus.CANCELLED, OrderStatus.REJECTED, OrderStatus.EXPIRED})
"""Rules 2.2.2. Any other text counts as open, unknown spellings included."""


def is_finished(status: str) -> bool:
    """Tell whether an order status is final; the status may be a known word or a broker's own."""
    return status in FINISHED_STATUSES


class Outcome(StrEnum):
    """The result of one order message (rules 2.2.1); `armed` and `partial` come from the engine."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    UNKNOWN = "unknown"
    ARMED = "armed"
    PARTIAL = "partial"


OUTCOME_STATUS: dict[Outcome, int] = {
    Outcome.ACCEPTED: 200,
    Outcome.ARMED: 202,
    Outcome.PARTIAL: 207,
    Outcome.REJECTED: 422,
    Outcome.UNKNOWN: 504,
}


class ReadStatus(StrEnum):
    """The word in brokers[].status of a document (rules 1.2.5)."""

    OK = "ok"
    STALE = "stale"
    MISSING = "missing"
    UNREADABLE = "unreadable"


def pass_through(word: object) -> str:
    """Return a broker's unknown term as the API shows it: upper-cased (rules 2.2.1)."""
    return str(word).strip().upper()
