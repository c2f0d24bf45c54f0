"""Candles: both calls, their spans, and their rows."""

from datetime import date, datetime

import msgspec
import pytest

from onebroker.brokers.requests import BadAnswer, WireResponse
from onebroker.brokers.shoonya import candles
from onebroker.config.clock import IST


def sent(request):
    return msgspec.json.decode(request.body.removeprefix(b"jData=").partition(b"&")[0])


def test_minutes_are_asked_for_by_token_in_epoch_seconds(access, listings):
    first, second = candles.candle_requests(
        access, listings["NSE|11536"], "1minute", date(2026, 11, 2), date(2026, 11, 8)
    )
    start = int(datetime(2026, 11, 2, tzinfo=IST).timestamp())
    assert sent(first) == {
        "uid": "FA12345", "ordersource": "API", "exch": "NSE", "token": "11536", "intrv": "1", "st": str(start),
        "et": str(start + 5 * 86400 - 1),
    }  # fmt: skip
    assert sent(second)["st"] == str(start + 5 * 86400)
    assert first.body.endswith(b"&jKey=token")
    assert first.headers["Authorization"] == "Bearer token"


def test_days_are_asked_for_by_name_never_more_than_the_call_keeps(access, listings):
    requests = candles.candle_requests(access, listings["NSE|2031"], "day", date(2016, 1, 1), date(2026, 11, 20))
    assert len(requests) == 4
    assert all(int(sent(one)["to"]) - int(sent(one)["from"]) < 1201 * 86400 for one in requests)
    assert sent(requests[0])["sym"] == "NSE:M%26M-EQ"
    assert requests[0].body.count(b"&") == 1


@pytest.mark.parametrize("interval", ["2minute", "45minute", "180minute", "week"])
def test_an_interval_it_does_not_offer_is_refused(access, listings, interval):
    with pytest.raises(ValueError, match="shoonya"):
        candles.candle_requests(access, listings["NSE|11536"], interval, date(2026, 11, 2), date(2026, 11, 2))


def test_minutes_come_newest_first_and_minutes_without_trades_as_zeros(recorded, listings):
    first, second = candles.parse_candles([recorded("minutes")], listings["NSE|11536"])
    assert first.start == datetime(2020, 6, 2, 15, 44, tzinfo=IST).timestamp()
    assert (first.open, first.high, first.low, first.close) == (260.1, 260.7, 260.1, 260.7)
    assert (second.start, second.volume, second.oi) == (first.start + 60, 350, 128702)


def test_days_are_texts_and_begin_at_midnight_in_india(recorded, listings):
    first, second = candles.parse_candles([recorded("days")], listings["NSE|11536"])
    assert first.start == datetime(2022, 9, 20, tzinfo=IST).timestamp()
    assert (second.close, second.volume, second.oi) == (2495.0, 4249172, None)


def test_several_answers_are_one_list_and_a_moment_counts_once(recorded, listings, refused):
    answers = [recorded("minutes"), refused('Error Occurred : 5 "no data"'), recorded("minutes")]
    assert len(candles.parse_candles(answers, listings["NSE|11536"])) == 2


@pytest.mark.parametrize(
    "row",
    ["nonsense", {"time": "02-06-2020 15:46:00"}, {"into": "1", "inth": "1", "intl": "1", "intc": "1"}, 7, ["1"]],
)
def test_a_candle_that_is_none_is_a_bad_answer(listings, row):
    with pytest.raises(BadAnswer):
        candles.parse_candles([WireResponse(status=200, body=msgspec.json.encode([row]))], listings["NSE|11536"])
