"""Dhan's server over the real exchange: what is listed, quotes and candles."""

from datetime import timedelta

import msgspec
import pytest

from onebroker.brokers.dhan import candles, quotes
from onebroker.brokers.records import Listing
from onebroker.brokers.requests import BrokerRefusal
from onebroker.brokers.simulator.dialects.dhan.naming import name_of
from onebroker.config.instruments import Identity, Shape
from tests.support.dialect_client import START


def test_the_two_instrument_files_name_every_contract_as_the_exchange_knows_it(dhan):
    rows = {row["broker_token"]: row for row in dhan.frame().rows(named=True)}
    names = {dhan.listing(name).broker_token: name for name in map(name_of, dhan.account.contracts())}
    assert set(rows) == set(names)
    for token, name in names.items():
        contract, row = name.contract, rows[token]
        shape = Shape.SECURITY if row["symbol"] else Shape.OPTION if row["option_type"] else Shape.FUTURE
        identity = Identity(
            row["exchange"], f"{row['exchange']}_{row['segment']}", shape, row["symbol"], row["underlying_symbol"],
            row["expiry_date"], row["strike_price"], row["option_type"],
        )  # fmt: skip
        if contract.bare == "mutual_funds":  # listed like a fund's units, and told apart by the series
            assert row["segment"] in ("mutual_funds", "exchange_traded_funds")
        else:
            assert identity.instrument_id == contract.instrument_id
        listing = dhan.listing(name)
        assert (row["broker_exchange"], row["other_names"]) == (listing.exchange, listing.other_names)
        assert row["tradingsymbol"] == name.tradingsymbol
        if contract.is_index:
            continue
        assert row["tick_size"] == pytest.approx(float(contract.tick_size), abs=1e-9)
        assert row["isin"] == contract.isin
        assert float(row["raw.SM_UPPER_LIMIT"]) > float(row["raw.SM_LOWER_LIMIT"])
        if contract.quoted_in_lots:
            assert (row["lot_size"], row["freeze_quantity"], row["contract_units"]) == (None, None, None)
        else:
            assert (row["lot_size"], row["contract_units"]) == (contract.lot_size, 1)
            assert row["freeze_quantity"] == contract.freeze_quantity


def test_quotes_are_the_market_in_units(dhan):
    names = [dhan.listed("equities"), dhan.listed("commodity_futures", "mcx"), dhan.listed("equity_indices")]
    listings = [dhan.listing(name) for name in names]
    ticks = quotes.parse_quotes(dhan.send(quotes.quote_request(dhan.access, listings)), listings)
    for name, listing in zip(names, listings, strict=True):
        tick, market = ticks[listing.broker_token], dhan.account.market(name.contract.instrument_id)
        assert (tick.last_price, tick.previous_close) == (float(market.last_price), float(market.previous_close))
        assert tick.last_trade_time == int(market.last_trade_time)
        if not name.contract.is_index:
            assert tick.volume == market.volume // name.units * name.units
            assert [level.quantity for level in tick.buy] == [level.quantity for level in market.buy]
            assert [level.orders for level in tick.sell] == [level.orders for level in market.sell]


def test_an_instrument_nobody_knows_is_absent_from_the_quotes_and_too_many_are_refused(dhan):
    unknown = Listing(broker_token="NSE_EQ:999999", tradingsymbol="X", exchange="NSE_EQ")
    assert quotes.parse_quotes(dhan.send(quotes.quote_request(dhan.access, [unknown])), [unknown]) == {}
    many = [Listing(broker_token=f"NSE_EQ:{n}", tradingsymbol="X", exchange="NSE_EQ") for n in range(1, 1002)]
    with pytest.raises(BrokerRefusal):
        quotes.parse_quotes(dhan.send(quotes.quote_request(dhan.access, many)), many)


@pytest.mark.parametrize(
    ("bare", "exchange"),
    [("equities", "nse"), ("equity_index_options", "nse"), ("commodity_futures", "mcx"), ("equity_indices", "nse"),
     ("currency_futures", "nse")],
)  # fmt: skip
def test_candles_are_the_exchanges_for_every_kind_of_instrument(dhan, bare, exchange):
    dhan.keep_candles()
    name = dhan.listed(bare, exchange)
    listing = dhan.listing(name)
    last = START.date()
    first = last - timedelta(days=4)
    for interval in ("day", *candles.INTRADAY):
        requests = candles.candle_requests(dhan.access, listing, interval, first, last)
        rows = candles.parse_candles(dhan.send_all(requests), listing)
        truth = dhan.account.candles(name.contract.instrument_id, interval, first, last)
        assert [(row.start, row.open, row.close) for row in rows] == [(each[0], each[1], each[4]) for each in truth]
        if not name.contract.is_index:
            assert [row.volume for row in rows] == [each[5] // name.units * name.units for each in truth]


def test_a_candle_call_over_the_span_of_a_wrong_kind_or_interval_is_refused_and_no_data_is_an_empty_list(dhan):
    listing = dhan.listing(dhan.listed("equities"))
    (request,) = candles.candle_requests(dhan.access, listing, "5minute", START.date(), START.date())
    good = msgspec.json.decode(request.body)
    for change in (
        {"fromDate": "2026-08-01 00:00:00"}, {"interval": "7"}, {"instrument": "FUTIDX"}, {"fromDate": "yesterday"},
    ):  # fmt: skip
        assert dhan.call("POST", "/charts/intraday", good | change)[1]["errorCode"] == "DH-905"
    after = START.date() + timedelta(days=30)
    (request,) = candles.candle_requests(dhan.access, listing, "5minute", after, after)
    answer = dhan.send(request)
    assert msgspec.json.decode(answer.body)["errorCode"] == "DH-907"
    assert candles.parse_candles([answer], listing) == []
