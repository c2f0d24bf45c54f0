"""Shoonya's two candle calls: minutes as rows, newest first, and days as JSON texts inside the JSON."""

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta

import msgspec

from onebroker.brokers.requests import WireResponse
from onebroker.brokers.simulator.dialects.dialect import AccountView
from onebroker.brokers.simulator.dialects.facts import Row
from onebroker.brokers.simulator.dialects.rest import Refused
from onebroker.brokers.simulator.dialects.shoonya.envelope import NotOk
from onebroker.brokers.simulator.dialects.shoonya.naming import Name
from onebroker.brokers.simulator.dialects.symbols import MONTHS
from onebroker.config.clock import IST, from_epoch

INTERVALS = ("1", "3", "5", "10", "15", "30", "60", "120", "240")
MOST_DAYS = 1201
"""If there are more days, the daily call keeps the newest and reports nothing."""
_LONGEST_DAYS = 120
"""A minute call over more days times out."""
_GATEWAY_TIMEOUT = WireResponse(
    status=504, headers={"content-type": "text/html"}, body=b"<html><body>504 Gateway Time-out</body></html>"
)
"""For a longer range the gateway answers instead of the server."""


def minutes(account: AccountView, name: Name, fields: Mapping[str, str], today: date) -> list[Row]:
    """Return the candles between `st` and `et`, newest first. Raise `NotOk`, and `Refused` for a range that times out."""
    interval = fields.get("intrv", "1")
    if interval not in INTERVALS:
        raise NotOk("Invalid Input : intrv")
    first, last = _span(fields, "st", "et", today)
    if (last.date() - first.date()).days > _LONGEST_DAYS:
        raise Refused(_GATEWAY_TIMEOUT)
    candles = account.candles(name.contract.instrument_id, f"{interval}minute", first.date(), last.date())
    volume = 0
    rows: list[Row] = []
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
    """Return the days between `from` and `to`, newest first, each as JSON text. Raise `NotOk`."""
    first, last = _span(fields, "from", "to", today)
    candles = account.candles(name.contract.instrument_id, "day", first.date(), last.date())
    rows = []
    for start, open_, high, low, close, traded, _ in candles:
        day = from_epoch(start)
        midnight = datetime(day.year, day.month, day.day, tzinfo=UTC)
        row = {
            "time": f"{day.day:02d}-{MONTHS[day.month - 1]}-{day.year}",
            **_prices(name, open_, high, low, close),
            "ssboe": str(int(midnight.timestamp())),
            "intv": f"{name.quantity(traded)}.00",
        }
        rows.append(msgspec.json.encode(row).decode())
    return rows[::-1][:MOST_DAYS]


def _prices(name: Name, *prices: float) -> Row:
    return {
        field: f"{price:.{name.places}f}" for field, price in zip(("into", "inth", "intl", "intc"), prices, strict=True)
    }


def _span(fields: Mapping[str, str], start: str, end: str, today: date) -> tuple[datetime, datetime]:
    """Return the two moments. Both may be left out. The official client sends fractions of seconds."""
    tomorrow = today + timedelta(days=1)
    first = _moment(fields.get(start), datetime(today.year, today.month, today.day, tzinfo=IST))
    last = _moment(fields.get(end), datetime(tomorrow.year, tomorrow.month, tomorrow.day, tzinfo=IST))
    if first > last:
        raise NotOk("Invalid Input : start time is after end time")
    return first, last


def _moment(text: str | None, otherwise: datetime) -> datetime:
    try:
        seconds = otherwise.timestamp() if text is None else float(text)
        return from_epoch(seconds)
    except (ValueError, OverflowError, OSError):
        raise NotOk("Invalid Input : time") from None
