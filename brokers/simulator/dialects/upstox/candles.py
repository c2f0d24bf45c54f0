"""Upstox' candle calls: units, counts and spans. Rows are newest first."""

from collections.abc import Sequence
from datetime import date, timedelta

from onebroker.brokers.simulator.dialects.dialect import AccountView
from onebroker.brokers.simulator.dialects.upstox.envelope import refused
from onebroker.brokers.simulator.dialects.upstox.naming import Name
from onebroker.config.clock import from_epoch

_MINUTES = (1, 2, 3, 4, 5, 10, 15, 20, 25, 30, 45, 60, 120, 180, 240)
_MONTH, _QUARTER, _DECADE = 31, 92, 3660
"""Most days between the two dates of one call."""


def span(unit: str, count: int, to_date: str, from_date: str | None) -> tuple[date, date]:
    """Return the days that a call asks for. If the call names no first day, return as many days as one call may have. Raise `Refused`."""
    most = _most_days(unit, count)
    last = _day(to_date)
    first = last - timedelta(days=most - 1) if from_date is None else _day(from_date)
    if first > last or (last - first).days > most:
        raise refused(400, "UDAPI1148", "Invalid date range")
    return first, last


def rows(account: AccountView, name: Name, interval: str, first: date, last: date) -> Sequence[Sequence[object]]:
    """Return the candles of these days, in Upstox' quantities."""
    if first > last:
        return []
    candles = account.candles(name.contract.instrument_id, interval, first, last)
    return [
        [from_epoch(start).isoformat(), open_, high, low, close, volume // name.units, oi // name.units]
        for start, open_, high, low, close, volume, oi in reversed(candles)
    ]


def interval_of(unit: str, count: int) -> str:
    """Return the exchange's name of a candle interval. Raise `Refused`."""
    minutes = count * 60 if unit == "hours" else count
    if unit == "days" and count == 1:
        return "day"
    if unit == "days" or minutes not in _MINUTES:
        raise refused(400, "UDAPI1147", "Invalid interval")
    return f"{minutes}minute"


def _most_days(unit: str, count: int) -> int:
    if unit == "days":
        return _DECADE
    return _MONTH if unit == "minutes" and count <= 15 else _QUARTER


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise refused(400, "UDAPI1148", "Invalid date range") from error
