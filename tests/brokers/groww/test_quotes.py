"""The REST quote: one instrument a call, its day as a text that is nearly JSON."""

import msgspec
import pytest

from onebroker.brokers.groww import quotes
from onebroker.brokers.records import DepthLevel, Listing
from onebroker.brokers.requests import BadAnswer, CallKind, WireResponse

SHARE = Listing(broker_token="NSE:CASH:RELIANCE", tradingsymbol="RELIANCE", exchange="NSE")
FUTURE = Listing(broker_token="NSE:FNO:NIFTY26NOVFUT", tradingsymbol="NIFTY26NOVFUT", exchange="NSE")
INDEX = Listing(broker_token="NSE:IDX:NIFTY", tradingsymbol="NIFTY", exchange="NSE")


def test_a_quote_names_the_instrument_in_the_question(access):
    request = quotes.quote_request(access, [INDEX])
    assert request.kind is CallKind.QUOTE
    assert request.url.endswith("/live-data/quote?exchange=NSE&segment=CASH&trading_symbol=NIFTY")
    assert quotes.most_per_call == 1


def test_the_documents_sample_is_read(recorded):
    tick = quotes.parse_quotes(recorded("quote"), [FUTURE])[FUTURE.broker_token]
    assert (tick.last_price, tick.open, tick.high, tick.low, tick.previous_close) == (149.5, 149.5, 150.5, 148.5, 149.5)
    assert (tick.volume, tick.oi, tick.last_quantity) == (10000, 2000, 500)
    assert (tick.buy_quantity, tick.sell_quantity, tick.average_price) == (5000, 4000, 149.8)
    assert (tick.buy, tick.sell) == ((DepthLevel(100.5, 1000),), (DepthLevel(100.6, 1000),))
    assert tick.last_trade_time == 1790850000.5
    assert quotes.parse_quotes(recorded("quote"), [SHARE])[SHARE.broker_token].oi is None
    index = quotes.parse_quotes(recorded("quote"), [INDEX])[INDEX.broker_token]
    assert (index.volume, index.buy, index.oi) == (None, None, None)


@pytest.mark.parametrize(
    "written",
    [
        {"open": 1, "high": 2.5, "low": 0.5, "close": 1.25},
        "{open: 1,high: 2.5,low: 0.5,close: 1.25}",
        '{"open": 1, "high": "2.50", "low": 0.5, "close": 1.25e0}',
    ],
)
def test_the_day_comes_as_an_object_or_as_nearly_json(written):
    read = {name: float(value) for name, value in quotes.ohlc(written).items()}
    assert read == {"open": 1.0, "high": 2.5, "low": 0.5, "close": 1.25}


def test_no_day_is_none_and_anything_else_is_unreadable():
    assert quotes.ohlc(None) == {} == quotes.ohlc("n/a")
    with pytest.raises(BadAnswer):
        quotes.ohlc(7)


def payload(**more):
    return WireResponse(
        status=200, body=msgspec.json.encode({"status": "SUCCESS", "payload": {"last_price": 5, **more}})
    )


@pytest.mark.parametrize("other", [{"trading_symbol": "INFY"}, {"exchange": "BSE"}, {"segment": "FNO"}])
def test_an_answer_that_names_another_instrument_is_none(other):
    with pytest.raises(BadAnswer):
        quotes.parse_quotes(payload(**other), [SHARE])
    assert quotes.parse_quotes(payload(trading_symbol="RELIANCE", exchange="NSE"), [SHARE])


def test_what_never_traded_has_no_quote():
    assert quotes.parse_quotes(payload(last_price=0), [SHARE]) == {}
