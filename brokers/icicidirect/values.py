"""ICICI Direct's words and numbers: value tables in both directions, exchanges, dates.

Source: docs/brokers/icicidirect.md, section 5 (SDK and official README, breeze-connect 1.0.69). The names of instruments
are in `naming.py`.
"""

from datetime import date, datetime, time

from onebroker.brokers.codec.fields import number, price, text
from onebroker.brokers.codec.words import Words
from onebroker.config.clock import IST
from onebroker.config.vocabulary import OrderStatus, OrderType, Product, Side, Validity

STATUSES: Words[OrderStatus, str] = Words(
    "icicidirect",
    OrderStatus,
    read_only={
        "REQUESTED": OrderStatus.PENDING,
        "QUEUED": OrderStatus.PENDING,
        "ORDERED": OrderStatus.OPEN,
        "PARTIALLY EXECUTED": OrderStatus.OPEN,
        "FREEZED": OrderStatus.OPEN,
        "EXECUTED": OrderStatus.COMPLETE,
        "CANCELLED": OrderStatus.CANCELLED,
        "PARTIALLY EXECUTED AND CANCELLED": OrderStatus.CANCELLED,
        "REJECTED": OrderStatus.REJECTED,
        "EXPIRED": OrderStatus.EXPIRED,
        "PARTIALLY EXECUTED AND EXPIRED": OrderStatus.EXPIRED,
    },
)
"""The words of the order book with single blanks (`status_word`)."""
STREAM_STATUSES: dict[str, str] = {
    "R": "REQUESTED",
    "Q": "QUEUED",
    "O": "ORDERED",
    "P": "PARTIALLY EXECUTED",
    "E": "EXECUTED",
    "J": "REJECTED",
    "X": "EXPIRED",
    "B": "PARTIALLY EXECUTED AND EXPIRED",
    "D": "PARTIALLY EXECUTED AND CANCELLED",
    "F": "FREEZED",
    "C": "CANCELLED",
}
"""Letter of the order stream -> word of the order book. `A` (all) is a filter, never an order's status."""

NOTHING_FILLED = frozenset({"REJECTED", "EXPIRED"})
"""Words that say that no unit was executed, for rows whose figures cannot say it: no figure holds the expired part."""
NOT_PARTLY_FILLED = frozenset({"REQUESTED", "QUEUED", "ORDERED", "FREEZED", "CANCELLED"})
"""Words that say the same, unless the row's own figures say otherwise; a partly filled order has another word."""
ALL_FILLED = "EXECUTED"
PARTLY_FILLED = frozenset({"PARTIALLY EXECUTED", "PARTIALLY EXECUTED AND CANCELLED", "PARTIALLY EXECUTED AND EXPIRED"})
PART_EXPIRED = "PARTIALLY EXECUTED AND EXPIRED"

SIDES = Words("icicidirect", Side, both={Side.BUY: "buy", Side.SELL: "sell"}, read_only={"B": Side.BUY, "S": Side.SELL})
"""Single letters, here and in the tables below, are those of the order stream."""

FLAT = "NA"
"""`action` of a position that is closed."""

CASH, FUTURES, OPTIONS = "cash", "futures", "options"
DELIVERY_PRODUCTS = {CASH: Product.CNC, FUTURES: Product.NRML, OPTIONS: Product.NRML}
"""Our product for each of the broker's product words that can be placed: the kind of instrument decides, not the caller."""
PRODUCTS: Words[Product, str] = Words(
    "icicidirect",
    Product,
    read_only={
        "CASH": Product.CNC,
        "BTST": Product.CNC,
        "MARGIN": Product.MIS,
        "FUTURES": Product.NRML,
        "FUTURE": Product.NRML,  # quotes drop the s
        "OPTIONS": Product.NRML,
        "MTF": Product.MTF,
        "EATM": Product.MTF,
        # Square-off products of the website; general knowledge, unchecked: an intraday future, an option with a stop.
        "FUTUREPLUS": Product.MIS,
        "OPTIONPLUS": Product.CO,
        "C": Product.CNC,
        "B": Product.CNC,
        "F": Product.NRML,
        "O": Product.NRML,
    },
    unsupported={Product.BO, Product.ARB},
)
"""Only read: the kind of instrument decides which word is sent (`DELIVERY_PRODUCTS`). So MIS, CO and MTF are never sent:
margin and optionplus are prohibited over the API, and a caller may not send the other two."""

