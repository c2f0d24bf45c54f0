"""Upstox' REST quotes; the expected values are read off the documentation."""

import msgspec
import pytest

from onebroker.brokers.records import DepthLevel, Listing, Tick
from onebroker.brokers.requests import BadAnswer, CallKind, WireResponse
from onebroker.brokers.upstox import quotes

NHPC = Listing(broker_token="NSE_EQ|INE848E01016", tradingsymbol="NHPC", exchange="NSE_EQ")
CRUDE = Listing(
    broker_token="MCX_FO|570001", tradingsymbol="CRUDEOIL FUT 19 OCT 26", exchange="MCX_FO", contract_units=100
)
NIFTY = Listing(broker_token="NSE_INDEX|Nifty 50", tradingsymbol="NIFTY", exchange="NSE_INDEX")
ALL = (NHPC, CRUDE, NIFTY)


def test_the_documented_quote_reads_as_documented(recorded):
    assert quotes.parse_quotes(recorded("quotes"), [NHPC]) == {
        "NSE_EQ|INE848E01016": Tick(
            broker_token="NSE_EQ|INE848E01016", last_price=52.05, average_price=52.56, open=53.4, high=53.8, low=51.75,
            previous_close=53.2, volume=24123697, buy_quantity=0, sell_quantity=6917,
            buy=(DepthLevel(52.0, 5000, 4),), sell=(DepthLevel(52.05, 6917, 2), DepthLevel(52.1, 10, 1)),
            last_trade_time=1697624972.13, exchange_time=1697673111.099,
        )
    }  # fmt: skip


def test_contracts_are_read_in_units(recorded):
    tick = quotes.parse_quotes(recorded("quotes"), ALL)["MCX_FO|570001"]
    assert (tick.volume, tick.oi, tick.oi_day_high, tick.oi_day_low) == (120_000, 4000, 4100, 3900)
    assert (tick.buy, tick.sell) == ((DepthLevel(5251.0, 200, 1),), (DepthLevel(5252.0, 300, 2),))


def test_quantities_in_contracts_of_an_unknown_size_are_left_out(recorded):
    unknown = msgspec.structs.replace(CRUDE, contract_units=None)
    tick = quotes.parse_quotes(recorded("quotes"), [unknown])["MCX_FO|570001"]
    assert (tick.last_price, tick.volume, tick.oi, tick.buy) == (5252.0, None, None, None)


def test_an_index_has_a_price_and_no_quantities(recorded):
    tick = quotes.parse_quotes(recorded("quotes"), ALL)["NSE_INDEX|Nifty 50"]
    assert (tick.last_price, tick.previous_close) == (19624.7, 19671.1)
    assert (tick.volume, tick.oi, tick.buy, tick.last_trade_time) == (None, None, None, None)


def answer(**quotes_by_key):
    return WireResponse(status=200, body=msgspec.json.encode({"status": "success", "data": quotes_by_key}))


def test_a_quote_of_another_instrument_than_asked_is_dropped(recorded):
    assert set(quotes.parse_quotes(recorded("quotes"), [NIFTY])) == {NIFTY.broker_token}


def test_a_quote_whose_key_is_of_another_segment_than_its_instrument_is_a_bad_answer():
    wrong = {"instrument_token": NHPC.broker_token, "last_price": 1.0}
    with pytest.raises(BadAnswer):
        quotes.parse_quotes(answer(**{"NSE_FO:NHPC": wrong}), ALL)


def test_a_quote_that_does_not_name_its_instrument_is_a_bad_answer():
    with pytest.raises(BadAnswer):
        quotes.parse_quotes(answer(**{"NSE_EQ:NHPC": {"last_price": 1.0}}), ALL)


@pytest.mark.parametrize("last", [0, None, "", "NA"])
def test_what_has_never_traded_is_not_served(last):
    row = {"instrument_token": NHPC.broker_token, "last_price": last}
    assert quotes.parse_quotes(answer(**{"NSE_EQ:NHPC": row}), ALL) == {}


def test_the_keys_are_encoded_into_one_parameter(access):
    request = quotes.quote_request(access, [NHPC, NIFTY])
    assert request.kind is CallKind.QUOTE
    assert request.url == (
        "https://api.upstox.com/v2/market-quote/quotes?instrument_key=NSE_EQ%7CINE848E01016%2CNSE_INDEX%7CNifty+50"
    )
