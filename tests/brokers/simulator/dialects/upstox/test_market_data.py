"""Upstox' server over the real exchange: what is listed, quotes and candles."""

from datetime import datetime, timedelta

import msgspec

from onebroker.brokers.simulator.dialects.upstox.naming import name_of
from onebroker.brokers.upstox import candles, instruments, quotes
from onebroker.config.clock import IST
from onebroker.config.instruments import Identity, Shape
from tests.brokers.simulator.dialects.upstox.client import NOW
from tests.support.dialect_client import BASE, START


def test_the_instrument_file_names_every_contract_as_the_exchange_knows_it(upstox):
    answer = upstox.send(next(instruments.file_requests(upstox.access, NOW)))
    assert answer.body.startswith(b"\x1f\x8b")
    rows = {row["broker_token"]: row for row in instruments.read_files([answer.body]).rows(named=True)}
    names = [name_of(contract) for contract in upstox.account.contracts()]
    assert set(rows) == {name.key for name in names}
    for name in names:
        contract, row = name.contract, rows[name.key]
        shape = Shape.SECURITY if row["symbol"] else Shape.OPTION if row["option_type"] else Shape.FUTURE
        identity = Identity(
            row["exchange"], f"{row['exchange']}_{row['segment']}", shape, row["symbol"], row["underlying_symbol"],
            row["expiry_date"], row["strike_price"], row["option_type"],
        )  # fmt: skip
        assert identity.instrument_id == contract.instrument_id
        if not contract.is_index:
            assert (row["lot_size"], row["tick_size"]) == (contract.lot_size, float(contract.tick_size))
            assert (row["freeze_quantity"], row["contract_units"]) == (contract.freeze_quantity, name.units)
            assert row["isin"] == contract.isin


def test_quotes_are_the_market_in_units(upstox):
    names = [upstox.listed("equities"), upstox.listed("commodity_futures", "mcx"), upstox.listed("equity_indices")]
    listings = [upstox.listing(name) for name in names]
    ticks = quotes.parse_quotes(upstox.send(quotes.quote_request(upstox.access, listings)), listings)
    for name in names:
        tick, market = ticks[name.key], upstox.account.market(name.contract.instrument_id)
        assert (tick.last_price, tick.previous_close) == (float(market.last_price), float(market.previous_close))
        if not name.contract.is_index:
            assert tick.volume == market.volume // name.units * name.units
            assert [level.quantity for level in tick.buy] == [level.quantity for level in market.buy]
            assert [level.orders for level in tick.sell] == [level.orders for level in market.sell]


def test_candles_are_answered_without_a_token_for_complete_days(upstox):
    name = upstox.listed("equities")
    last = START.date()
    requests = candles.candle_requests(upstox.access, upstox.listing(name), "day", last - timedelta(days=9), last)
    rows = candles.parse_candles(upstox.send_all(requests), upstox.listing(name))
    assert rows == sorted(rows, key=lambda row: row.start)
    assert rows[-1].start < datetime(2026, 11, 23, tzinfo=IST).timestamp()
    answer = upstox.dialect.handle(upstox.request("GET", f"{BASE}/v3/historical-candle/intraday/{name.key}/minutes/5"))
    times = [row[0] for row in msgspec.json.decode(answer.body)["data"]["candles"]]
    assert times == sorted(times, reverse=True)
    assert times[0].startswith("2026-11-23T")


def test_a_candle_call_over_the_span_or_of_an_unknown_interval_is_refused(upstox):
    key = upstox.listed("equities").key
    for path in (
        f"{key}/minutes/1/2026-10-31/2026-09-01",
        f"{key}/minutes/7/2026-10-31/2026-10-30",
        "X|1/days/1/2026-10-31",
    ):
        answer = upstox.dialect.handle(upstox.request("GET", f"{BASE}/v3/historical-candle/{path}"))
        assert answer.status == 400
