"""Kite's server over the real exchange: what is listed, quotes and candles."""

from datetime import date

import attrs
import pytest

from onebroker.brokers.simulator.dialects.zerodha.naming import name_of
from onebroker.config.instruments import future, option


def test_the_instrument_file_names_every_contract_of_kites_exchanges(kite):
    _, answer = kite.call("GET", "/instruments")
    lines = answer.body.decode().splitlines()
    assert lines[0].startswith("instrument_token,exchange_token,tradingsymbol,name,last_price,expiry,strike,tick_size")
    exchanges = {line.rsplit(",", 1)[1] for line in lines[1:]}
    assert exchanges == {"NSE", "BSE", "NFO", "BFO", "CDS", "MCX"}
    assert len(lines) == 1 + len(kite.account.contracts())
    _, answer = kite.call("GET", "/instruments/MCX")
    rows = [line.split(",") for line in answer.body.decode().splitlines()[1:]]
    assert rows
    assert all((row[8], row[11]) == ("1", "MCX") for row in rows)


@pytest.mark.parametrize(
    ("identity", "symbol"),
    [
        (option("nse", "equity_index_options", "NIFTY", date(2025, 8, 7), 24400, "CE"), "NIFTY2580724400CE"),
        (option("nse", "equity_index_options", "NIFTY", date(2025, 8, 28), 24400, "CE"), "NIFTY25AUG24400CE"),
        (option("nse", "equity_index_options", "NIFTY", date(2025, 10, 7), 24400, "PE"), "NIFTY25O0724400PE"),
        (option("nse", "currency_options", "USDINR", date(2026, 11, 26), 88.5, "PE"), "USDINR26NOV88.5PE"),
        (future("mcx", "commodity_futures", "GOLD", date(2026, 12, 4)), "GOLD26DECFUT"),
    ],
)  # fmt: skip
def test_trading_symbols_have_kites_form(kite, identity, symbol):
    name = name_of(attrs.evolve(kite.crude.contract, identity=identity))
    assert name is not None
    assert name.tradingsymbol == symbol


def test_quotes_are_keyed_as_asked_and_leave_out_what_is_unknown(kite):
    share, crude = kite.share, kite.crude
    query = [("i", share.quote_name), ("i", str(crude.token)), ("i", "NSE:NOSUCH")]
    quotes = kite.data("GET", "/quote", query=query)
    assert set(quotes) == {share.quote_name, str(crude.token)}
    market = kite.account.market(share.contract.instrument_id)
    quote = quotes[share.quote_name]
    assert (quote["instrument_token"], quote["last_price"]) == (share.token, float(market.last_price))
    assert quote["ohlc"]["close"] == float(market.previous_close)
    assert [len(quote["depth"][side]) for side in ("buy", "sell")] == [5, 5]
    assert quotes[str(crude.token)]["volume"] == kite.account.market(crude.contract.instrument_id).volume // 100
    ltp = kite.data("GET", "/quote/ltp", query=[("i", share.quote_name)])
    assert ltp == {share.quote_name: {"instrument_token": share.token, "last_price": float(market.last_price)}}
    assert set(kite.data("GET", "/quote/ohlc", query=query[:1])[share.quote_name]) == {
        "instrument_token", "last_price", "ohlc",
    }  # fmt: skip
    assert kite.call("GET", "/quote", query=[("i", "NSE:X")] * 501)[1]["error_type"] == "InputException"


def test_candles_have_an_offset_without_colon_and_oi_when_asked(kite):
    path = f"/instruments/historical/{kite.crude.token}/day"
    query = [("from", "2026-11-10 00:00:00"), ("to", "2026-11-22 23:59:59")]
    candles = kite.data("GET", path, query=query)["candles"]
    assert candles
    assert all(len(each) == 6 and each[0].endswith("T00:00:00+0530") for each in candles)
    assert all(len(each) == 7 for each in kite.data("GET", path, query=[*query, ("oi", "1")])["candles"])
    wide = [("from", "2026-01-01 00:00:00"), ("to", "2026-11-22 23:59:59")]
    assert "60 days" in kite.call("GET", path.replace("/day", "/minute"), query=wide)[1]["message"]
