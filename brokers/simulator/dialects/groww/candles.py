"""Groww's candle calls: intervals, spans, rows, and the older call with an interval in minutes."""

from collections.abc import Callable, Sequence
from datetime import date, datetime

from onebroker.brokers.simulator.dialects.dialect import AccountView, DialectRequest
from onebroker.brokers.simulator.dialects.groww.envelope import bad_request
from onebroker.brokers.simulator.dialects.groww.naming import Name
from onebroker.brokers.simulator.dialects.groww.rows import stamp
from onebroker.config.clock import IST, from_epoch

Bar = tuple[float, float, float, float, float, int, int]
"""Start, open, high, low, close, volume, oi."""

_MINUTES = {
    "1minute": 1, "2minute": 2, "3minute": 3, "5minute": 5, "10minute": 10, "15minute": 15, "30minute": 30, "1hour": 60,
    "4hour": 240, "1day": 1440, "1week": 10080, "1month": 43200,
}  # fmt: skip
_MOST_DAYS = {
    "1minute": 30,
    "2minute": 30,
    "3minute": 30,
    "5minute": 30,
    "10minute": 90,
    "15minute": 90,
    "30minute": 90,
}
_LONGEST = 180
_BLOCKS: dict[str, Callable[[date], object]] = {
    "1week": lambda day: day.isocalendar()[:2],
    "1month": lambda day: (day.year, day.month),
}


def answer(account: AccountView, name: Name, request: DialectRequest, now: datetime) -> dict[str, object]:
    """Return the payload of a candle call by Groww symbol. Raise `Refused`."""
    word = request.first("candle_interval") or ""
    if word not in _MINUTES:
        raise bad_request("Invalid candle interval.")
    first, last = span(request, _MOST_DAYS.get(word, _LONGEST))
    rows: list[list[object]] = [
        [stamp(from_epoch(start)), *prices, volume, None if name.segment == "CASH" else oi]
        for start, *prices, volume, oi in bars(account, name, word, first, last, now)
    ]
    return _payload(rows, request, _MINUTES[word])


def old_answer(account: AccountView, name: Name, request: DialectRequest, now: datetime) -> dict[str, object]:
    """Return the payload of the older call: rows of six values with epoch seconds, without open interest."""
    minutes = request.first("interval_in_minutes") or "1"
    word = next((word for word, length in _MINUTES.items() if str(length) == minutes), None)
    if word is None:
        raise bad_request("Invalid interval.")
    first, last = span(request, _MOST_DAYS.get(word, _LONGEST))
    rows: list[list[object]] = [
        [int(start), *prices, volume] for start, *prices, volume, _ in bars(account, name, word, first, last, now)
    ]
    return _payload(rows, request, _MINUTES[word])


def _payload(rows: list[list[object]], request: DialectRequest, minutes: int) -> dict[str, object]:
    return {
        "candles": rows,
        "closing_price": rows[-1][4] if rows else None,
        "start_time": request.first("start_time"),
        "end_time": request.first("end_time"),
        "interval_in_minutes": minutes,
    }


def span(request: DialectRequest, most_days: int) -> tuple[datetime, datetime]:
    """Return the times of a call (`yyyy-MM-dd HH:mm:ss`, or epoch seconds). Raise `Refused`."""
    first, last = (_moment(request.first(name)) for name in ("start_time", "end_time"))
    if first > last or (last.date() - first.date()).days >= most_days:
        raise bad_request(f"At most {most_days} days in one call.")
    return first, last


def _moment(text: str | None) -> datetime:
    try:
        if text is not None and text.isdecimal():
            return from_epoch(int(text))
        return datetime.fromisoformat(text or "").replace(tzinfo=IST)
    except (ValueError, OverflowError, OSError) as error:
        raise bad_request("Invalid time.") from error


def bars(account: AccountView, name: Name, word: str, first: datetime, last: datetime, now: datetime) -> Sequence[Bar]:
    """Return the bars that begin within the span, oldest first."""
    last = min(last, now)
    if first > last:
        return []
    interval = {"1hour": "60minute", "4hour": "240minute"}.get(word, word if word.endswith("minute") else "day")
    found = account.candles(name.contract.instrument_id, interval, first.date(), last.date())
    within = [bar for bar in found if first.timestamp() <= bar[0] <= last.timestamp()]
    block = _BLOCKS.get(word)
    return within if block is None else _joined(within, block)


def _joined(days: Sequence[Bar], block: Callable[[date], object]) -> list[Bar]:
    joined: dict[object, Bar] = {}
    for bar in days:
        place = block(from_epoch(bar[0]).date())
        held = joined.get(place)
        joined[place] = bar if held is None else (
            held[0], held[1], max(held[2], bar[2]), min(held[3], bar[3]), bar[4], held[5] + bar[5], bar[6],
        )  # fmt: skip
    return list(joined.values())
