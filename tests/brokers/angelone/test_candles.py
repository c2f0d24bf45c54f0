"""Historical candles."""

import itertools
from datetime import date

import msgspec
import pytest

from onebroker.brokers.angelone import candles
from onebroker.brokers.records import Candle
from onebroker.brokers.requests import BadAnswer, CallKind
from tests.support.every_case import every_case

MOST_DAYS = {
    "1minute": 30, "3minute": 60, "5minute": 100, "10minute": 100, "15minute": 200, "30minute": 200, "60minute": 400,
    "day": 2000,
}  # fmt: skip


def test_a_call_names_token_interval_and_both_days(access, listings):
    (request,) = candles.candle_requests(access, listings["NSE|3045"], "5minute", date(2026, 11, 2), date(2026, 11, 20))
    assert (request.kind, request.method) == (CallKind.HISTORY, "POST")
    assert request.url.endswith("/historical/v1/getCandleData")
    assert msgspec.json.decode(request.body) == {
        "exchange": "NSE", "symboltoken": "3045", "interval": "FIVE_MINUTE", "fromdate": "2026-11-02 00:00",
        "todate": "2026-11-20 23:59",
    }  # fmt: skip


@every_case(("interval", "days"), MOST_DAYS.items())
def test_a_longer_span_is_cut_oldest_first_without_a_gap(access, listings, interval, days):
    first, last = date(2020, 1, 1), date(2026, 1, 1)
    bodies = [
        msgspec.json.decode(request.body)
        for request in candles.candle_requests(access, listings["NSE|3045"], interval, first, last)
    ]
    spans = [(date.fromisoformat(body["fromdate"][:10]), date.fromisoformat(body["todate"][:10])) for body in bodies]
    assert (spans[0][0], spans[-1][1]) == (first, last)
    assert all((end - start).days < days for start, end in spans)
    assert all((after[0] - before[1]).days == 1 for before, after in itertools.pairwise(spans))


@pytest.mark.parametrize("interval", ["2minute", "120minute", "week"])
def test_an_interval_it_does_not_offer_is_a_value_error(access, listings, interval):
    with pytest.raises(ValueError, match="angelone"):
        candles.candle_requests(access, listings["NSE|3045"], interval, date(2026, 1, 1), date(2026, 1, 2))


def test_rows_become_candles_oldest_first_and_an_empty_span_is_null(recorded, yes, listings):
    read = candles.parse_candles([yes(None), recorded("candles")], listings["NFO|58662"])
    assert [candle.open for candle in read] == [19571.2, 19552.05]
    assert read[1] == Candle(
        start=1_693_980_000.0, open=19552.05, high=19560.0, low=19550.1, close=19555.5, volume=12, oi=None
    )


@pytest.mark.parametrize(("name", "volume"), [("MCX|426302", 1200), ("NCDEX|7", None), ("NSE|99926000", None)])
def test_volumes_are_units_where_they_are_known(recorded, listings, name, volume):
    assert candles.parse_candles([recorded("candles")], listings[name])[1].volume == volume


@pytest.mark.parametrize("rows", [{"a": 1}, [["2023-09-06T11:15:00+05:30", 1, 2]], [["later", 1, 2, 3, 4, 5]], [5]])
def test_anything_else_is_a_bad_answer(yes, listings, rows):
    with pytest.raises(BadAnswer):
        candles.parse_candles([yes(rows)], listings["NSE|3045"])
