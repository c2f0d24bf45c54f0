"""Shoonya's words and numbers: words in both directions, names of instruments, times, units per quantity.

Source: docs/brokers/shoonya.md, sections 4 and 5 (documentation and README of the former SDK, not re-read by us).
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal

from onebroker.brokers.codec.fields import epoch_seconds, number, whole
from onebroker.brokers.codec.words import Words
from onebroker.brokers.records import Listing
from onebroker.brokers.requests import BadAnswer
from onebroker.config.clock import IST, from_epoch
from onebroker.config.money import exact
from onebroker.config.vocabulary import OrderStatus, OrderType, Product, Side, Validity, pass_through

STATUSES: Words[OrderStatus, str] = Words(
    "shoonya",
    OrderStatus,
    read_only={
        "PENDING": OrderStatus.PENDING,
        "NEW": OrderStatus.PENDING,
        "OPEN PENDING": OrderStatus.PENDING,
        "AFTER MARKET ORDER REQ RECEIVED": OrderStatus.PENDING,
        "TRIGGER PENDING": OrderStatus.PENDING,  # a stop that waits for its trigger is not yet working
        "OPEN": OrderStatus.OPEN,
        "REPLACED": OrderStatus.OPEN,
        "MODIFY PENDING": OrderStatus.OPEN,  # it still works as it was
        "CANCEL PENDING": OrderStatus.OPEN,
        "COMPLETE": OrderStatus.COMPLETE,
        "CANCELED": OrderStatus.CANCELLED,
        "CANCELLED": OrderStatus.CANCELLED,
        "REJECTED": OrderStatus.REJECTED,
        "REJECT": OrderStatus.REJECTED,
        "INVALID STATUS TYPE": OrderStatus.REJECTED,
    },
    unsupported={OrderStatus.EXPIRED},
)
"""With blanks; the broker writes blanks or underscores (`status`). No word for EXPIRED was seen: an order that the exchange
lets lapse at the close is shown as CANCELED (unchecked)."""

SIDES = Words("shoonya", Side, both={Side.BUY: "B", Side.SELL: "S"})

PRODUCTS = Words(
    "shoonya",
    Product,
    both={Product.CNC: "C", Product.MIS: "I", Product.NRML: "M"},
    read_only={
        "H": Product.CO,  # high leverage
        "B": Product.BO,
        "F": Product.MTF,  # unchecked
    },
    unsupported={Product.ARB},
)

ORDER_TYPES = Words(
    "shoonya",
    OrderType,
    both={OrderType.LIMIT: "LMT", OrderType.SL: "SL-LMT"},
    read_only={"MKT": OrderType.MARKET, "SL-MKT": OrderType.SL_M},
)
"""MARKET and SL-M are read (from the broker's own terminals) but never sent. The documents know MKT and SL-MKT, but code
that traded live in August 2026 turns them into limits because the API refuses them. Because we refuse them first, another
broker can take the order."""

VALIDITIES = Words(
    "shoonya",
    Validity,
    both={Validity.DAY: "DAY", Validity.IOC: "IOC"},
    unsupported={Validity.GTT, Validity.GTC, Validity.GTD},
)
"""Shoonya's EOS (to the end of the session, BSE) is none of our words and passes through."""

EXCHANGES = {
    "NSE": "nse", "NFO": "nse", "CDS": "nse",
    "BSE": "bse", "BFO": "bse", "BCD": "bse",
    "MCX": "mcx",
    "NCX": "ncdex",
}  # fmt: skip
"""Shoonya's exchange -> ours."""

FACTOR_EXCHANGES = frozenset({"CDS", "BCD", "MCX", "NCX"})
"""On these exchanges one of Shoonya's quantities is not the unit that is priced: value = quantity x price x factor. The
factor is the file's Multiplier (currency: 1000, so quantities are lots) or GNGD (commodity: 100 for gold in kilograms
that is priced by ten grams, 0.1 for gold in grams). Rows repeat it as `prcftr`."""

_CLOCK = re.compile(r"\b(\d{2}):(\d{2}):(\d{2})\b")
_DAY = re.compile(r"\b(\d{2})-(\d{2})-(\d{4})\b")
_NO_TIME_BEFORE = 1981
"""`01-01-1980 00:00:00` means no time."""


def status(word: object) -> str:
    """Return our order status, or Shoonya's word in upper case when we have no word for it."""
    spelled = pass_through(word)
    return STATUSES.reads.get(spelled.replace("_", " "), spelled)


def broker_token(exchange: object, token: object) -> str:
    """Return our name of an instrument at this broker, `NSE|22`: tokens are unique only within an exchange."""
    return f"{exchange}|{token}"


def moment(value: object) -> datetime | None:
    """Return a time written `HH:MM:SS DD-MM-YYYY` or the other way round, in India; None when there is no time."""
    text = value if isinstance(value, str) else ""
    clock, day = _CLOCK.search(text), _DAY.search(text)
    if clock is None or day is None or int(day[3]) < _NO_TIME_BEFORE:
        return None
    try:
        return datetime(int(day[3]), int(day[2]), int(day[1]), int(clock[1]), int(clock[2]), int(clock[3]), tzinfo=IST)
    except ValueError:
        return None


def iso_time(row: Mapping[str, object], *names: str) -> str | None:
    """Return the first of these fields that is a time (written, or epoch seconds) as ISO 8601 with its offset."""
    for name in names:
        read = moment(row.get(name)) or _epoch_moment(row.get(name))
        if read is not None:
            return read.isoformat()
    return None


def _epoch_moment(value: object) -> datetime | None:
    seconds = epoch_seconds(value)
    return None if seconds is None else from_epoch(seconds)


def listed_factor(listing: Listing) -> Decimal | None:
    """Return our units in one of Shoonya's quantities of an instrument; None when not known.

    `Listing.other_names` holds the number where it is not whole.
    """
    if listing.other_names is not None:
        return exact(listing.other_names)
    return None if listing.contract_units is None else Decimal(listing.contract_units)


def factor(row: Mapping[str, object], exchange: str, token: str, listings: Mapping[str, Listing]) -> Decimal | None:
    """Return our units in one of a row's quantities: the listing's, else the row's; None when neither gives them."""
    if exchange not in FACTOR_EXCHANGES:
        return Decimal(1)
    listing = listings.get(token)
    listed = None if listing is None else listed_factor(listing)
    written = number(row.get("prcftr"))
    return listed if listed is not None else exact(written) if written and written > 0 else None


def row_factor(
    row: Mapping[str, object], quantities: Sequence[str], exchange: str, token: str, listings: Mapping[str, Listing]
) -> Decimal | None:
    """Return `factor`, but None where it makes one of these quantities fractional: the row is then shown unchanged."""
    units = factor(row, exchange, token, listings)
    if units is None or any(not _is_whole(whole(row.get(name)) * units) for name in quantities):
        return None
    return units


def _is_whole(amount: Decimal) -> bool:
    return amount == amount.to_integral_value()  # works for any size: `%` fails beyond the context's digits


def contract_units(units: Decimal | None) -> int | None:
    """Return the `contract_units` of a row for a factor: None where the row's quantities are still the broker's own."""
    return None if units is None else int(units) if units == int(units) else 1


def in_units(value: object, units: Decimal | None) -> int:
    """Return a quantity in units, or unchanged where the factor is not known; absent means zero. Raise `BadAnswer` for a fraction."""
    quantity = whole(value) * (Decimal(1) if units is None else units)
    if quantity != int(quantity):
        raise BadAnswer(f"a quantity of {quantity} units")
    return int(quantity)
