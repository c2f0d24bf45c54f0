"""Dhan's candles: what is asked for, and columns into candles."""

from datetime import date

import msgspec
import pytest

from onebroker.brokers.dhan import candles
from onebroker.brokers.records import Candle, Listing
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, CallKind, WireResponse

SHARE = Listing(broker_token="NSE_EQ:1333", tradingsymbol="HDFCBANK", exchange="NSE_EQ")
OPTION = Listing(broker_token="NSE_FNO:49081", tradingsymbol="X", exchange="NSE_FNO", other_names="OPTIDX")
CRUDE = Listing(
    broker_token="MCX_COMM:1", tradingsymbol="C", exchange="MCX_COMM", other_names="FUTCOM", contract_units=100
)
INDEX = Listing(broker_token="IDX_I:13", tradingsymbol="NIFTY", exchange="IDX_I")
COLUMNS = {
    "open": [3978, 3856], "high": [3978, 3925], "low": [3861, 3856], "close": [3879.85, 3915.9], "volume": [3937092, 1906106],
    "timestamp": [1326220200, 1326306600],
}  # fmt: skip


def body(request):
    return msgspec.json.decode(request.body)


def answer(content, status=200):
    return WireResponse(status=status, body=content if isinstance(content, bytes) else msgspec.json.encode(content))


def test_days_are_one_call_whose_last_day_is_named_a_day_later(access):
    (request,) = candles.candle_requests(access, OPTION, "day", date(2010, 1, 1), date(2026, 11, 20))
    assert (request.kind, request.url) == (CallKind.HISTORY, "https://api.dhan.co/v2/charts/historical")
    assert body(request) == {
        "dhanClientId": "1100003626", "securityId": "49081", "exchangeSegment": "NSE_FNO", "instrument": "OPTIDX",
        "oi": True, "expiryCode": 0, "fromDate": "2010-01-01", "toDate": "2026-11-21",
    }  # fmt: skip


def test_minutes_are_cut_into_calls_of_at_most_ninety_days_begun_a_minute_early(access):
    requests = candles.candle_requests(access, SHARE, "25minute", date(2026, 1, 1), date(2026, 7, 1))
    spans = [(body(each)["fromDate"], body(each)["toDate"]) for each in requests]
    assert spans == [
        ("2025-12-31 23:59:00", "2026-03-30 23:59:59"), ("2026-03-30 23:59:00", "2026-06-27 23:59:59"),
        ("2026-06-27 23:59:00", "2026-07-01 23:59:59"),
    ]  # fmt: skip
    assert requests[0].url == "https://api.dhan.co/v2/charts/intraday"
    assert (body(requests[0])["interval"], body(requests[0])["instrument"], body(requests[0])["oi"]) == (
        "25", "EQUITY", False,
    )  # fmt: skip


@pytest.mark.parametrize("interval", ["1minute", "5minute", "15minute", "25minute", "60minute"])
def test_the_five_intraday_intervals_are_offered(access, interval):
    (request,) = candles.candle_requests(access, INDEX, interval, date(2026, 1, 1), date(2026, 1, 1))
    assert interval == f"{body(request)['interval']}minute"
    assert body(request)["instrument"] == "INDEX"


@pytest.mark.parametrize("interval", ["2minute", "30minute", "week", ""])
def test_other_intervals_are_not_offered(access, interval):
    with pytest.raises(ValueError, match="no candles"):
        candles.candle_requests(access, SHARE, interval, date(2026, 1, 1), date(2026, 1, 1))


def test_columns_become_candles_oldest_first():
    newer = {name: [value[1]] for name, value in COLUMNS.items()}
    older = {name: [value[0]] for name, value in COLUMNS.items()}
    assert candles.parse_candles([answer(newer), answer(older)], SHARE) == [
        Candle(start=1326220200.0, open=3978.0, high=3978.0, low=3861.0, close=3879.85, volume=3937092),
        Candle(start=1326306600.0, open=3856.0, high=3925.0, low=3856.0, close=3915.9, volume=1906106),
    ]


def test_open_interest_is_read_in_units_and_zero_inside_an_options_series_is_none():
    read = candles.parse_candles([answer(COLUMNS | {"open_interest": [3, 0]})], CRUDE)
    assert [each.oi for each in read] == [300, 0]
    read = candles.parse_candles([answer(COLUMNS | {"open_interest": [3, 0]})], OPTION)
    assert [each.oi for each in read] == [3, None]
    assert read[0].volume == 3937092


@pytest.mark.parametrize("interest", [[], [1], None, "x"])
def test_an_open_interest_column_that_does_not_fit_is_none(interest):
    assert [each.oi for each in candles.parse_candles([answer(COLUMNS | {"open_interest": interest})], OPTION)] == [
        None
    ] * 2


def test_an_index_and_lots_of_an_unknown_size_have_no_volume():
    for listing in (INDEX, msgspec.structs.replace(CRUDE, contract_units=None)):
        read = candles.parse_candles([answer(COLUMNS | {"open_interest": [3, 4]})], listing)
        assert [(each.volume, each.oi) for each in read] == [(None, None)] * 2


def test_days_without_data_are_empty():
    assert candles.parse_candles([answer({"errorCode": "DH-907", "errorMessage": "no data"}, 400)], SHARE) == []
    assert candles.parse_candles([answer({name: [] for name in COLUMNS})], SHARE) == []


def test_other_refusals_stay_refusals():
    with pytest.raises(BrokerRefusal):
        candles.parse_candles([answer({"errorCode": "DH-905", "errorMessage": "bad"}, 400)], SHARE)


@pytest.mark.parametrize(
    "content",
    [b"[]", {}, COLUMNS | {"open": [1]}, {**COLUMNS, "volume": None}, COLUMNS | {"close": [None, 1]}, COLUMNS | {"timestamp": ["x", 1]}],
)  # fmt: skip
def test_columns_that_do_not_fit_together_are_a_bad_answer(content):
    with pytest.raises(BadAnswer):
        candles.parse_candles([answer(content)], SHARE)
