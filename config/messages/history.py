"""Sentences of candles and ticks (rules 1.4.8, 1.4.9, 1.7.3), and of the commands that load them."""

from datetime import date

from onebroker.config.intervals import INTERVALS, MOST_INTRADAY_DAYS

INTERVAL_REQUIRED = "interval is required"
INTERVAL_UNKNOWN = f"interval must be one of {', '.join(INTERVALS)}"
EITHER_RANGE = "give either from and to, or days"
RANGE_REQUIRED = "from and to are required, or days"
TO_BEFORE_FROM = "to must not be before from"
RANGE_TOO_LONG = f"an intraday range may span at most {MOST_INTRADAY_DAYS} days"
END_BEFORE_START = "end must be after start"


def must_be_moment(name: str) -> str:
    return f"{name} must be a date or date and time, such as 2026-09-11 or 2026-09-11 09:15:00"


# The documents leave these sentences to us (503).


def store_failed(error: str) -> str:
    return f"the history store could not be used: {error}"


def disk_low(free: int | None, reserve: int) -> str:
    """Megabytes; None = the free space cannot be read."""
    left = (
        "how much is free on the disk of the data directory cannot be told"
        if free is None
        else (f"{free} MB are free on the disk of the data directory")
    )
    return f"{left}, and history leaves {reserve} MB (history.disk_reserve_mb)"


def archive_without_room(day: date, free: int, needed: int, reserve: int) -> str:
    """Megabytes."""
    return (
        f"the archive of {day}: {free} MB are free on the disk of its draft, the ticks need about {needed} MB, "
        f"and history leaves {reserve} MB (history.disk_reserve_mb)"
    )


def archived_less(day: date, written: int | None, rows: int) -> str:
    return f"the archive of {day}: its file has {written or 0} ticks after it was written, and should have {rows}"


def instruments_unreadable(error: str) -> str:
    """For the instruments that were entered together with their history."""
    return f"the instrument history could not be read: {error}"


def factors_unreadable(error: str) -> str:
    """Candles are never served unadjusted only because their factors could not be read."""
    return f"the adjustment factors could not be read: {error}"


# Refused rows of files


UNKNOWN_INSTRUMENT = "the instrument is not known; --create enters it in the instrument history"
UNKNOWN_ID = "the instrument is not known, and instrument_id alone does not say what to create"
WRONG_FIELDS = "the row has another number of fields than the header"
WHOLE_SECOND = "time of a candle must be a whole second"
HIGH_TOO_LOW = "high must not be below open, low or close"
LOW_TOO_HIGH = "low must not be above open or close"
DEPTH_FORM = 'depth must be a JSON object such as {"buy": [{"price": 1, "quantity": 1, "orders": 1}], "sell": []}'
BROKER_UNKNOWN = "broker must be a broker code"
OVERWRITES = "an earlier row of this file gives other figures for the same candle or tick; this row stands in its place"
FACTOR_TWICE = "an earlier row gives another factor of this kind for this instrument and ex_date; give their product"


NO_PRICE = "a candle without a price"
FUTURE = "time must not lie in the future"
NO_SESSION = (
    "the market had no session on this day, as far as the exchange documents know (onebroker import exchanges FILE)"
)
OFF_ANCHOR = "no candle of this interval begins at this time: they are counted from when the market opens"


# Refused candles of brokers


def adjusted_by_broker(ex_date: date) -> str:
    return (
        f"the broker gives prices from before the corporate action of {ex_date} as adjusted; "
        "load them as they were traded (history load)"
    )


def basis_untold(ex_date: date) -> str:
    return (
        f"whether the broker adjusts prices from before the corporate action of {ex_date} cannot be told; "
        "load them as they were traded (history load)"
    )


def must_be_number(name: str) -> str:
    return f"{name} must be a number"


def must_be_quantity(name: str) -> str:
    return f"{name} must be a whole number of at least 0"


def must_be_price(name: str) -> str:
    return f"{name} must be above 0; only commodities and their futures may be below"


def too_many(name: str, most: int) -> str:
    return f"{name} must not be more than {most}"


def must_be_above_zero(name: str) -> str:
    return f"{name} must be a number above 0"


def must_be_one_of(name: str, choices: object) -> str:
    return f"{name} must be one of {choices}"
