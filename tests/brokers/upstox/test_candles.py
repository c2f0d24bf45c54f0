"""Upstox' historical candles."""

from datetime import date, datetime

import msgspec
import pytest

from onebroker.brokers.records import Candle, Listing
from onebroker.brokers.requests import BadAnswer, CallKind, WireResponse
from onebroker.brokers.upstox import candles
from onebroker.config.clock import IST
from tests.support.every_case import every_case

SHARE = Listing(broker_token="NSE_EQ|INE848E01016", tradingsymbol="NHPC", exchange="NSE_EQ")
CRUDE = Listing(broker_token="MCX_FO|570001", tradingsymbol="CRUDEOIL FUT", exchange="MCX_FO", contract_units=100)
NAMES = (
    "day", "1minute", "2minute", "3minute", "4minute", "5minute", "10minute", "15minute", "20minute", "25minute", "30minute",
    "45minute", "60minute", "120minute", "180minute", "240minute",
)  # fmt: skip


def test_all_sixteen_intervals_are_offered():
    assert set(candles.INTERVALS) == set(NAMES)


@every_case(("interval", "most"), [("1minute", 31), ("15minute", 31), ("20minute", 92), ("day", 3660)])
@every_case("days", [1, 28, 29, 90, 91, 400])
def test_calls_cover_every_day_once_oldest_first_within_the_span(access, interval, most, days):
    first = date(2025, 1, 1)
    last = date.fromordinal(first.toordinal() + days - 1)
    covered = []
    for request in candles.candle_requests(access, SHARE, interval, first, last):
        until, since = (date.fromisoformat(part) for part in request.url.rsplit("/", 2)[1:])
        assert 0 <= (until - since).days < most
        covered += list(range(since.toordinal(), until.toordinal() + 1))
    assert covered == list(range(first.toordinal(), last.toordinal() + 1))


def test_a_call_takes_no_token_and_encodes_the_key(access):
    (request,) = candles.candle_requests(access, SHARE, "5minute", date(2025, 1, 9), date(2025, 1, 10))
    assert (request.kind, "Authorization" in request.headers) == (CallKind.HISTORY, False)
    assert request.url == (
        "https://api.upstox.com/v3/historical-candle/NSE_EQ%7CINE848E01016/minutes/5/2025-01-10/2025-01-09"
    )


def test_an_interval_that_is_not_offered_is_an_error(access):
    with pytest.raises(ValueError, match="7minute"):
        candles.candle_requests(access, SHARE, "7minute", date(2025, 1, 1), date(2025, 1, 1))


def test_newest_first_answers_become_oldest_first(recorded):
    first, second = candles.parse_candles([recorded("candles")], SHARE)
    assert first == Candle(
        start=datetime(2025, 1, 10, 9, 15, tzinfo=IST).timestamp(), open=2450.5, high=2452.0, low=2449.5, close=2451.0,
        volume=1534, oi=0,
    )  # fmt: skip
    assert second.start == first.start + 60


def test_contracts_are_read_in_units_or_left_out(recorded):
    assert [each.volume for each in candles.parse_candles([recorded("candles")], CRUDE)] == [153_400, 120_000]
    unknown = msgspec.structs.replace(CRUDE, contract_units=None)
    assert [each.volume for each in candles.parse_candles([recorded("candles")], unknown)] == [None, None]


@pytest.mark.parametrize(
    "rows", [b"null", b"[1]", b'[["2025-01-10T09:15:00+05:30",1,2,3]]', b'[["soon",1,2,3,4,5,0]]',
             b'[["2025-01-10T09:15:00+05:30",null,2,3,4,5,0]]']
)  # fmt: skip
def test_a_candle_that_is_none_is_a_bad_answer(rows):
    body = b'{"status":"success","data":{"candles":' + rows + b"}}"
    with pytest.raises(BadAnswer):
        candles.parse_candles([WireResponse(status=200, body=body)], SHARE)
