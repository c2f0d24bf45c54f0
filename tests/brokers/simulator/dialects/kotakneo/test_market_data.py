"""Kotak Neo's server over the real exchange: what is listed, quotes and candles."""

from datetime import timedelta
from urllib.parse import urlencode

import msgspec
import pytest

from onebroker.brokers.kotakneo import candles, instruments, quotes
from onebroker.brokers.records import Listing
from onebroker.brokers.requests import BrokerRefusal
from onebroker.brokers.simulator.dialects.kotakneo.naming import name_of
from onebroker.config.instruments import Identity, Shape
from tests.brokers.simulator.dialects.kotakneo.client import chosen
from tests.support.dialect_client import BASE, START


def test_the_files_name_every_contract_as_the_exchange_knows_it(neo):
    rows = {row["broker_token"]: row for row in neo.frame().rows(named=True)}
    names = [name_of(contract) for contract in neo.account.contracts()]
    assert set(rows) == {name.key for name in names}
    assert {name.segment for name in names} == {"nse_cm", "bse_cm", "nse_fo", "bse_fo", "cde_fo", "mcx_fo"}
    for name in names:
        contract, row = name.contract, rows[name.key]
        shape = Shape.SECURITY if row["symbol"] else Shape.OPTION if row["option_type"] else Shape.FUTURE
        identity = Identity(
            row["exchange"], f"{row['exchange']}_{row['segment']}", shape, row["symbol"], row["underlying_symbol"],
            row["expiry_date"], row["strike_price"], row["option_type"],
        )  # fmt: skip
        assert identity.instrument_id == contract.instrument_id, row
        if not contract.is_index:
            assert (row["lot_size"], row["tick_size"]) == (contract.lot_size, float(contract.tick_size))
            assert (row["freeze_quantity"], row["contract_units"]) == (contract.freeze_quantity, name.units)
            assert row["isin"] == contract.isin
        assert (row["other_names"] is not None) == contract.is_index


def test_the_path_of_a_file_is_also_told_to_the_access_token(neo):
    headers = {"Authorization": neo.dialect.credentials["access_token"]}
    url = f"{BASE}/script-details/1.0/masterscrip/file-paths"
    paths = msgspec.json.decode(neo.dialect.handle(neo.request("GET", url, headers)).body)["data"]["filesPaths"]
    first, *files = (request.url for request in instruments.file_requests(neo.bare, neo.now))
    assert (first, set(files)) == (url, set(paths))
    assert neo.dialect.handle(neo.request("GET", url)).status == 401
    tomorrow = paths[0].replace("2026-11-23", "2026-11-24")
    assert neo.dialect.handle(neo.request("GET", tomorrow)).status == 404


def test_quotes_are_those_of_the_exchange_in_units(neo):
    names = chosen(neo)
    listings = [neo.listing(name) for name in names]
    answer = neo.send(quotes.quote_request(neo.bare, listings))
    ticks = quotes.parse_quotes(answer, listings)
    assert set(ticks) == {name.key for name in names}
    for name in names:
        tick, market = ticks[name.key], neo.account.market(name.contract.instrument_id)
        assert (tick.last_price, tick.previous_close) == (float(market.last_price), float(market.previous_close))
        assert (tick.open, tick.high, tick.low) == (float(market.open), float(market.high), float(market.low))
        if name.contract.is_index:
            assert (tick.volume, tick.oi, tick.buy) == (None, None, None)
            continue
        assert tick.volume == market.volume // name.units * name.units
        assert tick.oi == (None if name.is_cash else market.oi // name.units * name.units)
        assert [(each.price, each.orders) for each in tick.buy] == [
            (float(each.price), each.orders) for each in market.buy
        ]


def test_a_quote_of_nobody_is_refused_and_one_of_several_left_out(neo):
    share = neo.listing(neo.listed("equities"))
    nobody = Listing(broker_token="nse_cm|0", tradingsymbol="X", exchange="nse_cm")
    both = neo.send(quotes.quote_request(neo.access, [share, nobody]))
    assert set(quotes.parse_quotes(both, [share, nobody])) == {share.broker_token}
    with pytest.raises(BrokerRefusal):
        quotes.parse_quotes(neo.send(quotes.quote_request(neo.access, [nobody])), [nobody])


@pytest.mark.parametrize("interval", sorted(candles.INTERVALS))
def test_candles_of_every_interval_are_those_of_the_exchange(neo, interval):
    neo.keep_candles()
    name = neo.listed("equities")
    first, last = START.date() - timedelta(days=3), START.date()
    requests = candles.candle_requests(neo.bare, neo.listing(name), interval, first, last)
    rows = candles.parse_candles([neo.send(request) for request in requests], neo.listing(name))
    truth = neo.account.candles(name.contract.instrument_id, interval, first, last)
    assert [(row.start, row.open, row.close, row.volume) for row in rows] == [
        (start, open_, close, volume) for start, open_, _, _, close, volume, _ in truth
    ]
    assert rows


def test_a_span_longer_than_the_broker_allows_is_cut_and_weeks_are_made_of_days(neo):
    name = neo.listed("equities")
    listing = neo.listing(name)
    first = START.date() - timedelta(days=100)
    requests = candles.candle_requests(neo.bare, listing, "1minute", first, START.date())
    assert len(requests) == 4
    assert neo.send(requests[0]).status == 200  # as many days as are allowed
    headers = {"Authorization": neo.dialect.credentials["access_token"]}

    def ask(**changes):
        query = {"neosymbol": name.key, "interval": "W", "fromdate": "2026-10-01", "todate": "2026-11-20", **changes}
        url = f"{BASE}/market-data/1.0/historical/details?{urlencode(query)}"
        return neo.dialect.handle(neo.request("GET", url, headers))

    weeks = msgspec.json.decode(ask().body)["data"]["candles"]
    assert len(weeks) == 8
    assert weeks[0][0].endswith("+0530")
    assert ask(interval="7min").status == 400
    assert ask(interval="1min").status == 400
