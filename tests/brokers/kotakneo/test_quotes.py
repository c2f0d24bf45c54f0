"""The recorded quote, and which quotes are not taken."""

import msgspec
import pytest

from onebroker.brokers.kotakneo import quotes
from onebroker.brokers.records import DepthLevel, Listing
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, CallKind, RefusalKind, WireResponse

SHARE = Listing(broker_token="nse_cm|1333", tradingsymbol="HDFCBANK-EQ", exchange="nse_cm")
INDEX = Listing(broker_token="nse_cm|26000", tradingsymbol="NIFTY", exchange="nse_cm", other_names="Nifty 50")
PAIR = Listing(broker_token="cde_fo|1201", tradingsymbol="USDINR26OCTFUT", exchange="cde_fo", contract_units=1000)


def test_names_go_into_the_path_with_bars_and_commas_as_they_are(bare):
    request = quotes.quote_request(bare, [SHARE, INDEX])
    assert request.kind is CallKind.QUOTE
    assert request.url == (
        "https://mis.kotaksecurities.com/script-details/1.0/quotes/neosymbol/nse_cm|1333,nse_cm|Nifty%2050/all"
    )
    assert set(request.headers) == {"Accept", "Authorization"}


def test_the_recorded_quote_is_read(recorded):
    (tick,) = quotes.parse_quotes(recorded("quotes"), [SHARE]).values()
    assert (tick.broker_token, tick.last_price, tick.average_price) == ("nse_cm|1333", 801.6, 799.89)
    assert (tick.open, tick.high, tick.low, tick.previous_close) == (798.5, 804.45, 796.0, 793.2)
    assert (tick.volume, tick.buy_quantity, tick.sell_quantity, tick.last_quantity) == (30043533, 907335, 2883870, 550)
    assert (tick.oi, tick.exchange_time, tick.last_trade_time) == (None, 1782374657.0, None)
    assert tick.buy[0] == DepthLevel(801.6, 1733, 4)
    assert (len(tick.buy), len(tick.sell)) == (5, 5)


def changed(recorded, **changes):
    row = recorded("quotes").json()[0] | changes
    return WireResponse(status=200, body=msgspec.json.encode([row]))


def test_a_quote_of_another_instrument_is_dropped_and_one_of_nobody_refused(recorded):
    assert quotes.parse_quotes(recorded("quotes"), [INDEX]) == {}
    assert quotes.parse_quotes(changed(recorded, exchange="bse_cm"), [SHARE]) == {}
    for missing in ("exchange", "exchange_token"):
        with pytest.raises(BadAnswer):
            quotes.parse_quotes(changed(recorded, **{missing: ""}), [SHARE])


def test_an_index_is_known_by_its_number_or_its_name_and_has_no_quantities(recorded):
    for answer in (
        changed(recorded, exchange_token="26000", display_symbol="NIFTY"),
        changed(recorded, exchange_token="Nifty 50"),
        changed(recorded, exchange_token="x", display_symbol="Nifty 50"),
    ):
        (tick,) = quotes.parse_quotes(answer, [INDEX]).values()
        assert (tick.broker_token, tick.volume, tick.buy, tick.oi) == ("nse_cm|26000", None, None, None)


def test_contracts_become_units_and_unknown_ones_nothing(recorded):
    answer = changed(recorded, exchange="cde_fo", exchange_token="1201", open_int="7")
    (tick,) = quotes.parse_quotes(answer, [PAIR]).values()
    assert (tick.volume, tick.oi, tick.buy[0].quantity) == (30043533000, 7000, 1733000)
    unknown = msgspec.structs.replace(PAIR, contract_units=None)
    (tick,) = quotes.parse_quotes(answer, [unknown]).values()
    assert (tick.last_price, tick.volume, tick.buy) == (801.6, None, None)


def test_what_never_traded_has_no_quote(recorded):
    assert quotes.parse_quotes(changed(recorded, ltp="0.0000"), [SHARE]) == {}


def test_refusals_and_rubbish_are_told_apart(said):
    with pytest.raises(BrokerRefusal) as refusal:
        quotes.parse_quotes(
            said({"status": "ERROR", "fault": {"code": 400, "message": "Invalid neosymbol values"}}, 400), [SHARE]
        )
    assert refusal.value.kind is RefusalKind.REFUSED
    for answer in (
        said({"x": 1}),
        said(["x"]),
        WireResponse(status=500, body=b"[]"),
        WireResponse(status=200, body=b""),
    ):
        with pytest.raises(BadAnswer):
            quotes.parse_quotes(answer, [SHARE])
