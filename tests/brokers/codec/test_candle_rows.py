"""Candles that come as rows, and spans of days: every day is asked for once."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.brokers.codec.candle_rows import read_candles, spans, word_and_spans
from onebroker.brokers.codec.fields import epoch
from onebroker.brokers.requests import BadAnswer
from tests.support.every_case import every_case

ROW = ["2026-11-20T09:15:00+05:30", 10, "10.5", 9.75, 10.25, 100]


@given(st.dates(date(2000, 1, 1), date(2030, 1, 1)), st.integers(-3, 900), st.integers(1, 400))
def test_spans_hold_every_day_once_in_order_and_none_is_too_long(first, days, most_days):
    last = first + timedelta(days=days)
    cut = spans(first, last, most_days)
    asked = [start + timedelta(days=step) for start, end in cut for step in range((end - start).days + 1)]
    assert asked == [first + timedelta(days=step) for step in range(days + 1)]
    assert all((end - start).days < most_days for start, end in cut)


def test_an_interval_has_its_word_and_its_most_days_and_an_unknown_interval_is_refused():
    first, last = date(2026, 11, 20), date(2026, 11, 22)
    cut = [(date(2026, 11, 20), date(2026, 11, 21)), (last, last)]
    assert word_and_spans("toy", {"day": ("D", 2)}, "day", first, last) == ("D", cut)
    with pytest.raises(ValueError, match="toy has no candles of 1minute"):
        word_and_spans("toy", {"day": ("D", 2)}, "1minute", first, last)


def test_candles_of_all_answers_come_oldest_first_and_in_units():
    later = ["2026-11-20T09:16:00+05:30", 1, 2, 0.5, 1.5, 7, 3]
    candles = read_candles([{"candles": [later]}, {"candles": [ROW]}], 10, epoch)
    assert [candle.start for candle in candles] == [epoch(ROW[0]), epoch(later[0])]
    assert (candles[0].open, candles[0].high, candles[0].low, candles[0].close) == (10.0, 10.5, 9.75, 10.25)
    assert [(candle.volume, candle.oi) for candle in candles] == [(1000, None), (70, 30)]
    assert [candle.volume for candle in read_candles([{"candles": [ROW]}], None, epoch)] == [None]


@every_case(
    "answer",
    [{}, {"candles": None}, [], {"candles": [ROW[:5]]}, {"candles": ["x"]}, {"candles": [["soon", *ROW[1:]]]},
     {"candles": [[ROW[0], None, *ROW[2:]]]}, {"candles": [[*ROW[:5], 0.5]]}],
)  # fmt: skip
def test_what_is_no_candle_is_a_bad_answer(answer):
    with pytest.raises(BadAnswer):
        read_candles([answer], 1, epoch)


def test_a_candle_without_a_price_is_left_out():
    later = ["2026-11-20T09:16:00+05:30", 1, 2, 0, 1.5, 7]
    nothing = ["2026-11-20T09:17:00+05:30", 0, 0, 0, 0, 0]
    assert [candle.open for candle in read_candles([{"candles": [ROW, later, nothing]}], 1, epoch)] == [10.0]
