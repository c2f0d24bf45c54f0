"""Fyers' server over the real exchange: what is listed, quotes and candles."""

from datetime import timedelta

import msgspec
import pytest
import trio

from onebroker.brokers.fyers import candles, quotes
from onebroker.brokers.simulator.dialects.fyers.naming import name_of
from onebroker.brokers.simulator.exchange.call_limits import CallLimits
from onebroker.brokers.simulator.exchange.faults import Faults
from onebroker.brokers.simulator.host.gateway import Gateway
from onebroker.brokers.simulator.world.broker_traits import Limit
from onebroker.config.clock import Clock
from onebroker.config.instruments import Identity, Shape
from tests.support.dialect_client import BASE, START
from tests.support.every_case import every_case


def test_the_instrument_files_name_every_contract_as_the_exchange_knows_it(fyers):
    rows = {row["broker_token"]: row for row in fyers.frame().rows(named=True)}
    names = [name for name in map(name_of, fyers.account.contracts()) if name is not None]
    assert set(rows) == {fyers.token(name) for name in names}
    assert len({name.ticker for name in names}) == len(names)
    for name in names:
        contract, row = name.contract, rows[fyers.token(name)]
        shape = Shape.SECURITY if row["symbol"] else Shape.OPTION if row["option_type"] else Shape.FUTURE
        identity = Identity(
            row["exchange"], f"{row['exchange']}_{row['segment']}", shape, row["symbol"], row["underlying_symbol"],
            row["expiry_date"], row["strike_price"], row["option_type"],
        )  # fmt: skip
        assert identity.instrument_id == contract.instrument_id
        assert (row["raw.fytoken"], row["tradingsymbol"]) == (name.fy_token, name.ticker)
        if not contract.is_index:
            assert (row["lot_size"], row["tick_size"]) == (contract.lot_size, float(contract.tick_size))
            assert (row["freeze_quantity"], row["contract_units"]) == (contract.freeze_quantity, name.units)
            assert row["isin"] == contract.isin


def test_the_masters_have_no_header_and_speak_lots_of_currency_and_commodity(fyers):
    answer = fyers.dialect.handle(fyers.request("GET", f"{BASE}/sym_details/MCX_COM.csv"))
    first = answer.body.splitlines()[0].decode().split(",")
    assert (len(first), first[3], first[6], first[10:12]) == (21, "1", "0900-2330|1815-1915:", ["11", "20"])
    assert fyers.dialect.handle(fyers.request("GET", f"{BASE}/sym_details/NCDEX.csv")).status == 404


def test_quotes_are_the_market_in_units(fyers):
    names = [fyers.listed("equities"), fyers.listed("commodity_futures", "mcx"), fyers.listed("equity_indices")]
    listings = [fyers.listing(name) for name in names]
    nobody = msgspec.structs.replace(listings[0], tradingsymbol="NSE:NOBODY-EQ", broker_token="nse_cm|1")
    response = fyers.send(quotes.quote_request(fyers.access, [*listings, nobody]))
    ticks = quotes.parse_quotes(response, [*listings, nobody])
    assert set(ticks) == {fyers.token(name) for name in names}
    for name in names:
        tick, market = ticks[fyers.token(name)], fyers.account.market(name.contract.instrument_id)
        assert (tick.last_price, tick.previous_close) == (float(market.last_price), float(market.previous_close))
        if not name.contract.is_index:
            assert tick.volume == market.volume // name.units * name.units


def test_more_than_fifty_symbols_are_refused(fyers):
    status, answer = fyers.get("/data/quotes", symbols=",".join(f"NSE:X{n}-EQ" for n in range(51)))
    assert (status, answer["code"]) == (400, -50)


def test_depth_is_asked_for_one_symbol(fyers):
    name = fyers.listed("equities")
    _, answer = fyers.get("/data/depth", symbol=name.ticker, ohlcv_flag="1")
    row = answer["d"][name.ticker]
    market = fyers.account.market(name.contract.instrument_id)
    assert (len(row["bids"]), len(row["ask"]), row["c"]) == (5, 5, float(market.previous_close))


@pytest.mark.parametrize("interval", sorted(candles.INTERVALS))
def test_candles_are_the_exchanges_in_units_and_begin_where_every_brokers_do(fyers, interval):
    fyers.keep_candles()
    name = fyers.listed("commodity_futures", "mcx")
    last = START.date()
    first = last - timedelta(days=3)
    requests = candles.candle_requests(fyers.access, fyers.listing(name), interval, first, last)
    rows = candles.parse_candles(fyers.send_all(requests), fyers.listing(name))
    truth = fyers.account.candles(name.contract.instrument_id, interval, first, last)
    assert [(row.start, row.open, row.high, row.low, row.close) for row in rows] == [
        tuple(candle[:5]) for candle in truth
    ]
    assert [row.volume for row in rows] == [candle[5] // name.units * name.units for candle in truth]
    assert all(row.oi is not None for row in rows)


@every_case(
    ("change", "code"),
    [
        ({"resolution": "7"}, -50), ({"range_from": "yesterday"}, -50), ({"range_from": "2026-01-01"}, -50),
        ({"range_to": "2026-11-19"}, -50), ({"date_format": "9"}, -50), ({"symbol": "NSE:NOBODY-EQ"}, -300),
    ],
)  # fmt: skip
def test_a_candle_call_over_the_span_or_of_an_unknown_kind_is_refused(fyers, change, code):
    query = {
        "symbol": fyers.listed("equities").ticker, "resolution": "5", "date_format": "1", "range_from": "2026-11-20",
        "range_to": "2026-11-23", "cont_flag": "0", **change,
    }  # fmt: skip
    status, answer = fyers.get("/data/history", **query)
    assert (status, answer["code"]) == (400, code)


def test_a_span_without_trades_says_no_data(fyers):
    name = fyers.listed("equities")
    day = START.date() + timedelta(days=30)
    (request,) = candles.candle_requests(fyers.access, fyers.listing(name), "day", day, day)
    response = fyers.send(request)
    assert msgspec.json.decode(response.body)["s"] == "no_data"
    assert candles.parse_candles([response], fyers.listing(name)) == []


def test_symbols_are_turned_into_tokens_under_the_bare_token(fyers):
    name = fyers.listed("equities")
    body = {"symbols": [name.ticker, "NSE:NOBODY-EQ"]}
    _, answer = fyers.post("/data/symbol-token", body, Authorization=fyers.session["access_token"])
    assert answer["validSymbol"] == {name.ticker: name.fy_token}
    assert answer["invalidSymbol"] == ["NSE:NOBODY-EQ"]


async def test_files_cost_nothing_of_the_calls_a_second(fyers, autojump_clock):
    clock = Clock.following_trio(START)
    limits = CallLimits((Limit(1, 10, orders_only=False),), clock, day_limits=False)
    gateway = Gateway("fyers", fyers.dialect, fyers.exchange, Faults(clock), limits)
    file, profile = (
        fyers.request("GET", f"{BASE}{path}", fyers.headers())
        for path in ("/sym_details/NSE_CM.csv", "/api/v3/profile")
    )
    with trio.fail_after(5):
        assert [(await gateway.handle(file)).response.status for _ in range(15)] == [200] * 15
        statuses = [(await gateway.handle(profile)).response.status for _ in range(11)]
    assert statuses == [200] * 10 + [429]
