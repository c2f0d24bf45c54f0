"""Shoonya's two candle calls: minutes as rows, newest first, and days as JSON texts inside the JSON."""

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta

import msgspec

from onebroker.brokers.simulator.dialects.dialect import AccountView
from onebroker.brokers.simulator.dialects.shoonya.envelopes import Refused
from onebroker.brokers.simulator.dialects.shoonya.naming import Name
from onebroker.config.clock import IST, from_epoch

INTERVALS = ("1", "3", "5", "10", "15", "30", "60", "120", "240")
MOST_DAYS = 1201
"""If there are more days, the daily call keeps the newest and reports nothing."""
_LONGEST_DAYS = 120
"""A minute call over more days times out."""
_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")


class TimedOut(Exception):
    """The range is so long that the gateway answers instead of the server."""


def minutes(account: AccountView, name: Name, fields: Mapping[str, str], today: date) -> list[dict[str, object]]:
    """Return the candles between `st` and `et`, newest first. Raise `Refused` or `TimedOut`."""
    interval = fields.get("intrv", "1")
    if interval not in INTERVALS:
        raise Refused("Invalid Input : intrv")
    first, last = _span(fields, "st", "et", today)
    if (last.date() - first.date()).days > _LONGEST_DAYS:
        raise TimedOut
    candles = account.candles(name.contract.instrument_id, f"{interval}minute", first.date(), last.date())
    volume = 0
    rows: list[dict[str, object]] = []
    for start, open_, high, low, close, traded, oi in candles:
        if not first.timestamp() <= start <= last.timestamp():
            continue
        volume += traded
        rows.append(
            {
                "stat": "Ok",
                "time": f"{from_epoch(start):%d-%m-%Y %H:%M:%S}",
                "ssboe": str(int(start)),
                **_prices(name, open_, high, low, close),
                "intvwap": f"{(high + low + close) / 3:.2f}",
                "intv": name.quantity(traded),
                "intoi": "0",
                "v": name.quantity(volume),
                "oi": name.quantity(oi),
            }
        )
    return rows[::-1]


def days(account: AccountView, name: Name, fields: Mapping[str, str], today: date) -> list[str]:
    """Return the days between `from` and `to`, newest first, each as JSON text. Raise `Refused`."""
    first, last = _span(fields, "from", "to", today)
    candles = account.candles(name.contract.instrument_id, "day", first.date(), last.date())
    rows = []
    for start, open_, high, low, close, traded, _ in candles:
        day = from_epoch(start)
        midnight = datetime(day.year, day.month, day.day, tzinfo=UTC)
        row = {
            "time": f"{day.day:02d}-{_MONTHS[day.month - 1]}-{day.year}",
            **_prices(name, open_, high, low, close),
            "ssboe": str(int(midnight.timestamp())),
            "intv": f"{name.quantity(traded)}.00",
        }
        rows.append(msgspec.json.encode(row).decode())
    return rows[::-1][:MOST_DAYS]


def _prices(name: Name, *prices: float) -> dict[str, object]:
    return {
        field: f"{price:.{name.places}f}" for field, price in zip(("into", "inth", "intl", "intc"), prices, strict=True)
    }


def _span(fields: Mapping[str, str], start: str, end: str, today: date) -> tuple[datetime, datetime]:
    """Return the two moments. Both may be left out. The official client sends fractions of seconds."""
    tomorrow = today + timedelta(days=1)
    first = _moment(fields.get(start), datetime(today.year, today.month, today.day, tzinfo=IST))
    last = _moment(fields.get(end), datetime(tomorrow.year, tomorrow.month, tomorrow.day, tzinfo=IST))
    if first > last:
        raise Refused("Invalid Input : start time is after end time")
    return first, last


def _moment(text: str | None, otherwise: datetime) -> datetime:
    try:
        seconds = otherwise.timestamp() if text is None else float(text)
        return from_epoch(seconds)
    except (ValueError, OverflowError, OSError):
        raise Refused("Invalid Input : time") from None
