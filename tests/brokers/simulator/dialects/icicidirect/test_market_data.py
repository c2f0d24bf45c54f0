"""ICICI Direct's server over the real exchange: what is listed, quotes and candles."""

import zipfile
from datetime import timedelta
from io import BytesIO

import msgspec
import pytest

from onebroker.brokers.icicidirect import candles, instruments, quotes
from onebroker.brokers.requests import BadAnswer
from tests.support.dialect_client import START


def test_the_security_master_names_the_exchanges_own_instruments(icici):
    contracts = icici.account.contracts()
    assert icici.by_contract.keys() == {each.instrument_id for each in contracts if each.identity.exchange != "ncdex"}
    for contract in contracts:
        row = icici.rows[icici.by_contract[contract.instrument_id]]
        if contract.is_index:
            continue
        in_cash = row["broker_exchange"] in ("NSE", "BSE")
        assert row["tick_size"] == (None if in_cash else pytest.approx(float(contract.tick_size)))
        assert row["lot_size"] == (None if row["broker_exchange"] == "MCX" else contract.lot_size)
        assert row["isin"] == contract.isin
        assert row["freeze_quantity"] is None
    (answer,) = icici.answers(instruments.file_requests(icici.bare, icici.now))
    with zipfile.ZipFile(BytesIO(answer.body)) as archive:
        columns = {name: len(archive.read(name).split(b"\n")[0].split(b",")) for name in archive.namelist()}
    assert columns == {
        "NSEScripMaster.txt": 61, "BSEScripMaster.txt": 34, "FONSEScripMaster.txt": 69, "FOBSEScripMaster.txt": 69,
        "CDNSEScripMaster.txt": 69, "MCXScripMaster.txt": 27,
    }  # fmt: skip


def test_a_share_on_both_exchanges_is_quoted_with_both_rows_and_we_take_the_one_asked_for(icici):
    share = icici.contract("equities", "bse")
    market = icici.account.market(share.instrument_id)
    answer = icici.send(quotes.quote_request(icici.access, [icici.listing(share)]))
    assert [row["exchange_code"] for row in msgspec.json.decode(answer.body)["Success"]] == ["NSE", "BSE"]
    (tick,) = quotes.parse_quotes(answer, [icici.listing(share)]).values()
    assert tick.broker_token == icici.by_contract[share.instrument_id]
    assert (tick.last_price, tick.volume) == (float(market.last_price), market.volume)
    assert tick.buy[0].price == float(market.buy[0].price)
    other = icici.listing(icici.contract("equity_index_futures"))
    with pytest.raises(BadAnswer):
        quotes.parse_quotes(answer, [other])


def test_candles_are_the_exchanges_of_the_days_asked_for(icici):
    icici.keep_candles()
    for bare, exchange in (("equities", "nse"), ("equity_index_options", "nse"), ("commodity_futures", "mcx")):
        contract = icici.contract(bare, exchange)
        listing = icici.listing(contract)
        first, last = START.date() - timedelta(days=3), START.date()
        for interval, word in (("day", "day"), ("30minute", "30minute"), ("1minute", "1minute")):
            requests = candles.candle_requests(icici.access, listing, interval, first, last)
            rows = candles.parse_candles([icici.send(each) for each in requests], listing)
            truth = icici.account.candles(contract.instrument_id, word, first, last)
            assert [(row.start, row.close, row.volume) for row in rows] == [
                (each[0], each[4], each[5]) for each in truth
            ]
            assert all((row.oi is None) == (bare == "equities") for row in rows)
