"""Kite's REST quotes."""

import msgspec
import pytest

from onebroker.brokers.records import DepthLevel, Listing, Tick
from onebroker.brokers.requests import BadAnswer, WireResponse
from onebroker.brokers.zerodha import quotes

INFY = Listing(broker_token="408065", tradingsymbol="INFY", exchange="NSE")
RELIANCE = Listing(broker_token="738561", tradingsymbol="RELIANCE", exchange="NSE")


def answer(data):
    return WireResponse(status=200, body=msgspec.json.encode({"status": "success", "data": data}))


def test_instruments_are_asked_by_exchange_and_symbol(access):
    cox = Listing(broker_token="136484868", tradingsymbol="COX&KINGS", exchange="BSE")
    assert (
        quotes.quote_request(access, [INFY, cox]).url == "https://api.kite.trade/quote?i=NSE%3AINFY&i=BSE%3ACOX%26KINGS"
    )


def test_the_recorded_quote_reads_as_documented(recorded):
    assert quotes.parse_quotes(recorded("quote"), [INFY]) == {
        "408065": Tick(
            broker_token="408065", last_price=1412.95, average_price=1412.47, open=1396.0, high=1421.75, low=1395.55,
            previous_close=1389.65, last_quantity=5, volume=7360198, buy_quantity=0, sell_quantity=5191, oi=0,
            oi_day_high=0, oi_day_low=0, buy=(), sell=(DepthLevel(1412.95, 5191, 13),),
            last_trade_time=1623147352.0, exchange_time=1623147356.0,
        )
    }  # fmt: skip


def test_what_kite_leaves_out_or_never_traded_has_no_quote(recorded):
    assert quotes.parse_quotes(recorded("quote"), [RELIANCE]) == {}
    untraded = {"NSE:INFY": {"instrument_token": 408065, "last_price": 0}}
    assert quotes.parse_quotes(answer(untraded), [INFY]) == {}


def test_a_quote_about_another_instrument_is_no_quote(recorded):
    data = recorded("quote").json()["data"]
    with pytest.raises(BadAnswer, match="408065"):
        quotes.parse_quotes(answer({"NSE:RELIANCE": data["NSE:INFY"]}), [RELIANCE])
    data["NSE:INFY"]["instrument_token"] = 738561
    with pytest.raises(BadAnswer, match="738561"):
        quotes.parse_quotes(answer(data), [INFY])


@pytest.mark.parametrize(("units", "volume"), [(1000, 7360198000), (None, None)])
def test_lots_become_units_or_nothing(recorded, units, volume):
    lead = Listing(broker_token="408065", tradingsymbol="LEADMINI", exchange="MCX", contract_units=units)
    data = recorded("quote").json()["data"]
    tick = quotes.parse_quotes(answer({"MCX:LEADMINI": data["NSE:INFY"]}), [lead])["408065"]
    assert (tick.last_price, tick.volume) == (1412.95, volume)
    assert tick.sell == (None if units is None else (DepthLevel(1412.95, 5191000, 13),))
