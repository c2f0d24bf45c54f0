"""Fyers' REST quotes; the expected values are read off the documentation."""

from urllib.parse import parse_qsl, urlsplit

import msgspec
import pytest

from onebroker.brokers.fyers import quotes
from onebroker.brokers.records import Listing, Tick
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, CallKind, WireResponse

SBIN = Listing(broker_token="nse_cm|3045", tradingsymbol="NSE:SBIN-EQ", exchange="NSE")
MM = Listing(broker_token="nse_cm|2031", tradingsymbol="NSE:M&M-EQ", exchange="NSE")
NIFTY = Listing(broker_token="nse_cm|Nifty 50", tradingsymbol="NSE:NIFTY50-INDEX", exchange="NSE")
CRUDE = Listing(broker_token="mcx_fo|565899", tradingsymbol="MCX:CRUDEOIL26SEPFUT", exchange="MCX", contract_units=100)
SBIN_TICK = Tick(
    broker_token="nse_cm|3045", last_price=426.9, average_price=428.07, open=430.5, high=433.65, low=423.6,
    previous_close=425.2, volume=38977242, exchange_time=1626220800.0,
)  # fmt: skip


def one(recorded, place=0, heading=None, **changes):
    row = msgspec.json.decode(recorded("quotes").body)["d"][place]
    row = {"n": heading or row["n"], "s": "ok", "v": row["v"] | changes}
    return WireResponse(status=200, body=msgspec.json.encode({"s": "ok", "code": 200, "d": [row]}))


def test_symbols_are_asked_for_on_the_data_host_in_one_encoded_parameter(access):
    request = quotes.quote_request(access, [SBIN, MM])
    assert (request.kind, request.method) == (CallKind.QUOTE, "GET")
    assert request.url.startswith("https://api-t1.fyers.in/data/quotes?symbols=NSE%3ASBIN-EQ%2CNSE%3AM%26M-EQ")
    assert parse_qsl(urlsplit(request.url).query) == [("symbols", "NSE:SBIN-EQ,NSE:M&M-EQ")]
    assert quotes.most_per_call == 50


def test_the_documented_quotes_read_as_documented_and_what_was_not_asked_is_dropped(recorded):
    assert quotes.parse_quotes(recorded("quotes"), [SBIN]) == {"nse_cm|3045": SBIN_TICK}
    ticks = quotes.parse_quotes(recorded("quotes"), [SBIN, NIFTY])
    index = ticks["nse_cm|Nifty 50"]
    assert (index.last_price, index.low, index.volume, index.average_price) == (15800.0, 15750.5, None, None)


def test_a_symbol_refused_inside_the_answer_is_left_out(recorded):
    unknown = msgspec.structs.replace(SBIN, tradingsymbol="NSE:XX", broker_token="nse_cm|1")
    assert set(quotes.parse_quotes(recorded("quotes"), [SBIN, unknown])) == {"nse_cm|3045"}


@pytest.mark.parametrize(
    ("place", "listing", "changes"),
    [
        (0, SBIN, {"symbol": "NSE:PNB-EQ"}), (0, SBIN, {"fyToken": "101000000010666"}),
        (0, SBIN, {"fyToken": "121000000003045"}), (1, NIFTY, {"fyToken": "121000000000001"}),
    ],
)  # fmt: skip
def test_a_quote_about_another_instrument_than_its_heading_is_a_bad_answer(recorded, place, listing, changes):
    with pytest.raises(BadAnswer, match="is about"):
        quotes.parse_quotes(one(recorded, place, **changes), [listing])


def test_lots_become_units_and_an_unknown_size_leaves_the_volume_out(recorded):
    crude = {"symbol": CRUDE.tradingsymbol, "fyToken": "1120260921565899", "volume": 12}
    response = one(recorded, heading=CRUDE.tradingsymbol, **crude)
    assert quotes.parse_quotes(response, [CRUDE])["mcx_fo|565899"].volume == 1200
    unknown = msgspec.structs.replace(CRUDE, contract_units=None)
    assert quotes.parse_quotes(response, [unknown])["mcx_fo|565899"].volume is None


def test_what_never_traded_has_no_quote(recorded):
    assert quotes.parse_quotes(one(recorded, lp=0), [SBIN]) == {}


def test_a_refusal_in_a_200_is_a_refusal():
    body = b'{"message":"Please provide valid token","code":-15,"s":"error"}'
    with pytest.raises(BrokerRefusal):
        quotes.parse_quotes(WireResponse(status=200, body=body), [SBIN])
