"""Groww's words and names: words in both directions, and the name of an instrument where it has no number.

Source: docs/brokers/groww.md, section 5 (documentation, annexures; growwapi 1.5.0 constants). Quantities are units
everywhere; for MCX that is the documents' general wording, unchecked.
"""

from typing import Self

import attrs

from onebroker.brokers.codec.fields import Row, required
from onebroker.brokers.codec.words import Words
from onebroker.brokers.records import Listing
from onebroker.brokers.requests import BadAnswer
from onebroker.config.vocabulary import OrderStatus, OrderType, Product, Side, Validity

STATUSES: Words[OrderStatus, str] = Words(
    "groww",
    OrderStatus,
    read_only={
        "NEW": OrderStatus.PENDING,
        "ACKED": OrderStatus.PENDING,
        "TRIGGER_PENDING": OrderStatus.PENDING,  # a stop that waits for its trigger is not yet working
        "APPROVED": OrderStatus.OPEN,
        "OPEN": OrderStatus.OPEN,
        "MODIFICATION_REQUESTED": OrderStatus.OPEN,
        "CANCELLATION_REQUESTED": OrderStatus.OPEN,
        "EXECUTED": OrderStatus.COMPLETE,
        "DELIVERY_AWAITED": OrderStatus.COMPLETE,
        "COMPLETED": OrderStatus.COMPLETE,
        "CANCELLED": OrderStatus.CANCELLED,
        "REJECTED": OrderStatus.REJECTED,
        "FAILED": OrderStatus.REJECTED,
    },
    unsupported={OrderStatus.EXPIRED},
)
"""No word means EXPIRED: an order that lapses at the end of the day is shown as cancelled or failed (unchecked which)."""

SIDES = Words("groww", Side, both={Side.BUY: "BUY", Side.SELL: "SELL"})

PRODUCTS = Words(
    "groww",
    Product,
    both={Product.CNC: "CNC", Product.MIS: "MIS", Product.NRML: "NRML"},
    read_only={"CO": Product.CO, "BO": Product.BO, "MTF": Product.MTF, "ARB": Product.ARB},
)

ORDER_TYPES = Words(
    "groww",
    OrderType,
    both={OrderType.MARKET: "MARKET", OrderType.LIMIT: "LIMIT", OrderType.SL: "SL", OrderType.SL_M: "SL_M"},
)

VALIDITIES = Words(
    "groww",
    Validity,
    both={Validity.DAY: "DAY"},
    read_only={"IOC": Validity.IOC, "GTD": Validity.GTD, "GTC": Validity.GTC},
    unsupported={Validity.GTT},
)
"""DAY is the only validity that the documents offer. The SDK also names IOC, GTD, GTC and EOS, but nothing says that Groww
accepts them."""

EXCHANGES = {"NSE": "nse", "BSE": "bse", "MCX": "mcx"}

CASH, DERIVATIVES, COMMODITY = "CASH", "FNO", "COMMODITY"
SEGMENTS = (CASH, DERIVATIVES, COMMODITY)
INDEX = "IDX"
"""Our word in place of a segment: every call has an index in CASH, and its name may equal a share's."""


@attrs.frozen
class Name:
    """An instrument as Groww's rows and calls name it. `token` is the catalogue's `broker_token`. Rows of orders, trades
    and positions carry no number, so the token is made of the fields that they do carry."""

    exchange: str
    segment: str
    symbol: str

    @classmethod
    def of_row(cls, row: Row, exchange: str | None = None) -> Self:
        """Read a row; pass `exchange` for rows without one. Raises `BadAnswer` for a row that does not name an instrument."""
        segment = required(row, "segment").upper()
        return cls((exchange or required(row, "exchange")).upper(), segment, required(row, "trading_symbol"))

    @classmethod
    def of_token(cls, broker_token: str) -> Self:
        """Read a `broker_token`; raise `BadAnswer` for a token that Groww's file never gave."""
        parts = broker_token.split(":", 2)
        if len(parts) != 3:
            raise BadAnswer(f"no instrument of Groww's: {broker_token}")
        return cls(*parts)

    @property
    def token(self) -> str:
        return f"{self.exchange}:{self.segment}:{self.symbol}"

    @property
    def is_index(self) -> bool:
        return self.segment == INDEX

    @property
    def wire_segment(self) -> str:
        return CASH if self.is_index else self.segment


BETWEEN = "|"
"""`Listing.other_names` is the exchange token and the Groww symbol, separated by this."""


def exchange_token(listing: Listing) -> str | None:
    """Return the number (for an NSE index, the word) of an instrument on the stream; None when not known."""
    return (listing.other_names or "").partition(BETWEEN)[0] or None


def groww_symbol(listing: Listing) -> str | None:
    """Return the name that candle calls use; None when not known."""
    return (listing.other_names or "").partition(BETWEEN)[2] or None
