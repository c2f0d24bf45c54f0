"""Dhan's REST quotes, as documented."""

from datetime import datetime

import msgspec
import pytest

from onebroker.brokers.dhan import quotes
from onebroker.brokers.records import DepthLevel, Listing, Tick
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, CallKind, WireResponse
from onebroker.config.clock import IST

SHARE = Listing(broker_token="NSE_EQ:11536", tradingsymbol="TCS", exchange="NSE_EQ")
OPTION = Listing(broker_token="NSE_FNO:49081", tradingsymbol="X", exchange="NSE_FNO", other_names="OPTIDX")
CRUDE = Listing(
    broker_token="MCX_COMM:569900", tradingsymbol="C", exchange="MCX_COMM", other_names="FUTCOM", contract_units=100
)
INDEX = Listing(broker_token="IDX_I:13", tradingsymbol="NIFTY", exchange="IDX_I")
QUOTE = {
    "average_price": 4521.5, "buy_quantity": 10, "sell_quantity": 20, "last_price": 4520, "last_quantity": 3,
    "last_trade_time": "20/11/2026 15:29:58", "lower_circuit_limit": 4068.0, "upper_circuit_limit": 4972.0,
    "net_change": 20.5, "ohlc": {"open": 4521.45, "close": 4500, "high": 4530, "low": 4500.1}, "oi": 7, "oi_day_high": 9,
    "oi_day_low": 5, "volume": 1000,
    "depth": {
        "buy": [{"quantity": 5, "orders": 2, "price": 4519.9}, {"quantity": 0, "orders": 0, "price": 0}],
        "sell": [{"quantity": 6, "orders": 1, "price": 4520.1}],
    },
}  # fmt: skip


def read(listing, status="success", **changes):
    segment, _, number = listing.broker_token.partition(":")
    body = {"data": {segment: {number: QUOTE | changes}}, "status": status}
    ticks = quotes.parse_quotes(WireResponse(status=200, body=msgspec.json.encode(body)), [listing])
    return ticks.get(listing.broker_token)


def test_the_call_names_ids_as_numbers_by_segment_and_the_client(access):
    request = quotes.quote_request(
        access, [SHARE, OPTION, Listing(broker_token="NSE_EQ:7", tradingsymbol="", exchange="")]
    )
    assert (request.kind, request.method, request.url) == (
        CallKind.QUOTE, "POST", "https://api.dhan.co/v2/marketfeed/quote",
    )  # fmt: skip
    assert msgspec.json.decode(request.body) == {
        "dhanClientId": "1100003626", "NSE_EQ": [11536, 7], "NSE_FNO": [49081],
    }  # fmt: skip
    assert quotes.most_per_call == 1000


def test_a_share_is_read_whole_and_has_no_open_interest():
    assert read(SHARE) == Tick(
        broker_token="NSE_EQ:11536", last_price=4520.0, average_price=4521.5, open=4521.45, high=4530.0, low=4500.1,
        previous_close=4499.5, last_quantity=3, volume=1000, buy_quantity=10, sell_quantity=20,
        buy=(DepthLevel(4519.9, 5, 2),), sell=(DepthLevel(4520.1, 6, 1),),
        last_trade_time=datetime(2026, 11, 20, 15, 29, 58, tzinfo=IST).timestamp(),
    )  # fmt: skip


def test_lots_are_read_in_units_and_of_an_unknown_size_left_out():
    tick = read(CRUDE)
    assert (tick.volume, tick.oi, tick.oi_day_high, tick.buy) == (100_000, 700, 900, (DepthLevel(4519.9, 500, 2),))
    tick = read(msgspec.structs.replace(CRUDE, contract_units=None))
    assert (tick.last_price, tick.volume, tick.oi, tick.buy) == (4520.0, None, None, None)


def test_an_index_has_no_quantities():
    tick = read(INDEX)
    assert (tick.last_price, tick.open, tick.volume, tick.oi, tick.buy) == (4520.0, 4521.45, None, None, None)


def test_without_a_change_the_days_close_is_the_previous_one():
    assert read(OPTION, net_change=None).previous_close == 4500.0
    assert read(OPTION).oi == 7


@pytest.mark.parametrize("written", [None, "", "01/01/1980 00:00:00", "2026-11-20", 7])
def test_a_trade_time_that_is_none_is_none(written):
    assert read(SHARE, last_trade_time=written).last_trade_time is None


def test_an_instrument_that_never_traded_has_no_quote():
    assert read(SHARE, last_price=0) is None


def test_what_was_not_asked_for_is_dropped_and_what_is_not_known_is_absent():
    body = {"data": {"NSE_EQ": {"1": QUOTE}, "BSE_EQ": {"11536": QUOTE}}, "status": "success"}
    assert quotes.parse_quotes(WireResponse(status=200, body=msgspec.json.encode(body)), [SHARE]) == {}
    assert quotes.parse_quotes(WireResponse(status=200, body=b'{"data":{},"status":"success"}'), [SHARE]) == {}


def test_a_quote_that_names_another_instrument_is_a_bad_answer():
    with pytest.raises(BadAnswer):
        read(SHARE, security_id="7")


@pytest.mark.parametrize(
    "body", [b"[]", b'{"data":[1]}', b'{"data":{"NSE_EQ":[]}}', b'{"data":{"NSE_EQ":{"11536":7}}}']
)
def test_another_shape_is_a_bad_answer(body):
    with pytest.raises(BadAnswer):
        quotes.parse_quotes(WireResponse(status=200, body=body), [SHARE])


def test_a_missing_data_plan_is_a_refusal():
    with pytest.raises(BrokerRefusal):
        quotes.parse_quotes(WireResponse(status=200, body=b'{"data":{"806":"no plan"},"status":"failed"}'), [SHARE])
