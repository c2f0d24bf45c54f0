"""Kite's historical candles."""

from datetime import date
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.brokers.broker import Access
from onebroker.brokers.records import Candle, Listing
from onebroker.brokers.requests import BadAnswer, WireResponse
from onebroker.brokers.zerodha import candles
from onebroker.brokers.zerodha.wire import ENDPOINTS

INFY = Listing(broker_token="408065", tradingsymbol="INFY", exchange="NSE")
LEAD = Listing(broker_token="53496327", tradingsymbol="LEADMINI", exchange="MCX", contract_units=1000)
NOBODY = Access(endpoints=ENDPOINTS, credentials={}, login=None)


@given(st.dates(date(2010, 1, 1), date(2026, 1, 1)), st.integers(0, 3000), st.sampled_from(sorted(candles.INTERVALS)))
def test_the_calls_cover_every_day_once_within_the_span_of_one_call(first, days, interval):
    last = date.fromordinal(first.toordinal() + days)
    covered = []
    for request in candles.candle_requests(NOBODY, INFY, interval, first, last):
        query = parse_qs(urlsplit(request.url).query)
        start, end = (date.fromisoformat(query[name][0][:10]) for name in ("from", "to"))
        assert query["from"][0].endswith(" 00:00:00")
        assert query["to"][0].endswith(" 23:59:59")
        assert (end - start).days < candles.INTERVALS[interval][1]
        covered += range(start.toordinal(), end.toordinal() + 1)
    assert covered == list(range(first.toordinal(), last.toordinal() + 1))


def test_an_interval_kite_does_not_have_is_refused_before_a_call():
    with pytest.raises(ValueError, match="2minute"):
        candles.candle_requests(NOBODY, INFY, "2minute", date(2026, 1, 1), date(2026, 1, 2))


def test_the_recorded_candles_read_as_documented(recorded):
    rows = candles.parse_candles([recorded("historical_minute")], INFY)
    assert len(rows) == 6
    assert rows[0] == Candle(start=1513309500.0, open=1704.5, high=1705.0, low=1699.25, close=1702.8, volume=2499)
    assert [row.start for row in rows] == sorted(row.start for row in rows)


@pytest.mark.parametrize(("units", "volume", "oi"), [(1000, 7000, 9000), (None, None, None)])
def test_lots_become_units_or_nothing(units, volume, oi):
    body = {"status": "success", "data": {"candles": [["2017-12-15T00:00:00+0530", 1, 2, 0.5, 1.5, 7, 9]]}}
    listing = msgspec.structs.replace(LEAD, contract_units=units)
    (row,) = candles.parse_candles([WireResponse(status=200, body=msgspec.json.encode(body))], listing)
    assert (row.volume, row.oi) == (volume, oi)


@pytest.mark.parametrize(
    "candle", [[], "x", ["2017-12-15", 1, 2, 3, 4, 5], ["2017-12-15T00:00:00+0530", None, 2, 3, 4, 5]]
)
def test_what_is_no_candle_is_a_bad_answer(candle):
    body = {"status": "success", "data": {"candles": [candle]}}
    with pytest.raises(BadAnswer):
        candles.parse_candles([WireResponse(status=200, body=msgspec.json.encode(body))], INFY)
