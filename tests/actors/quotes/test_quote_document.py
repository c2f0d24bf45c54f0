"""The unified quote document, field by field (rules 1.2.3)."""

import pytest

from onebroker.actors.quotes.quote_document import change_percent, ltp_document, ohlc_document, quote_document
from onebroker.brokers.records import DepthLevel

FIELDS = [
    "instrument_id",
    "exchange",
    "segment",
    "shape",
    "symbol",
    "underlying_symbol",
    "expiry_date",
    "strike_price",
    "option_type",
    "broker",
    "broker_token",
    "lot_size",
    "last_price",
    "average_price",
    "ohlc",
    "previous_close",
    "change_percent",
    "last_quantity",
    "volume",
    "buy_quantity",
    "sell_quantity",
    "oi",
    "oi_day_high",
    "oi_day_low",
    "depth",
    "last_trade_time",
    "exchange_time",
    "received_at",
    "unified_at",
    "stale",
    "stale_since",
    "source",
]


@pytest.fixture
def full(world):
    return world.quote(
        50.0, last_price=101.005, average_price=100.4449, open=99.0, high=102.0, low=0.0, previous_close=100.0, volume=7,
        buy=(DepthLevel(100.95, 10, 2), DepthLevel(0.0, 0), DepthLevel(100.9, 5)), sell=None, last_trade_time=49.0,
    )  # fmt: skip


def test_the_fields_stand_in_the_specs_order(world, full):
    document = quote_document(full, world.SHARE, "cache", 60.0)
    assert list(document) == FIELDS
    assert (document["stale"], document["stale_since"], document["source"]) == (False, None, "cache")
    assert (document["received_at"], document["unified_at"], document["lot_size"]) == (50.0, 60.0, 1)


def test_prices_have_two_decimals_and_those_of_currencies_four(world, full):
    document = quote_document(full, world.SHARE, "cache", 60.0)
    assert (document["last_price"], document["average_price"], document["change_percent"]) == (101.01, 100.44, 1.01)
    document = quote_document(full, world.DOLLAR, "cache", 60.0)
    assert (document["last_price"], document["average_price"], document["change_percent"]) == (101.005, 100.4449, 1.005)


def test_what_a_tick_does_not_carry_is_null_and_empty_levels_are_dropped(world, full):
    document = quote_document(full, world.SHARE, "cache", 60.0)
    assert document["ohlc"] == {"open": 99.0, "high": 102.0, "low": None}
    assert document["depth"] == {
        "buy": [{"price": 100.95, "quantity": 10, "orders": 2}, {"price": 100.9, "quantity": 5, "orders": None}],
        "sell": [],
    }
    assert document["oi"] is None


def test_the_ltp_answer_is_the_marked_fields(world, full):
    document = ltp_document(full, world.SHARE, "broker", 60.0)
    assert list(document) == [*FIELDS[:9], "last_price", "last_trade_time", "received_at", "source"]
    assert document["source"] == "broker"


def test_the_ohlc_answer_has_the_last_price_as_close_and_nothing_else(world, full):
    assert ohlc_document(full, world.SHARE, "cache", 60.0) == {
        "open": 99.0, "high": 102.0, "low": None, "close": 101.01, "volume": 7,
    }  # fmt: skip


def test_the_change_is_computed_to_four_places(world):
    assert change_percent(103.0, 99.0, 2) == 4.0404
    assert change_percent(100.0, 100.0, 2) == 0.0
    assert change_percent(100.0, None, 2) is None
    assert quote_document(world.quote(1.0, previous_close=0.0), world.SHARE, "cache", 2.0)["change_percent"] is None
