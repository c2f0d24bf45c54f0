"""Fyers' candles: calls split by span, times, units."""

from datetime import date, datetime
from urllib.parse import parse_qsl, urlsplit

import msgspec
import pytest

from onebroker.brokers.fyers import candles
from onebroker.brokers.records import Candle, Listing
from onebroker.brokers.requests import BadAnswer, CallKind, WireResponse
from onebroker.config.clock import IST

SBIN = Listing(broker_token="nse_cm|3045", tradingsymbol="NSE:SBIN-EQ", exchange="NSE")
CRUDE = Listing(broker_token="mcx_fo|565899", tradingsymbol="MCX:CRUDEOIL26SEPFUT", exchange="MCX", contract_units=100)
NIFTY = Listing(broker_token="nse_cm|Nifty 50", tradingsymbol="NSE:NIFTY50-INDEX", exchange="NSE")


def answer(*rows, word="ok"):
    return WireResponse(status=200, body=msgspec.json.encode({"s": word, "code": 200, "candles": list(rows)}))


def test_the_calls_cover_both_days_within_the_span_of_one(access):
    requests = candles.candle_requests(access, SBIN, "5minute", date(2026, 1, 1), date(2026, 7, 31))
    asked = [dict(parse_qsl(urlsplit(request.url).query)) for request in requests]
    assert [(each["range_from"], each["range_to"]) for each in asked] == [
        ("2026-01-01", "2026-04-10"), ("2026-04-11", "2026-07-19"), ("2026-07-20", "2026-07-31"),
    ]  # fmt: skip
    assert all(request.kind is CallKind.HISTORY for request in requests)
    assert requests[0].url.startswith("https://api-t1.fyers.in/data/history?symbol=NSE%3ASBIN-EQ&resolution=5&")
    assert (asked[0]["date_format"], asked[0]["cont_flag"], asked[0]["oi_flag"]) == ("1", "0", "1")
    (request,) = candles.candle_requests(access, SBIN, "day", date(2026, 1, 1), date(2026, 12, 31))
    assert "resolution=D&" in request.url


@pytest.mark.parametrize("interval", ["4minute", "25minute", "45minute", "180minute", "week"])
def test_an_interval_fyers_does_not_offer_is_refused(access, interval):
    with pytest.raises(ValueError, match=interval):
        candles.candle_requests(access, SBIN, interval, date(2026, 1, 1), date(2026, 1, 2))


def test_the_documented_days_begin_at_midnight_in_india(recorded):
    first, second = candles.parse_candles([recorded("candles")], SBIN)
    assert first == Candle(
        start=datetime(2021, 5, 24, tzinfo=IST).timestamp(), open=417.0, high=419.2, low=405.3, close=412.05,
        volume=142964052, oi=0,
    )  # fmt: skip
    assert second.start - first.start == 86_400


def test_minutes_stay_where_they_are_also_at_midnight_utc():
    opening = int(datetime(2026, 11, 23, 9, 15, tzinfo=IST).timestamp())
    midnight = int(datetime(2026, 11, 23, 5, 30, tzinfo=IST).timestamp())
    rows = candles.parse_candles([answer([opening, 1, 2, 0.5, 1.5, 10], [midnight, 1, 2, 0.5, 1.5, 10])], SBIN)
    assert [row.start for row in rows] == [midnight, opening]
    assert rows[0].oi is None


def test_quantities_are_units_and_an_index_has_none():
    row = [1790000000, 1, 2, 0.5, 1.5, 7, 3]
    (crude,) = candles.parse_candles([answer(row)], CRUDE)
    assert (crude.volume, crude.oi) == (700, 300)
    (unknown,) = candles.parse_candles([answer(row)], msgspec.structs.replace(CRUDE, contract_units=None))
    assert (unknown.volume, unknown.oi) == (None, None)
    (index,) = candles.parse_candles([answer(row)], NIFTY)
    assert (index.volume, index.oi) == (None, None)


def test_a_span_without_candles_is_none_and_an_answer_without_them_is_bad():
    no_data = WireResponse(status=200, body=b'{"s":"no_data","code":200}')
    assert candles.parse_candles([no_data, answer(), answer(word="no_data")], SBIN) == []
    for body in (b'{"s":"ok"}', b'{"s":"ok","candles":[[1,2,3]]}', b'{"s":"ok","candles":[[null,1,2,3,4,5]]}'):
        with pytest.raises(BadAnswer):
            candles.parse_candles([WireResponse(status=200, body=body)], SBIN)
