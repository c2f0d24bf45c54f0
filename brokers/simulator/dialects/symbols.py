"""What brokers' names of contracts have in common: months, weekly expiries, the exchange's way of writing a symbol. No broker's words."""

from datetime import date, timedelta

from onebroker.brokers.simulator.world.model import Contract
from onebroker.config.instruments import Shape, strike_text

MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
WEEKLY_MONTHS = "123456789OND"
"""The letter of each month in the symbol of a weekly expiry."""
_PLAIN_SERIES = ("", "EQ")
_WEEK = timedelta(days=7)


def expiry_of(contract: Contract) -> date:
    """Return the expiry of a derivative."""
    return date.fromisoformat(str(contract.identity.expiry_date))


def is_weekly(expiry: date) -> bool:
    """Tell whether an expiry is not the last weekly expiry of its month. The last expiry of a month carries the month's name."""
    return (expiry + _WEEK).month == expiry.month


def compact_symbol(contract: Contract, *, has_weeklies: bool) -> str:
    """Return `NIFTY26NOVFUT`, `NIFTY26NOV25000CE`, or `NIFTY26N1025000CE` for a weekly option.

    `has_weeklies` tells whether the broker writes weekly options of this kind of contract with the day.
    """
    identity, expiry = contract.identity, expiry_of(contract)
    year, when = f"{expiry.year % 100:02d}", MONTHS[expiry.month - 1]
    if identity.shape is Shape.FUTURE:
        return f"{identity.underlying_symbol}{year}{when}FUT"
    if has_weeklies and is_weekly(expiry):
        when = f"{WEEKLY_MONTHS[expiry.month - 1]}{expiry.day:02d}"
    return f"{identity.underlying_symbol}{year}{when}{strike_text(identity.strike_price or 0.0)}{identity.option_type}"


def series_symbol(contract: Contract) -> str:
    """Return a security's symbol, with its series behind it unless the series is the ordinary series: `IRFC-N1`."""
    symbol = str(contract.identity.symbol)
    return symbol if contract.series in _PLAIN_SERIES else f"{symbol}-{contract.series}"


def units_of(contract: Contract) -> int:
    """Return the units in one of a broker's quantities, for brokers that count lots where the exchange quotes in lots: a lot there, one unit
    elsewhere."""
    return contract.lot_size if contract.quoted_in_lots else 1
