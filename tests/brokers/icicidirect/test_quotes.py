"""REST quotes of ICICI Direct."""

from datetime import datetime

import msgspec
import pytest

from onebroker.brokers.icicidirect import quotes
from onebroker.brokers.requests import BadAnswer, CallKind
from onebroker.config.clock import IST


# quotes
def test_a_recorded_quote_is_read(access, answer, recorded, future):
    request = quotes.quote_request(access, [future])
    assert (request.kind, request.method) == (CallKind.QUOTE, "GET")
    assert msgspec.json.decode(request.body) == {
        "stock_code": "NIFTY", "exchange_code": "NFO", "product_type": "futures", "expiry_date": "2025-02-27T06:00:00.000Z",
        "right": "others", "strike_price": "0",
    }  # fmt: skip
    (tick,) = quotes.parse_quotes(answer(recorded["quote"]), [future]).values()
    assert (tick.broker_token, tick.last_price, tick.previous_close) == (future.broker_token, 23832.85, 23785.4)
    assert (tick.open, tick.high, tick.low, tick.volume) == (23825.0, 23840.6, 23808.0, 623325)
    assert [(level.price, level.quantity) for level in (*tick.buy, *tick.sell)] == [(23832.0, 1500), (23833.8, 150)]
    assert tick.last_trade_time == datetime(2025, 2, 5, 9, 36, 56, tzinfo=IST).timestamp()


def test_a_quote_of_another_instrument_is_a_bad_answer(answer, recorded, option, share):
    for listing in (option, share):
        with pytest.raises(BadAnswer):
            quotes.parse_quotes(answer(recorded["quote"]), [listing])


def test_the_other_exchanges_row_of_a_share_is_dropped(success, share):
    row = {"exchange_code": "BSE", "stock_code": "RELIND", "product_type": "", "ltp": 1200.0}
    assert quotes.parse_quotes(success([row]), [share]) == {}
    both = quotes.parse_quotes(success([row, row | {"exchange_code": "NSE", "ltp": 1201.0}]), [share])
    assert both[share.broker_token].last_price == 1201.0
    assert quotes.parse_quotes(success([row | {"exchange_code": "NSE", "ltp": 0}]), [share]) == {}
    assert quotes.parse_quotes(success([]), [share]) == {}
