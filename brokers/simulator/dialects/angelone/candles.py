"""SmartAPI's candle calls: intervals and spans, the rows of candles and of open interest. Times are Indian."""

from collections.abc import Sequence

from onebroker.brokers.simulator.dialects.angelone.envelope import refused, word
from onebroker.brokers.simulator.dialects.angelone.naming import Name
from onebroker.brokers.simulator.dialects.dialect import AccountView
from onebroker.brokers.simulator.dialects.facts import Row
from onebroker.brokers.simulator.dialects.form import Form
from onebroker.config.clock import from_epoch

INTERVALS = {
    "ONE_MINUTE": ("1minute", 30), "THREE_MINUTE": ("3minute", 60), "FIVE_MINUTE": ("5minute", 100),
    "TEN_MINUTE": ("10minute", 100), "FIFTEEN_MINUTE": ("15minute", 200), "THIRTY_MINUTE": ("30minute", 200),
    "ONE_HOUR": ("60minute", 400), "ONE_DAY": ("day", 2000),
}  # fmt: skip
"""SmartAPI's interval -> the exchange's interval, and the most days of one call."""
_LAYOUT = "%Y-%m-%d %H:%M"
_REFUSALS = {"interval": "Invalid interval", "fromdate": "Invalid date format", "todate": "Invalid date format"}
_CandleRow = tuple[float, float, float, float, float, int, int]
"""Rows as `AccountView.candles` returns them."""


def candle_rows(account: AccountView, name: Name, body: dict[str, object]) -> Sequence[Sequence[object]]:
    """Return the candles that a body asks for, in SmartAPI's quantities. Raise `Refused`."""
    return [
        [_iso(start), open_, high, low, close, volume // name.units]
        for start, open_, high, low, close, volume, _ in _asked(account, name, body)
    ]


def interest_rows(account: AccountView, name: Name, body: dict[str, object]) -> Sequence[Row]:
    """Return the open interest that a body asks for, in SmartAPI's quantities. Raise `Refused`."""
    return [{"time": _iso(start), "oi": oi // name.units} for start, *_, oi in _asked(account, name, body)]


def _asked(account: AccountView, name: Name, body: dict[str, object]) -> Sequence[_CandleRow]:
    """Return the exchange's candles between a body's two moments. Raise `Refused`."""
    form = Form(lambda field: word(body, field), lambda field, _: refused("", _REFUSALS[field]))
    interval, most_days = form.one_of("interval", INTERVALS)
    first, last = form.moment("fromdate", _LAYOUT), form.moment("todate", _LAYOUT)
    if first > last or (last.date() - first.date()).days >= most_days:
        raise refused("", "Invalid date range")
    found = account.candles(name.contract.instrument_id, interval, first.date(), last.date())
    return [candle for candle in found if first.timestamp() <= candle[0] <= last.timestamp()]


def _iso(start: float) -> str:
    return from_epoch(start).isoformat(timespec="seconds")
