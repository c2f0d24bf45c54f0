"""Candles: what is asked, and what is in the answer."""

from datetime import date, datetime

import msgspec
import pytest

from onebroker.brokers.fivepaisa import candles
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, WireResponse
from onebroker.config.clock import IST
from tests.brokers.fivepaisa.listed import CURRENCY, SHARE, listing


def test_candle_calls_cover_every_day_once_in_half_years_at_the_second_host(access):
    requests = candles.candle_requests(access, SHARE, "5minute", date(2025, 1, 1), date(2025, 12, 31))
    assert len(requests) == 3
    assert requests[0].url == "https://openapi.5paisa.com/V2/historical/N/C/1660/5m?from=2025-01-01&end=2025-06-29"
    assert requests[1].url.partition("from=")[2].startswith("2025-06-30")
    assert requests[0].headers["Authorization"] == "bearer token"
    assert len(candles.candle_requests(access, SHARE, "day", date(2000, 1, 1), date(2026, 1, 1))) == 1
    with pytest.raises(ValueError, match="2minute"):
        candles.candle_requests(access, SHARE, "2minute", date(2025, 1, 1), date(2025, 1, 2))


def test_candles_are_indian_times_and_units(enveloped):
    rows = [["2026-11-20T09:20:00", 2, 3, 1, 2.5, 7], ["2026-11-20T09:15:00", 1, 2, 0.5, 1.5, 4]]
    body = msgspec.json.encode({"status": "success", "data": {"candles": rows}})
    answers = [WireResponse(status=200, body=body)]
    first, second = candles.parse_candles(answers, CURRENCY)
    assert first.start == datetime(2026, 11, 20, 9, 15, tzinfo=IST).timestamp()
    assert (first.open, first.high, first.low, first.close, first.volume, first.oi) == (1.0, 2.0, 0.5, 1.5, 4000, None)
    assert second.volume == 7000
    assert candles.parse_candles(answers, listing("N:C:999920000"))[0].volume is None
    assert candles.parse_candles(answers, listing("M:D:1", None))[0].volume is None


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b'{"status":"Date range should not exceed 6 months"}', BrokerRefusal),
        (b'{"status":"error","message":"no"}', BrokerRefusal),
        (b'{"head":{"Status":1,"Status_description":"Invalid input"}}', BrokerRefusal),
        (b'{"status":"success","data":{}}', BadAnswer),
        (b'{"status":"success","data":{"candles":[[1]]}}', BadAnswer),
        (b'{"status":"success"}', BadAnswer),
    ],
)
def test_failed_candles_come_in_envelopes_of_their_own(body, error):
    with pytest.raises(error):
        candles.parse_candles([WireResponse(status=200, body=body)], SHARE)
