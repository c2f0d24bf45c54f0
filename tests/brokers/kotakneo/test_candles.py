"""The candle calls and the documented row."""

from datetime import date, datetime
from urllib.parse import parse_qsl, urlsplit

import pytest

from onebroker.brokers.kotakneo import candles
from onebroker.brokers.records import Listing
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, CallKind
from onebroker.config.clock import IST

SHARE = Listing(broker_token="nse_cm|1333", tradingsymbol="HDFCBANK-EQ", exchange="nse_cm")
FUTURE = Listing(broker_token="nse_fo|61304", tradingsymbol="TCS26JULFUT", exchange="nse_fo")
INDEX = Listing(broker_token="nse_cm|26000", tradingsymbol="NIFTY", exchange="nse_cm", other_names="Nifty 50")
ROW = ["2026-08-20T09:15:00+0530", 12009.9, 12019.35, 12001.25, 12001.5, 163275, 13667775]


def test_a_span_is_cut_into_calls_oldest_first(bare):
    requests = candles.candle_requests(bare, SHARE, "5minute", date(2026, 1, 1), date(2026, 3, 1))
    queries = [dict(parse_qsl(urlsplit(request.url).query)) for request in requests]
    assert [(query["fromdate"], query["todate"]) for query in queries] == [
        ("2026-01-01", "2026-01-30"), ("2026-01-31", "2026-03-01"),
    ]  # fmt: skip
    assert queries[0]["neosymbol"] == "nse_cm|1333"
    assert queries[0]["interval"] == "5min"
    assert requests[0].kind is CallKind.HISTORY
    (index,) = candles.candle_requests(bare, INDEX, "day", date(2026, 1, 1), date(2026, 3, 1))
    assert dict(parse_qsl(urlsplit(index.url).query))["neosymbol"] == "nse_cm|Nifty 50"


@pytest.mark.parametrize(("interval", "exchange"), [("2minute", "nse_cm"), ("day", "mcx_fo"), ("day", "cde_fo")])
def test_what_is_not_offered_is_a_value_error(bare, interval, exchange):
    listing = Listing(broker_token=f"{exchange}|1", tradingsymbol="X", exchange=exchange)
    with pytest.raises(ValueError, match="no candles"):
        candles.candle_requests(bare, listing, interval, date(2026, 1, 1), date(2026, 1, 2))


def test_the_documented_row_is_read(said):
    answer = said({"status": "success", "interval": "1min", "data": {"candles": [ROW, [*ROW[:6], 0]]}})
    first, second = candles.parse_candles([answer], FUTURE)
    assert first.start == datetime(2026, 8, 20, 9, 15, tzinfo=IST).timestamp()
    assert (first.open, first.high, first.low, first.close, first.volume) == (
        12009.9,
        12019.35,
        12001.25,
        12001.5,
        163275,
    )
    assert (first.oi, second.oi) == (13667775, None)
    assert candles.parse_candles([answer], SHARE)[0].oi is None
    assert candles.parse_candles([answer], INDEX)[0].volume is None


def test_refusals_and_rubbish_are_told_apart(said):
    with pytest.raises(BrokerRefusal):
        candles.parse_candles(
            [said({"status": "ERROR", "fault": {"code": 400, "message": "Invalid interval value"}})], SHARE
        )
    for body in ({}, {"data": {}}, {"data": {"candles": [["x"]]}}, {"data": {"candles": [["soon", *ROW[1:]]]}}):
        with pytest.raises(BadAnswer):
            candles.parse_candles([said(body)], SHARE)
