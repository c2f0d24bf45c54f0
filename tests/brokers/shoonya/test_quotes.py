"""REST quotes: fields, and the identity of an answer."""

import msgspec
import pytest

from onebroker.brokers.records import DepthLevel
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, WireResponse
from onebroker.brokers.shoonya import quotes


def changed(answer, **fields):
    return WireResponse(status=200, body=msgspec.json.encode(msgspec.json.decode(answer.body) | fields))


def test_a_call_is_for_one_instrument(access, listings):
    request = quotes.quote_request(access, [listings["NSE|11536"]])
    assert request.body == b'jData={"uid":"FA12345","exch":"NSE","token":"11536"}'
    with pytest.raises(ValueError, match="unpack"):
        quotes.quote_request(access, list(listings.values()))


def test_a_quote_is_read_field_by_field(recorded, listings):
    tick = quotes.parse_quotes(recorded("quote"), [listings["NSE|11536"]])["NSE|11536"]
    assert (tick.last_price, tick.previous_close, tick.open, tick.high, tick.low) == (
        3110.05,
        3080.0,
        3090.0,
        3120.0,
        3081.1,
    )
    assert (tick.average_price, tick.volume, tick.last_quantity) == (3100.4, 1626200, 12)
    assert (tick.buy_quantity, tick.sell_quantity, tick.oi) == (100, 200, None)
    assert tick.buy == (DepthLevel(3110.0, 40, 2),)
    assert tick.sell == (DepthLevel(3110.05, 7, 1), DepthLevel(3110.5, 9, 3))
    assert (tick.exchange_time, tick.last_trade_time) == (1621319721.0, 1621319720.0)


@pytest.mark.parametrize("other", [{"token": "22"}, {"exch": "BSE"}, {"tsym": "INFY-EQ"}, {"token": None}])
def test_an_answer_about_another_instrument_is_a_failure_not_a_quote(recorded, listings, other):
    with pytest.raises(BadAnswer):
        quotes.parse_quotes(changed(recorded("quote"), **other), [listings["NSE|11536"]])


def test_an_index_goes_by_its_token_for_its_name_differs(recorded, listings):
    answer = changed(recorded("quote"), instname="UNDIND", tsym="Nifty 50")
    assert quotes.parse_quotes(answer, [listings["NSE|11536"]])


def test_nothing_known_and_never_traded_are_no_quotes(recorded, listings, refused):
    assert quotes.parse_quotes(refused('Error Occurred : 5 "no data"'), [listings["NSE|11536"]]) == {}
    assert quotes.parse_quotes(changed(recorded("quote"), lp="0.00"), [listings["NSE|11536"]]) == {}
    with pytest.raises(BrokerRefusal):
        quotes.parse_quotes(refused("Session Expired : Invalid Session Key"), [listings["NSE|11536"]])
