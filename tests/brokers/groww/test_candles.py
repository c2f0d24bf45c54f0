"""Candle calls by span, and both ways their times are written."""

from datetime import date, datetime
from urllib.parse import parse_qs, urlsplit

import pytest

from onebroker.brokers.groww import candles
from onebroker.brokers.records import Listing
from onebroker.brokers.requests import BadAnswer, WireResponse
from onebroker.config.clock import IST

FUTURE = Listing(
    broker_token="NSE:FNO:NIFTY26NOVFUT", tradingsymbol="NIFTY26NOVFUT", exchange="NSE",
    other_names="35001|NSE-NIFTY-24Nov26-FUT",
)  # fmt: skip
INDEX = Listing(broker_token="NSE:IDX:NIFTY", tradingsymbol="NIFTY", exchange="NSE", other_names="NIFTY|NSE-NIFTY")


def queries(requests):
    return [{name: value[0] for name, value in parse_qs(urlsplit(each.url).query).items()} for each in requests]


def test_a_call_says_the_instrument_by_its_groww_symbol_and_both_days_whole(access):
    (query,) = queries(candles.candle_requests(access, INDEX, "60minute", date(2026, 11, 2), date(2026, 11, 20)))
    assert query == {
        "exchange": "NSE", "segment": "CASH", "groww_symbol": "NSE-NIFTY", "candle_interval": "1hour",
        "start_time": "2026-11-02 00:00:00", "end_time": "2026-11-20 23:59:59",
    }  # fmt: skip


@pytest.mark.parametrize(("interval", "calls"), [("1minute", 7), ("15minute", 3), ("240minute", 2), ("day", 2)])
def test_a_long_span_is_cut_into_calls_oldest_first(access, interval, calls):
    first, last = date(2026, 5, 1), date(2026, 11, 20)
    asked = queries(candles.candle_requests(access, FUTURE, interval, first, last))
    assert len(asked) == calls
    assert asked[0]["start_time"].startswith("2026-05-01")
    assert asked[-1]["end_time"].startswith("2026-11-20")


@pytest.mark.parametrize(
    ("listing", "interval"),
    [
        (FUTURE, "4minute"), (FUTURE, "week"),
        (Listing(broker_token="MCX:COMMODITY:X", tradingsymbol="X", exchange="MCX", other_names="1|MCX-X"), "day"),
        (Listing(broker_token="NSE:CASH:X", tradingsymbol="X", exchange="NSE"), "day"),
    ],
)  # fmt: skip
def test_what_groww_has_no_candles_of_is_said(access, listing, interval):
    with pytest.raises(ValueError, match="has no candles"):
        candles.candle_requests(access, listing, interval, date(2026, 11, 2), date(2026, 11, 2))


def test_rows_are_read_oldest_first_with_indian_times(recorded):
    early, late = candles.parse_candles([recorded("candles")], FUTURE)
    assert early.start == datetime(2025, 9, 24, 10, 30, tzinfo=IST).timestamp()
    assert late.start == early.start + 900
    assert (early.open, early.high, early.low, early.close, early.volume, early.oi) == (9, 10.5, 8.5, 10, 100, 5)
    assert candles.parse_candles([recorded("candles")], INDEX)[0].volume is None


def test_the_older_form_with_epoch_seconds_is_read_and_nonsense_is_not():
    def answer(row):
        body = f'{{"status":"SUCCESS","payload":{{"candles":[{row}]}}}}'.encode()
        return [WireResponse(status=200, body=body)]

    assert candles.parse_candles(answer("[1790850000,1,2,0.5,1,3]"), FUTURE)[0].start == 1790850000
    for row in ('["soon",1,2,0.5,1,3]', "[null,1,2,0.5,1,3]", "[1,2]", '["2025-09-24 10:45:00",1,2,null,1,3]'):
        with pytest.raises(BadAnswer):
            candles.parse_candles(answer(row), FUTURE)