ORDER_TYPES = Words(
    "icicidirect",
    OrderType,
    both={OrderType.LIMIT: "limit", OrderType.SL: "stoploss"},
    read_only={"MARKET": OrderType.MARKET, "L": OrderType.LIMIT, "S": OrderType.SL, "M": OrderType.MARKET},
    unsupported={OrderType.SL_M},
)
"""The broker takes no order without a price; its SDK makes a limit price from a quote on the client's side."""

VALIDITIES = Words(
    "icicidirect",
    Validity,
    both={Validity.DAY: "day", Validity.IOC: "ioc"},
    read_only={"VTC": Validity.GTC, "T": Validity.DAY, "I": Validity.IOC, "V": Validity.GTC},
    unsupported={Validity.GTT, Validity.GTD},
)
"""VTC (valid till cancelled) is read but never sent."""

RIGHT_TO_WIRE = {"CE": "call", "PE": "put", None: "others"}
RIGHT_FROM_WIRE = {"CALL": "CE", "CE": "CE", "C": "CE", "PUT": "PE", "PE": "PE", "P": "PE"}
"""Every other word (Others, `*`, XX, null) means no option."""

EXCHANGES = {"NSE": "nse", "NFO": "nse", "NDX": "nse", "BSE": "bse", "BFO": "bse", "MCX": "mcx"}
"""The broker's exchange code -> our exchange."""
CASH_EXCHANGES = frozenset({"NSE", "BSE"})
CERTAIN_EXCHANGE = "NSE"
"""The exchange that every account has."""
ORDER_EXCHANGES = (CERTAIN_EXCHANGE, "BSE", "NFO", "BFO")
"""Exchanges on which the broker takes orders; each is asked for its own books."""

MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
"""Written by us, not by strftime, whose month names follow the machine's language."""


def status_word(word: object) -> str:
    """Return the broker's status in capitals and with single blanks."""
    return " ".join(str(word).upper().split())


def right(word: object) -> str | None:
    """Return CE or PE; None for a word that means no option."""
    return RIGHT_FROM_WIRE.get(str(word).strip().upper())


def day(value: object) -> date | None:
    """Return a day written `27-Feb-2025`, `27-FEB-25` or `2025-02-27T06:00:00.000Z`; None for anything else."""
    written = text(value)
    if written is None:
        return None
    try:
        if written[:4].isdecimal():
            return date.fromisoformat(written.strip()[:10])
        number_of_day, month, year = written.strip()[:11].split("-")
        century = 2000 if len(year) == 2 else 0
        return date(century + int(year), 1 + MONTHS.index(month.upper()), int(number_of_day))
    except ValueError:
        return None


def day_text(value: date) -> str:
    """Write a day as the broker does: `27-Feb-2025`."""
    return f"{value.day:02d}-{MONTHS[value.month - 1].title()}-{value.year}"


def moment(value: object) -> datetime | None:
    """Return a moment written `05-Feb-2025 09:26` or `05-Feb-2025 10:41:24` (Indian); None for anything else."""
    written = text(value)
    head, _, tail = (written or "").strip().partition(" ")
    on = day(head)
    parts = tail.split(":")
    if on is None or len(parts) not in (2, 3):
        return None
    try:
        return datetime.combine(on, time.fromisoformat(tail.strip()), IST)
    except ValueError:
        return None


def iso_moment(value: object) -> str | None:
    """Return a `moment` as ISO 8601 with its offset; None when there is none."""
    read = moment(value)
    return None if read is None else read.isoformat()


def strike(value: object) -> float | None:
    """Return a strike in rupees; the broker writes zero for no strike."""
    return price(value)


def whole_text(value: object) -> bool:
    """Tell whether a figure is written without a decimal point (or is missing)."""
    return number(value) is None or "." not in str(value)
