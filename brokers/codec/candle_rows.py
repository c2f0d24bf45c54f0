"""Reads candles that come as rows `[time, open, high, low, close, volume, oi]`, and cuts the days of a request into calls."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, timedelta
from typing import TypeVar

from onebroker.brokers.codec.contained import made_of, read_some
from onebroker.brokers.codec.fields import number, row_of, whole
from onebroker.brokers.records import Candle
from onebroker.brokers.requests import BadAnswer

Row = TypeVar("Row")
Word = TypeVar("Word")

_FIELDS = 6
"""time, open, high, low, close, volume; oi may follow."""


def spans(first: date, last: date, most_days: int) -> list[tuple[date, date]]:
    """Cut the days from `first` to `last`, both inclusive, into spans of at most `most_days`, oldest first."""
    cut = []
    while first <= last:
        end = min(last, first + timedelta(days=most_days - 1))
        cut.append((first, end))
        first = end + timedelta(days=1)
    return cut


def word_and_spans(
    broker: str, intervals: Mapping[str, tuple[Word, int]], interval: str, first: date, last: date
) -> tuple[Word, list[tuple[date, date]]]:
    """Return the broker's word for an interval, and the days of each call, oldest first.

    `intervals`: our interval -> the broker's word and the most days of one call. Raise ValueError for an interval that the
    broker does not offer.
    """
    if interval not in intervals:
        raise ValueError(f"{broker} has no candles of {interval}")
    word, most_days = intervals[interval]
    return word, spans(first, last, most_days)


def read_candles(
    answers: Iterable[object], units: int | None, start_of: Callable[[object], float | None]
) -> list[Candle]:
    """Return the rows under `candles` in all answers, oldest first; rows without a price are left out.

    `start_of` reads the broker's time as epoch seconds, None when it is no time. Volume and oi are multiplied by `units`;
    both are None where `units` is None. Raises `BadAnswer` for an answer without rows; for a row without time or prices
    it raises as `read_series` does.
    """
    rows = []
    for answer in answers:
        listed = row_of(answer).get("candles")
        if not isinstance(listed, list):
            raise BadAnswer("an answer without candles")
        rows += listed
    return read_series(rows, lambda row: _candle(row, units, start_of))


def read_series(rows: Sequence[Row], read: Callable[[Row], Candle]) -> list[Candle]:
    """Return the candles that `read` makes of the rows, oldest first, without those that have no price.

    When a row cannot be read, raise `OddRows` with the other candles: the series then has a hole, and the caller decides
    about it.
    """
    return made_of(lambda: read_some(rows, lambda row: _priced(read(row))), _in_order)


def _priced(candle: Candle) -> Candle | None:
    """Return a candle that has all four prices, else None. Brokers write zero for a minute without a trade, or for an unknown price."""
    return None if 0 in (candle.open, candle.high, candle.low, candle.close) else candle


def _in_order(candles: Sequence[Candle]) -> list[Candle]:
    return sorted(candles, key=lambda candle: candle.start)


def _candle(row: object, units: int | None, start_of: Callable[[object], float | None]) -> Candle:
    if not isinstance(row, list) or len(row) < _FIELDS:
        raise BadAnswer("a candle without its six fields")
    start = start_of(row[0])
    if start is None:
        raise BadAnswer(f"a candle at {row[0]}")
    prices = [figure for figure in map(number, row[1:5]) if figure is not None]
    if len(prices) != 4:
        raise BadAnswer("a candle without its prices")
    return Candle(
        start=start,
        open=prices[0],
        high=prices[1],
        low=prices[2],
        close=prices[3],
        volume=None if units is None else whole(row[5]) * units,
        oi=whole(row[6]) * units if len(row) > _FIELDS and units is not None else None,
    )
