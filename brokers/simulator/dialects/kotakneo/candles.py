"""Kotak Neo's candle call: intervals, spans and rows."""

from collections.abc import Iterable, Sequence
from datetime import date

from onebroker.brokers.simulator.dialects.dialect import AccountView, DialectRequest
from onebroker.brokers.simulator.dialects.kotakneo.envelope import fault
from onebroker.brokers.simulator.dialects.kotakneo.naming import Name
from onebroker.brokers.simulator.dialects.rest import Refused
from onebroker.config.clock import from_epoch

_INTERVALS = {
    "1min": ("1minute", 30), "3min": ("3minute", 30), "5min": ("5minute", 30), "10min": ("10minute", 60),
    "15min": ("15minute", 60), "30min": ("30minute", 90), "60min": ("60minute", 90), "D": ("day", 180), "W": ("day", 180),
}  # fmt: skip
"""Interval -> the exchange's interval that it is made of, and the most days of one call."""
SEGMENTS = ("nse_cm", "nse_fo", "bse_cm", "bse_fo")

_Candle = tuple[float, float, float, float, float, int, int]


def rows(account: AccountView, name: Name, request: DialectRequest) -> list[Sequence[object]]:
    """Return the candles that a call asks for, oldest first. Raise `Refused`."""
    interval = request.first("interval") or ""
    if interval not in _INTERVALS:
        raise Refused(fault("Invalid interval value"))
    ours, most_days = _INTERVALS[interval]
    first, last = _day(request.first("fromdate")), _day(request.first("todate"))
    if first > last or (last - first).days >= most_days:
        raise Refused(fault("Invalid date range"))
    found: Iterable[_Candle] = account.candles(name.contract.instrument_id, ours, first, last)
    if interval == "W":
        found = _weeks(found)
    # The open interest is not filled yet.
    return [
        [from_epoch(start).strftime("%Y-%m-%dT%H:%M:%S%z"), open_, high, low, close, volume // name.units, 0]
        for start, open_, high, low, close, volume, _ in found
    ]


def _weeks(days: Iterable[_Candle]) -> list[_Candle]:
    weeks: dict[tuple[int, int], _Candle] = {}
    for day in days:
        week = from_epoch(day[0]).isocalendar()[:2]
        held = weeks.get(week)
        weeks[week] = day if held is None else _joined(held, day)
    return list(weeks.values())


def _joined(week: _Candle, day: _Candle) -> _Candle:
    return (week[0], week[1], max(week[2], day[2]), min(week[3], day[3]), day[4], week[5] + day[5], day[6])


def _day(text: str | None) -> date:
    try:
        return date.fromisoformat(text or "")
    except ValueError:
        raise Refused(fault("Invalid date")) from None
