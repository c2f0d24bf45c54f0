"""Contract conventions of the simulated derivatives: lots, ticks, freeze quantities, expiry rules. Tables only.

Lots and ticks follow the exchanges' contract specifications as read in November 2025; index names are invented.
"""

from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal

import attrs

TUESDAY, THURSDAY, SATURDAY = 1, 3, 5


@attrs.frozen(kw_only=True)
class Convention:
    """One underlying and how its derivatives are listed. Prices in rupees, lots in units."""

    exchange: str
    symbol: str
    """The derivative's underlying symbol."""
    name: str
    kind: str
    """Head of the bare segment: `equity_index`, `equity`, `currency`, `commodity`."""
    base_price: Decimal
    lot_size: int
    tick_size: Decimal
    freeze_quantity: int | None
    strike_step: Decimal
    volatility: float
    """Annual standard deviation, as a fraction."""
    expiries: Callable[[date], tuple[date, ...]]
    """today -> the three listed expiries, nearest first."""
    weekly: bool = False


def last_weekday(year: int, month: int, weekday: int) -> date:
    """Return the last `weekday` (Monday is 0) of a month."""
    first_of_next = date(year + month // 12, month % 12 + 1, 1)
    last = first_of_next - timedelta(days=1)
    return last - timedelta(days=(last.weekday() - weekday) % 7)


def _months(today: date, count: int) -> list[tuple[int, int]]:
    first = today.year * 12 + today.month - 1
    return [((first + n) // 12, (first + n) % 12 + 1) for n in range(count)]


def monthly(weekday: int) -> Callable[[date], tuple[date, ...]]:
    """Expiries on the last given weekday of this and the following months."""

    def expiries(today: date) -> tuple[date, ...]:
        days = (last_weekday(year, month, weekday) for year, month in _months(today, 4))
        return tuple(day for day in days if day >= today)[:3]

    return expiries


def weekly(weekday: int) -> Callable[[date], tuple[date, ...]]:
    """The next two weekly expiries and the next monthly one after them."""

    def expiries(today: date) -> tuple[date, ...]:
        near = today + timedelta(days=(weekday - today.weekday()) % 7)
        weeks = (near, near + timedelta(days=7))
        month = next(day for day in monthly(weekday)(today) if day > weeks[1])
        return (*weeks, month)

    return expiries


def currency_month_end(today: date) -> tuple[date, ...]:
    """Two working days before the last working day of the month."""

    def expiry(year: int, month: int) -> date:
        day = date(year + month // 12, month % 12 + 1, 1)
        for _ in range(3):
            day -= timedelta(days=1)
            while day.weekday() >= SATURDAY:
                day -= timedelta(days=1)
        return day

    days = (expiry(year, month) for year, month in _months(today, 4))
    return tuple(day for day in days if day >= today)[:3]


def day_of_month(number: int) -> Callable[[date], tuple[date, ...]]:
    """Expiries on a fixed day of the month, or on the Friday before if that day is on a weekend."""

    def expiry(year: int, month: int) -> date:
        day = date(year, month, number)
        return day - timedelta(days=max(0, day.weekday() - SATURDAY + 1))

    def expiries(today: date) -> tuple[date, ...]:
        days = (expiry(year, month) for year, month in _months(today, 5))
        return tuple(day for day in days if day >= today)[:3]

    return expiries


def _index(
    exchange: str, symbol: str, price: str, lot: int, freeze: int, step: str, rule: Callable[[date], tuple[date, ...]]
) -> Convention:
    return Convention(
        exchange=exchange, symbol=symbol, name=symbol.title(), kind="equity_index", base_price=Decimal(price),
        lot_size=lot, tick_size=Decimal("0.05"), freeze_quantity=freeze, strike_step=Decimal(step), volatility=0.13,
        expiries=rule,
    )  # fmt: skip


INDEX_UNDERLYINGS = (
    _index("nse", "DESH", "26050.00", 75, 1800, "50", weekly(TUESDAY)),
    _index("nse", "BANKDESH", "58900.00", 35, 600, "100", monthly(TUESDAY)),
    _index("bse", "SURAKSHA", "85200.00", 20, 1000, "100", weekly(THURSDAY)),
    _index("nse", "FINDESH", "27300.00", 65, 1800, "50", monthly(TUESDAY)),
)
"""Index underlyings with options and futures; the cash index's symbol is `INDEX_SYMBOLS[symbol]`."""

INDEX_SYMBOLS = {"DESH": "DESH 50", "BANKDESH": "DESH BANK", "SURAKSHA": "SURAKSHA", "FINDESH": "DESH FIN SERVICE"}
FURTHER_INDICES = (
    ("nse", "DESH IT"), ("nse", "DESH PHARMA"), ("nse", "DESH AUTO"), ("bse", "BANKSURA"), ("nse", "DESH MIDCAP 100"),
    ("nse", "DESH METAL"), ("nse", "DESH ENERGY"), ("nse", "DESH REALTY"), ("nse", "DESH 500"), ("nse", "DESH VIX 30"),
)  # fmt: skip


def _goods(
    exchange: str, symbol: str, price: str, lot: int, tick: str, freeze: int, step: str, vol: float, day: int
) -> Convention:
    return Convention(
        exchange=exchange, symbol=symbol, name=symbol.title(), kind="commodity", base_price=Decimal(price),
        lot_size=lot, tick_size=Decimal(tick), freeze_quantity=freeze, strike_step=Decimal(step), volatility=vol,
        expiries=day_of_month(day),
    )  # fmt: skip


COMMODITIES = (
    _goods("mcx", "CRUDEOIL", "5250", 100, "1", 10000, "50", 0.35, 19),
    _goods("ncdex", "JEERAUNJHA", "20250", 30, "5", 600, "100", 0.22, 20),
    _goods("mcx", "GOLD", "123800", 100, "1", 1000, "1000", 0.15, 5),
    _goods("mcx", "NATURALGAS", "405.5", 1250, "0.1", 60000, "5", 0.5, 25),
    _goods("ncdex", "DHANIYA", "8120", 50, "2", 1000, "100", 0.2, 20),
    _goods("mcx", "SILVER", "156400", 30, "1", 600, "1000", 0.25, 5),
    _goods("mcx", "COPPER", "1004.5", 2500, "0.05", 70000, "10", 0.2, 28),
    _goods("ncdex", "GUARSEED10", "5040", 50, "1", 1000, "50", 0.18, 20),
    _goods("mcx", "ZINC", "301.6", 5000, "0.05", 100000, "5", 0.2, 28),
    _goods("mcx", "GOLDM", "123500", 10, "1", 1000, "500", 0.15, 5),
    _goods("ncdex", "TMCFGRNZM", "15120", 50, "2", 1000, "100", 0.25, 20),
    _goods("mcx", "ALUMINIUM", "268.4", 5000, "0.05", 100000, "5", 0.18, 28),
)


def _pair(symbol: str, price: str, units: int, vol: float) -> Convention:
    return Convention(
        exchange="nse", symbol=symbol, name=symbol, kind="currency", base_price=Decimal(price), lot_size=units,
        tick_size=Decimal("0.0025"), freeze_quantity=10000 * units, strike_step=Decimal("0.25"), volatility=vol,
        expiries=currency_month_end,
    )  # fmt: skip


CURRENCIES = (
    _pair("USDINR", "88.6500", 1000, 0.04),
    _pair("EURINR", "102.4500", 1000, 0.07),
    _pair("GBPINR", "116.3000", 1000, 0.08),
)
