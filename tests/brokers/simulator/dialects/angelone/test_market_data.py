"""SmartAPI's server over the real exchange: what is listed, quotes and candles."""

from datetime import timedelta

import msgspec
import pytest

from onebroker.brokers.angelone import candles, instruments, quotes
from onebroker.brokers.records import Listing
from onebroker.brokers.simulator.dialects.angelone.naming import name_of
from onebroker.config.instruments import Identity, Shape
from tests.brokers.simulator.dialects.angelone.client import four, gold
from tests.support.dialect_client import START


# instruments ----------------------------------------------------------------------------------------------------------
def test_the_instrument_file_names_every_contract_as_the_exchange_knows_it(angel):
    (answer,) = angel.answers(instruments.file_requests(angel.access, START))
    assert all(isinstance(value, str) for row in msgspec.json.decode(answer.body) for value in row.values())
    rows = {row["broker_token"]: row for row in instruments.read_files([answer.body]).rows(named=True)}
    names = [name_of(contract) for contract in angel.account.contracts()]
    assert set(rows) == {f"{name.exchange}|{name.token}" for name in names}
    assert {name.exchange for name in names} == {"NSE", "BSE", "NFO", "BFO", "CDS", "MCX", "NCDEX"}
    for name in names:
        contract, row = name.contract, rows[f"{name.exchange}|{name.token}"]
        shape = Shape.SECURITY if row["symbol"] else Shape.OPTION if row["option_type"] else Shape.FUTURE
        identity = Identity(
            row["exchange"], f"{row['exchange']}_{row['segment']}", shape, row["symbol"], row["underlying_symbol"],
            row["expiry_date"], row["strike_price"], row["option_type"],
        )  # fmt: skip
        assert identity.instrument_id == contract.instrument_id
        if not contract.is_index:
            assert (row["lot_size"], row["tick_size"]) == (contract.lot_size, float(contract.tick_size))
            # On MCX a quantity is known only where a lot is one trading unit (gold): lots and trading units are the same then.
            unsettled = name.exchange == "MCX" and identity.underlying_symbol != "GOLD"
            assert row["contract_units"] == (None if unsettled else name.units)


def test_quotes_are_the_market_in_units_and_what_is_unknown_is_left_out(angel):
    names = four(angel)
    listings = [angel.listing(name) for name in names]
    unknown = Listing(broker_token="NSE|1", tradingsymbol="X", exchange="NSE")
    response = angel.send(quotes.quote_request(angel.access, [*listings, unknown]))
    (missing,) = msgspec.json.decode(response.body)["data"]["unfetched"]
    assert (missing["symbolToken"], missing["errorCode"]) == ("1", "AB4018")
    ticks = quotes.parse_quotes(response, [*listings, unknown])
    assert set(ticks) == {listing.broker_token for listing in listings}
    for name, listing in zip(names, listings, strict=True):
        tick, market = ticks[listing.broker_token], angel.account.market(name.contract.instrument_id)
        assert (tick.last_price, tick.previous_close) == (float(market.last_price), float(market.previous_close))
        assert tick.exchange_time == int(market.exchange_time)
        if name.contract.is_index:
            assert tick.volume is None
        else:
            assert tick.volume == market.volume // name.units * name.units
            assert [level.quantity for level in tick.buy] == [level.quantity for level in market.buy]
            assert [level.orders for level in tick.sell] == [level.orders for level in market.sell]


@pytest.mark.parametrize("mode", ["LTP", "OHLC"])
def test_the_shorter_quotes_are_parts_of_the_full_one(angel, mode):
    share = angel.listed("equities")
    wanted = {"mode": mode, "exchangeTokens": {"NSE": [share.token]}}
    (short,) = angel.asked("POST", "/market/v1/quote", wanted)["data"]["fetched"]
    (full,) = angel.asked("POST", "/market/v1/quote/", {**wanted, "mode": "FULL"})["data"]["fetched"]
    assert short.items() <= full.items()


def test_the_older_calls_for_one_price_and_for_symbols_answer(angel):
    share = angel.listed("equities")
    quote = angel.asked("POST", "/order/v1/getLtpData", {"exchange": "NSE", "symboltoken": share.token})["data"]
    assert quote["ltp"] == float(angel.account.market(share.contract.instrument_id).last_price)
    found = angel.asked(
        "POST", "/order/v1/searchScrip", {"exchange": "NSE", "searchscrip": share.tradingsymbol.lower()}
    )
    assert share.token in {row["symboltoken"] for row in found["data"]}
    assert angel.asked("POST", "/order/v1/searchScrip", {"exchange": "NSE", "searchscrip": "NOSUCH"})["data"] is None


@pytest.mark.parametrize(("interval", "days"), [("day", 9), ("5minute", 2), ("60minute", 5)])
def test_candles_are_oldest_first_and_in_units(angel, interval, days):
    angel.keep_candles()
    name = gold(angel)
    last = START.date()
    requests = candles.candle_requests(angel.access, angel.listing(name), interval, last - timedelta(days=days), last)
    rows = candles.parse_candles([angel.send(request) for request in requests], angel.listing(name))
    truth = angel.account.candles(name.contract.instrument_id, interval, last - timedelta(days=days), last)
    assert [row.start for row in rows] == [candle[0] for candle in truth]
    assert [row.close for row in rows] == [candle[4] for candle in truth]
    assert [row.volume for row in rows] == [candle[5] // name.units * name.units for candle in truth]


def test_open_interest_is_a_call_of_its_own(angel):
    name = gold(angel)
    body = {
        "exchange": "MCX", "symboltoken": name.token, "interval": "ONE_DAY", "fromdate": "2026-11-17 00:00",
        "todate": "2026-11-20 23:59",
    }  # fmt: skip
    rows = angel.asked("POST", "/historical/v1/getOIData", body)["data"]
    assert rows
    assert all(set(row) == {"time", "oi"} for row in rows)


@pytest.mark.parametrize(
    "change",
    [
        {"interval": "SEVEN_MINUTE"}, {"fromdate": "2026-01-01 00:00"}, {"fromdate": "yesterday"},
        {"fromdate": "2026-11-21 00:00"}, {"symboltoken": "1"},
    ],
)  # fmt: skip
def test_a_candle_call_that_cannot_be_is_refused(angel, change):
    body = {
        "exchange": "NSE", "symboltoken": angel.listed("equities").token, "interval": "ONE_MINUTE",
        "fromdate": "2026-11-20 09:15", "todate": "2026-11-20 15:30", **change,
    }  # fmt: skip
    assert angel.asked("POST", "/historical/v1/getCandleData", body)["status"] is False
