"""REST quotes: what is asked, what is answered, and whose answer it is."""

import msgspec
import pytest

from onebroker.brokers.angelone import quotes
from onebroker.brokers.records import DepthLevel, Listing
from onebroker.brokers.requests import BadAnswer, CallKind


@pytest.fixture
def quote(recorded):
    documented = msgspec.json.decode(recorded("quote").body)["data"]["fetched"][0]
    return lambda **changes: {**documented, **changes}


@pytest.fixture
def fetched(yes):
    return lambda *rows: yes({"fetched": list(rows), "unfetched": []})


def test_tokens_are_asked_for_by_exchange_in_full(access, listings):
    request = quotes.quote_request(access, [listings["NSE|3045"], listings["MCX|426302"], listings["NSE|2885"]])
    assert (request.kind, request.method, quotes.most_per_call) == (CallKind.QUOTE, "POST", 50)
    assert request.url.endswith("/market/v1/quote/")
    assert msgspec.json.decode(request.body) == {
        "mode": "FULL", "exchangeTokens": {"NSE": ["3045", "2885"], "MCX": ["426302"]},
    }  # fmt: skip


def test_the_documented_quote_is_a_tick(recorded, listings):
    ticks = quotes.parse_quotes(recorded("quote"), list(listings.values()))
    assert set(ticks) == {"NSE|3045"}
    tick = ticks["NSE|3045"]
    assert (tick.last_price, tick.average_price, tick.open, tick.high, tick.low) == (
        568.2,
        567.83,
        567.4,
        569.35,
        566.1,
    )
    assert (tick.previous_close, tick.last_quantity, tick.volume, tick.oi) == (567.4, 1, 3_556_150, None)
    assert (tick.buy_quantity, tick.sell_quantity) == (839_549, 1_284_767)
    assert tick.buy[0] == DepthLevel(568.15, 100, 1)
    assert (len(tick.buy), len(tick.sell)) == (5, 4)
    assert tick.exchange_time - tick.last_trade_time == 1
    assert tick.exchange_time == 1_687_324_570.0


def test_a_quote_about_another_instrument_is_dropped_and_one_that_contradicts_itself_is_a_bad_answer(
    quote, fetched, listings
):
    asked = [listings["NSE|3045"]]
    assert quotes.parse_quotes(fetched(quote(symbolToken="2885"), quote(exchange="BSE")), asked) == {}
    with pytest.raises(BadAnswer, match="RELIANCE"):
        quotes.parse_quotes(fetched(quote(tradingSymbol="RELIANCE-EQ")), asked)
    with pytest.raises(BadAnswer):
        quotes.parse_quotes(fetched(quote(symbolToken=None)), asked)


def test_lots_are_units_an_index_has_none_and_what_never_traded_is_left_out(quote, fetched, listings):
    crude = quote(exchange="MCX", symbolToken="426302", tradingSymbol="GOLD24JUNFUT", opnInterest=9)
    index = quote(symbolToken="99926000", tradingSymbol="NIFTY 50")
    farm = quote(exchange="NCDEX", symbolToken="7", tradingSymbol="GUARSEED24JUNFUT")
    never = quote(ltp=0)
    ticks = quotes.parse_quotes(fetched(crude, index, farm, never), list(listings.values()))
    assert set(ticks) == {"MCX|426302", "NSE|99926000", "NCDEX|7"}
    assert (ticks["MCX|426302"].volume, ticks["MCX|426302"].oi, ticks["MCX|426302"].buy[0].quantity) == (
        355_615_000, 900, 10_000,
    )  # fmt: skip
    for unread in ("NSE|99926000", "NCDEX|7"):
        assert (ticks[unread].last_price, ticks[unread].volume, ticks[unread].buy) == (568.2, None, None)


def test_nothing_fetched_is_nothing(yes):
    listing = Listing(broker_token="NSE|1", tradingsymbol="X", exchange="NSE")
    assert quotes.parse_quotes(yes({"fetched": None, "unfetched": []}), [listing]) == {}
    with pytest.raises(BadAnswer):
        quotes.parse_quotes(yes([]), [listing])
