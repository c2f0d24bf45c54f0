"""Fyers' candle call: resolutions and spans. Times are epoch seconds; a day's time is midnight UTC."""

from collections.abc import Sequence
from datetime import UTC, date, datetime

from onebroker.brokers.requests import WireResponse
from onebroker.brokers.simulator.dialects.dialect import AccountView, DialectRequest
from onebroker.brokers.simulator.dialects.fyers.envelope import BAD_INPUT, refused, success
from onebroker.brokers.simulator.dialects.fyers.naming import Name
from onebroker.brokers.simulator.dialects.rest import as_json
from onebroker.config.clock import from_epoch

_MINUTES = ("1", "2", "3", "5", "10", "15", "20", "30", "60", "120", "240")
_DAYS = ("D", "1D")
_MINUTE_SPAN, _DAY_SPAN = 100, 366
"""Most days of one call."""
_LATEST = 4_102_444_800


def history(account: AccountView, name: Name, request: DialectRequest) -> WireResponse:
    """Answer the candles of a span. Raise `Refused`."""
    resolution = request.first("resolution") or ""
    day = resolution in _DAYS
    if not day and resolution not in _MINUTES:
        raise refused(BAD_INPUT, "Invalid resolution")
    first, last = _day(request, "range_from"), _day(request, "range_to")
    if last < first or (last - first).days >= (_DAY_SPAN if day else _MINUTE_SPAN):
        raise refused(BAD_INPUT, "Invalid range")
    found = account.candles(name.contract.instrument_id, "day" if day else f"{resolution}minute", first, last)
    if not found:
        return as_json(200, {"s": "no_data", "code": 200, "message": "", "candles": []})
    with_oi = request.first("oi_flag") == "1"
    return success(candles=[_row(candle, name, day=day, with_oi=with_oi) for candle in found])


def _row(
    candle: tuple[float, float, float, float, float, int, int], name: Name, *, day: bool, with_oi: bool
) -> Sequence[object]:
    start, open_, high, low, close, volume, oi = candle
    if day:
        start = datetime.combine(from_epoch(start).date(), datetime.min.time(), UTC).timestamp()
    row = [int(start), open_, high, low, close, volume // name.units]
    return [*row, oi // name.units] if with_oi else row


def _day(request: DialectRequest, field: str) -> date:
    text = request.first(field) or ""
    if request.first("date_format") == "0":
        if text.isdecimal() and int(text) < _LATEST:
            return from_epoch(int(text)).date()
    elif request.first("date_format") == "1":
        try:
            return date.fromisoformat(text)
        except ValueError:
            pass
    raise refused(BAD_INPUT, f"Invalid {field}")
