"""Candles of ICICI Direct: what is asked, and what is read of the answer."""

import itertools
from datetime import date, datetime
from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.brokers.icicidirect import candles
from onebroker.brokers.requests import BadAnswer
from onebroker.config.clock import IST


# candles
def test_candles_are_asked_by_a_query_in_indian_time_cut_below_the_limit(access, option):
    first, second = candles.candle_requests(access, option, "1minute", date(2025, 2, 3), date(2025, 2, 3))
    url = urlsplit(first.url)
    assert f"{url.scheme}://{url.netloc}{url.path}" == "https://breezeapi.icicidirect.com/api/v2/historicalcharts"
    assert dict(parse_qsl(url.query)) == {
        "interval": "1minute", "from_date": "2025-02-03T00:00:00.000Z", "to_date": "2025-02-03T11:59:59.000Z",
        "stock_code": "NIFTY", "exch_code": "NFO", "product_type": "options", "expiry_date": "2025-02-13T06:00:00.000Z",
        "right": "call", "strike_price": "23550",
    }  # fmt: skip
    assert dict(parse_qsl(urlsplit(second.url).query))["from_date"] == "2025-02-03T12:00:00.000Z"
    assert (first.headers["apikey"], first.headers["X-SessionToken"]) == ("k&y^", access.token("session_token"))
    assert first.sign is None
    assert "X-Checksum" not in first.headers


@pytest.mark.parametrize("interval", candles.INTERVALS)
@given(days=st.integers(0, 70))
def test_calls_cover_every_second_once_and_fit_a_market_that_never_closes(access, share, interval, days):
    last = date.fromordinal(date(2025, 1, 1).toordinal() + days)
    requests = candles.candle_requests(access, share, interval, date(2025, 1, 1), last)
    spans = [
        tuple(
            datetime.fromisoformat(dict(parse_qsl(urlsplit(each.url).query))[name][:19])
            for name in ("from_date", "to_date")
        )
        for each in requests
    ]
    seconds = {"1minute": 60, "5minute": 300, "30minute": 1800, "day": 86_400}[interval]
    assert spans[0][0] == datetime(2025, 1, 1)  # noqa: DTZ001 - as it is written
    assert spans[-1][1].date() == last
    for (_, end), (start, _) in itertools.pairwise(spans):
        assert (start - end).total_seconds() == 1
    assert all((end - start).total_seconds() / seconds < 1000 for start, end in spans)


def test_an_interval_the_broker_lacks_is_no_call(access, share):
    with pytest.raises(ValueError, match="15minute"):
        candles.candle_requests(access, share, "15minute", date(2025, 2, 3), date(2025, 2, 3))


@pytest.mark.parametrize(("name", "volume", "oi"), [("candles_future", 81600, 17543475), ("candles_option", 304575, 2435175), ("candles_share", 1951, None)])  # fmt: skip
def test_recorded_candles_are_indian_whatever_the_letter_behind(
    answer, recorded, share, future, option, name, volume, oi
):
    listing = {"candles_future": future, "candles_option": option, "candles_share": share}[name]
    first, second = candles.parse_candles([answer(recorded[name])], listing)
    assert first.start == datetime(2025, 2, 3, 9, 21, tzinfo=IST).timestamp()
    assert second.start - first.start == 60
    assert (first.volume, first.oi) == (volume, oi)
    assert first.low <= first.open <= first.high


def test_a_full_answer_and_a_row_of_another_instrument_are_bad_answers(success, recorded, share, future):
    row = recorded["candles_share"]["Success"][0]
    with pytest.raises(BadAnswer, match="missing"):
        candles.parse_candles([success([row] * 1000)], share)
    with pytest.raises(BadAnswer):
        candles.parse_candles([success([row])], future)
    for broken in ({"datetime": "soon"}, {"open": "x"}, {"stock_code": None}):
        with pytest.raises(BadAnswer):
            candles.parse_candles([success([row | broken])], share)
    assert candles.parse_candles([success([]), success([])], share) == []
