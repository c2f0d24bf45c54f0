"""The market snapshot: what is asked, whose answer it is, and what is in it."""

import pytest

from onebroker.brokers.fivepaisa import quotes
from onebroker.brokers.requests import BadAnswer
from tests.brokers.fivepaisa.listed import CURRENCY, SHARE, TWIN

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
