"""Groww's server over the real exchange: what is listed, quotes and candles."""

from datetime import timedelta
from urllib.parse import urlencode

import msgspec
import pytest

from onebroker.brokers.groww import candles, instruments, quotes
from onebroker.brokers.simulator.dialects.groww.naming import name_of
from onebroker.config.instruments import Identity, Shape
from tests.brokers.simulator.dialects.groww.client import token
from tests.support.dialect_client import BASE, START


def test_the_instrument_file_names_every_contract_as_the_exchange_knows_it(groww):
    (answer,) = groww.answers(instruments.file_requests(groww.bare, groww.now))
    rows = {row["broker_token"]: row for row in instruments.read_files([answer.body]).rows(named=True)}
    names = [name for contract in groww.account.contracts() if (name := name_of(contract)) is not None]
    assert set(rows) == {token(name) for name in names}
    for name in names:
        contract, row = name.contract, rows[token(name)]
        shape = Shape.SECURITY if row["symbol"] else Shape.OPTION if row["option_type"] else Shape.FUTURE
        identity = Identity(
            row["exchange"], f"{row['exchange']}_{row['segment']}", shape, row["symbol"], row["underlying_symbol"],
            row["expiry_date"], row["strike_price"], row["option_type"],
        )  # fmt: skip
        assert identity.instrument_id == contract.instrument_id, (identity, contract.identity)
        assert row["other_names"] == f"{name.token}|{name.groww_symbol}"
        if not contract.is_index:
            assert (row["lot_size"], row["tick_size"]) == (contract.lot_size, float(contract.tick_size))
            assert (row["contract_units"], row["freeze_quantity"], row["isin"]) == (1, None, contract.isin)


@pytest.mark.parametrize(
    ("bare", "exchange"), [("equities", "nse"), ("equity_indices", "nse"), ("commodity_futures", "mcx")]
)
def test_a_quote_is_the_market(groww, bare, exchange):
    name = groww.listed(bare, exchange)
    listing, market = groww.listing(name), groww.account.market(name.contract.instrument_id)
    ticks = quotes.parse_quotes(groww.send(quotes.quote_request(groww.access, [listing])), [listing])
    tick = ticks[token(name)]
    assert (tick.last_price, tick.previous_close) == (float(market.last_price), float(market.previous_close))
    assert (tick.open, tick.high, tick.low) == (float(market.open), float(market.high), float(market.low))
    if name.contract.is_index:
        assert (tick.volume, tick.buy) == (None, None)
    else:
        assert tick.volume == market.volume
        assert [(level.price, level.quantity, level.orders) for level in tick.buy] == [
            (float(level.price), level.quantity, None) for level in market.buy
        ]
        assert tick.oi == (None if bare == "equities" else market.oi)


def test_ltp_and_ohlc_take_a_list_or_a_repeated_name(groww):
    names = [groww.listed("equities", n=n) for n in range(2)]
    asked = [name.quote_name for name in names]
    _, listed = groww.get("/live-data/ltp", segment="CASH", exchange_symbols=",".join([*asked, "NSE_NOBODY"]))
    assert set(listed["payload"]) == set(asked)
    headers = {"Authorization": f"Bearer {groww.access.token('token')}"}
    query = urlencode([("segment", "CASH"), *(("exchange_symbols", each) for each in asked)])
    answer = groww.dialect.handle(groww.request("GET", f"{BASE}/v1/live-data/ohlc?{query}", headers))
    texts = msgspec.json.decode(answer.body)["payload"]
    assert {float(quotes.ohlc(text)["close"]) > 0 for text in texts.values()} == {True}


@pytest.mark.parametrize("interval", sorted(candles.INTERVALS))
def test_candles_of_every_interval_are_the_exchanges(groww, interval):
    groww.keep_candles()
    name = groww.listed("equity_index_futures")
    last = START.date()
    first = last - timedelta(days=20)
    requests = candles.candle_requests(groww.access, groww.listing(name), interval, first, last)
    rows = candles.parse_candles([groww.send(request) for request in requests], groww.listing(name))
    truth = groww.account.candles(name.contract.instrument_id, interval, first, last)
    now = groww.clock.epoch()
    assert [(row.start, row.close, row.volume, row.oi) for row in rows] == [
        (start, close, volume, oi) for start, _, _, _, close, volume, oi in truth if start <= now
    ]
    assert rows


def test_weeks_months_the_older_call_and_too_long_spans(groww):
    name = groww.listed("equities")
    query = {
        "exchange": "NSE", "segment": "CASH", "groww_symbol": name.groww_symbol, "start_time": "2026-08-01 00:00:00",
        "end_time": "2026-11-20 23:59:59",
    }  # fmt: skip
    counts = {
        word: len(groww.get("/historical/candles", candle_interval=word, **query)[1]["payload"]["candles"])
        for word in ("1day", "1week", "1month")
    }
    assert counts["1day"] > counts["1week"] > counts["1month"] >= 4
    assert groww.get("/historical/candles", candle_interval="1minute", **query)[0] == 400
    old = {**query, "trading_symbol": name.trading_symbol, "start_time": "2026-11-18 00:00:00"}
    _, answer = groww.get("/historical/candle/range", interval_in_minutes="60", **old)
    assert all(len(row) == 6 and isinstance(row[0], int) for row in answer["payload"]["candles"])


def test_expiries_and_contracts_are_those_listed(groww):
    name = groww.listed("equity_index_options")
    underlying = name.contract.identity.underlying_symbol
    _, answer = groww.get("/historical/expiries", exchange="NSE", underlying_symbol=underlying)
    day = name.contract.identity.expiry_date
    assert day in answer["payload"]["expiries"]
    _, answer = groww.get("/historical/contracts", exchange="NSE", underlying_symbol=underlying, expiry_date=day)
    assert name.groww_symbol in answer["payload"]["contracts"]
