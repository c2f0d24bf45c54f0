"""5paisa's candle call. It answers neither in the envelope of the other calls nor with their refusals."""

from datetime import date, timedelta

from onebroker.brokers.requests import WireResponse
from onebroker.brokers.simulator.dialects.dialect import AccountView, DialectRequest
from onebroker.brokers.simulator.dialects.fivepaisa.naming import Name
from onebroker.brokers.simulator.dialects.rest import Refused, as_json
from onebroker.config.clock import from_epoch

_HALF_YEAR = timedelta(days=184)
_INTERVALS = {**{f"{n}m": f"{n}minute" for n in (1, 3, 5, 10, 15, 30, 60)}, "1d": "day"}


def refused(message: str) -> Refused:
    return Refused(as_json(200, {"head": {"Status": 1, "Status_description": message}}))


def candles(account: AccountView, name: Name | None, interval_word: str, request: DialectRequest) -> WireResponse:
    """Answer with the candles of the days `from` to `end`, oldest first. Raise `Refused`."""
    interval = _INTERVALS.get(interval_word)
    first, last = _day(request.first("from")), _day(request.first("end"))
    if name is None or interval is None or first is None or last is None:
        raise refused("Invalid input parameters")
    if interval != "day" and last - first > _HALF_YEAR:
        return as_json(200, {"status": "Date range should not exceed 6 months"})
    rows = _rows(account, name, interval, first, last) if first <= last else []
    return as_json(200, {"status": "success", "data": {"candles": rows}})


def _rows(account: AccountView, name: Name, interval: str, first: date, last: date) -> list[list[object]]:
    return [
        [f"{from_epoch(start):%Y-%m-%dT%H:%M:%S}", open_, high, low, close, volume // name.units]
        for start, open_, high, low, close, volume, _ in account.candles(
            name.contract.instrument_id, interval, first, last
        )
    ]


def _day(text: str | None) -> date | None:
    try:
        return date.fromisoformat(text or "")
    except ValueError:
        return None
