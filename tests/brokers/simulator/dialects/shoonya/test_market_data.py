"""Shoonya's server over the real exchange: what is listed, quotes and candles."""

import io
import zipfile
from datetime import timedelta
from decimal import Decimal

import msgspec
import pytest

from onebroker.brokers.requests import BadAnswer
from onebroker.brokers.shoonya import candles, instruments, quotes
from onebroker.brokers.simulator.dialects.shoonya.naming import name_of
from onebroker.config.instruments import Identity, Shape
from tests.support.dialect_client import START


def test_the_instrument_files_name_every_contract_as_the_exchange_knows_it(wide):
    rows = {row["broker_token"]: row for row in wide.frame().rows(named=True)}
    names = [name for name in map(name_of, wide.account.contracts()) if name is not None]
    assert set(rows) == {name.scrip for name in names}
    assert {name.exchange for name in names} == {"NSE", "BSE", "NFO", "BFO", "CDS", "MCX", "NCX"}
    for name in names:
        contract, row = name.contract, rows[name.scrip]
        shape = Shape.SECURITY if row["symbol"] else Shape.OPTION if row["option_type"] else Shape.FUTURE
        identity = Identity(
            row["exchange"], f"{row['exchange']}_{row['segment']}", shape, row["symbol"], row["underlying_symbol"],
            row["expiry_date"], row["strike_price"], row["option_type"],
        )  # fmt: skip
        assert identity.instrument_id == contract.instrument_id
        if not contract.is_index:
            assert (row["lot_size"], row["tick_size"]) == (contract.lot_size, float(contract.tick_size))
            assert (row["freeze_quantity"], row["isin"]) == (None, None)
            told = Decimal(row["other_names"]) if row["other_names"] else row["contract_units"]
            assert told == name.factor


def test_every_file_is_a_zip_whose_lines_end_with_a_comma(shoonya):
    answers = shoonya.send_all(instruments.file_requests(shoonya.access, shoonya.now))
    assert len(answers) == 7
    for answer in answers:
        packed = zipfile.ZipFile(io.BytesIO(answer.body))
        lines = packed.read(packed.namelist()[0]).decode().splitlines()
        assert lines[0].startswith("Exchange,Token,LotSize,")
        assert all(line.endswith(",") for line in lines)


def test_quotes_are_the_market_in_units_and_of_the_instrument_asked_for(wide):
    for name in (
        wide.listed("equities"), wide.listed("equity_indices"), wide.listed("currency_futures"),
        wide.listed("commodity_futures", "mcx", "GOLDM"),
    ):  # fmt: skip
        listing, market = wide.listing(name), wide.account.market(name.contract.instrument_id)
        answer = wide.send(quotes.quote_request(wide.access, [listing]))
        tick = quotes.parse_quotes(answer, [listing])[name.scrip]
        assert (tick.last_price, tick.previous_close) == (float(market.last_price), float(market.previous_close))
        if name.contract.is_index:
            assert (tick.buy, tick.volume) == (None, None)
        else:
            assert [level.quantity for level in tick.buy] == [level.quantity for level in market.buy]
            assert [level.orders for level in tick.sell] == [level.orders for level in market.sell]
            assert tick.last_trade_time == int(market.last_trade_time)
    other = msgspec.structs.replace(listing, broker_token="MCX|1")
    with pytest.raises(BadAnswer):
        quotes.parse_quotes(answer, [other])
    renamed = msgspec.structs.replace(listing, tradingsymbol="OTHER")
    with pytest.raises(BadAnswer):
        quotes.parse_quotes(answer, [renamed])
    nobody = wide.send(quotes.quote_request(wide.access, [other]))
    assert quotes.parse_quotes(nobody, [other]) == {}


@pytest.mark.parametrize(
    ("bare", "exchange"), [("equities", "nse"), ("equity_indices", "nse"), ("currency_futures", "nse")]
)
def test_candles_are_those_of_the_exchange_oldest_first(shoonya, bare, exchange):
    shoonya.keep_candles()
    name, today = shoonya.listed(bare, exchange), START.date()
    listing = shoonya.listing(name)
    for interval, first in (("day", today - timedelta(days=40)), ("15minute", today - timedelta(days=2))):
        requests = candles.candle_requests(shoonya.access, listing, interval, first, today)
        rows = candles.parse_candles(shoonya.send_all(requests), listing)
        truth = shoonya.account.candles(name.contract.instrument_id, interval, first, today)
        assert [row.start for row in rows] == [one[0] for one in truth]
        assert [row.close for row in rows] == pytest.approx([one[4] for one in truth], abs=0.01)
        assert [row.volume for row in rows] == [int(one[5] / name.factor) * int(name.factor) for one in truth]
        answer = shoonya.send(requests[0])
        assert isinstance(msgspec.json.decode(answer.body)[0], str if interval == "day" else dict)


def test_candles_take_the_token_in_the_header_or_in_the_body(shoonya):
    name, token = shoonya.listed("equities"), shoonya.session["access_token"]
    fields = {"exch": name.exchange, "token": name.token, "intrv": "5"}
    assert isinstance(shoonya.call("TPSeries", **fields)[1], list)
    assert isinstance(shoonya.call("TPSeries", bearer="dead", tail=f"&jKey={token}", **fields)[1], list)
    assert shoonya.call("TPSeries", bearer="dead", **fields)[0] == 403
    assert shoonya.call("Limits", bearer="dead", tail=f"&jKey={token}")[0] == 403


def test_a_range_that_is_too_long_is_answered_by_the_gateway(shoonya):
    name = shoonya.listed("equities")
    headers = {"Authorization": f"Bearer {shoonya.session['access_token']}"}
    body = f'jData={{"exch":"NSE","token":"{name.token}","st":"0","et":"{int(START.timestamp())}"}}'.encode()
    answer = shoonya.dialect.handle(shoonya.request("POST", f"{shoonya.endpoints.rest_url}/TPSeries", headers, body))
    assert (answer.status, answer.body[:6]) == (504, b"<html>")
    with pytest.raises(BadAnswer):
        candles.parse_candles([answer], shoonya.listing(name))
