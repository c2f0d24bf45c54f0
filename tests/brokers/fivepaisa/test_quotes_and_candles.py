"""The market snapshot and the candles: what is asked, whose answer it is, and what is in it."""

from datetime import date, datetime

import msgspec
import pytest

from onebroker.brokers.fivepaisa import candles, quotes
from onebroker.brokers.records import Listing
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, WireResponse
from onebroker.config.clock import IST


def listing(token, units=1):
    return Listing(broker_token=token, tradingsymbol=token, exchange=token.rpartition(":")[0], contract_units=units)


SHARE, TWIN, CURRENCY = listing("N:C:1660"), listing("B:C:1660"), listing("N:U:7001", 1000)
ROW = {"ScripCode": 1660, "LastTradedPrice": 434.5, "Open": 430, "High": 435, "Low": 429, "PClose": 431, "Volume": 9, "LastTradedQty": 2}  # fmt: skip


def test_a_snapshot_is_asked_for_by_exchange_kind_and_code(access, message_of):
    asked = message_of(quotes.quote_request(access, [SHARE, CURRENCY]))["Data"]
    assert asked == [
        {"Exchange": "N", "ExchangeType": "C", "ScripCode": "1660", "ScripData": ""},
        {"Exchange": "N", "ExchangeType": "U", "ScripCode": "7001", "ScripData": ""},
    ]


def test_a_row_is_a_tick_in_units_under_either_spelling(enveloped):
    other = {"Exch": "N", "ExchType": "U", "Token": 7001, "LastRate": 83.25, "TotalQty": 4, "PClose": 83, "OpenInterest": 2, "TickDt": "/Date(1707282361000+0530)/"}  # fmt: skip
    ticks = quotes.parse_quotes(enveloped({"Status": 0, "Data": [ROW, other]}), [SHARE, CURRENCY])
    share, currency = ticks["N:C:1660"], ticks["N:U:7001"]
    assert (share.last_price, share.open, share.previous_close, share.volume, share.last_quantity) == (
        434.5,
        430.0,
        431.0,
        9,
        2,
    )
    assert share.oi is None
    assert (currency.volume, currency.oi, currency.exchange_time) == (4000, 2000, 1707282361.0)


def test_a_code_that_two_of_the_question_have_needs_its_exchange(enveloped):
    assert quotes.parse_quotes(enveloped({"Status": 0, "Data": [ROW]}), [SHARE, TWIN]) == {}
    named = ROW | {"Exchange": "B", "ExchangeType": "C"}
    assert set(quotes.parse_quotes(enveloped({"Status": 0, "Data": [named]}), [SHARE, TWIN])) == {"B:C:1660"}


def test_a_quote_of_another_instrument_is_dropped_and_one_that_contradicts_is_refused(enveloped):
    stranger = ROW | {"ScripCode": 5}
    assert quotes.parse_quotes(enveloped({"Status": 0, "Data": [stranger, {}]}), [SHARE]) == {}
    with pytest.raises(BadAnswer):
        quotes.parse_quotes(enveloped({"Status": 0, "Data": [ROW | {"Exchange": "B"}]}), [SHARE])
    assert quotes.parse_quotes(enveloped({"Status": 0, "Data": [ROW | {"LastTradedPrice": 0}]}), [SHARE]) == {}


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
