"""Dhan's candle calls: their request bodies, and the columns of their answers."""

from collections.abc import Mapping, Sequence
from datetime import datetime, time, timedelta

from onebroker.brokers.requests import WireResponse
from onebroker.brokers.simulator.dialects.dhan.envelope import NO_DATA, bad_input, refused
from onebroker.brokers.simulator.dialects.dhan.naming import Name
from onebroker.brokers.simulator.dialects.dialect import AccountView
from onebroker.brokers.simulator.dialects.form import Form
from onebroker.brokers.simulator.dialects.rest import as_json
from onebroker.config.clock import IST

CandleRow = tuple[float, float, float, float, float, int, int]
"""Rows as `AccountView.candles` returns them."""
INTRADAY = ("1", "5", "15", "25", "60")
_MOST_DAYS = timedelta(days=90)
_COLUMNS = ("timestamp", "open", "high", "low", "close", "volume", "open_interest")


def daily(account: AccountView, name: Name, body: Mapping[str, object]) -> WireResponse:
    """Answer days from fromDate up to toDate, without toDate itself."""
    _check_instrument(name, body)
    if body.get("expiryCode", 0) not in (0, 1, 2, 3):
        raise bad_input("expiryCode is invalid")
    form = _form(body)
    first, last = form.day("fromDate"), form.day("toDate") - timedelta(days=1)
    rows = account.candles(name.contract.instrument_id, "day", first, last) if first <= last else []
    return _columns(name, rows, body)


def intraday(account: AccountView, name: Name, body: Mapping[str, object]) -> WireResponse:
    """Answer bars after fromDate, up to toDate. A bar that starts exactly at fromDate is left out."""
    _check_instrument(name, body)
    interval = str(body.get("interval"))
    if interval not in INTRADAY:
        raise bad_input("interval is invalid")
    start, end = _moment(body, "fromDate", time()), _moment(body, "toDate", time(23, 59, 59))
    if end - start > _MOST_DAYS:
        raise bad_input("at most 90 days of data can be asked for at once")
    rows = account.candles(name.contract.instrument_id, f"{interval}minute", start.date(), end.date())
    begins, ends = start.timestamp(), end.timestamp()
    return _columns(name, [row for row in rows if begins < row[0] <= ends], body)


def _columns(name: Name, rows: Sequence[CandleRow], body: Mapping[str, object]) -> WireResponse:
    if not rows:
        raise refused(NO_DATA, "Unable to fetch data: incorrect parameters or no data present")
    units = name.units
    table = [(int(at), *prices, volume // units, oi // units) for at, *prices, volume, oi in rows]
    columns = {column: list(values) for column, values in zip(_COLUMNS, zip(*table, strict=True), strict=True)}
    if body.get("oi") is not True:
        columns["open_interest"] = []
    return as_json(200, columns)


def _check_instrument(name: Name, body: Mapping[str, object]) -> None:
    if body.get("instrument") != name.instrument:
        raise bad_input("instrument is invalid")


def _form(body: Mapping[str, object]) -> Form:
    return Form(body.get, lambda field, _: bad_input(f"{field} is invalid"))


def _moment(body: Mapping[str, object], field: str, of_day: time) -> datetime:
    """Read a date with time, or a date alone, which then gets the time `of_day`."""
    form = _form(body)
    if len(str(body.get(field))) == len("2026-11-20"):
        return datetime.combine(form.day(field), of_day, IST)
    return form.moment(field, "%Y-%m-%d %H:%M:%S")
