"""Rows of files: what is taken, what is refused and why; times read by columns and one by one are the same."""

from datetime import datetime

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.actors.history.row_checks import check_candles, check_ticks, moment
from onebroker.actors.history.row_rules import Rules
from onebroker.config.calendars import calendar_from_documents
from onebroker.config.clock import IST
from onebroker.config.exchange_documents import exchange_documents
from onebroker.config.intervals import INTERVALS
from onebroker.http.history.moments import microseconds, read_moment
from tests.support.every_case import every_case

SHARE = {"instrument_id": "x", "exchange": "nse", "segment": "nse_equities"}
CRUDE = {"instrument_id": "y", "exchange": "mcx", "segment": "mcx_commodity_futures"}
GOOD = {**SHARE, "interval": "day", "time": "2026-11-19", "open": "10", "high": "12", "low": "9.5",
        "close": "11", "volume": "100", "oi": ""}  # fmt: skip
TICK = {**SHARE, "time": "2026-11-19T03:45:00.25Z", "broker": "zerodha", "last_price": "10.05"}


def table(*rows):
    return pl.DataFrame([{"row": number, **row} for number, row in enumerate(rows, start=2)], infer_schema_length=None)


def at(*moment):
    return int(datetime(*moment, tzinfo=IST).timestamp() * 1_000_000)


RULES = Rules(calendar=calendar_from_documents(exchange_documents()), now=at(2026, 11, 20, 12))


def test_a_good_candle_is_taken_with_a_day_beginning_at_midnight_in_india():
    checked = check_candles(table(GOOD, GOOD | {"time": "2026-11-19 15:30:00", "volume": "1200.0", "oi": "7"}), RULES)
    assert checked.refused.height == 0
    assert checked.good["time"].to_list() == [at(2026, 11, 19)] * 2
    assert checked.good.row(1, named=True) | {"time": 0} == {
        "instrument_id": "x", "minutes": 1440, "time": 0, "open": 10.0, "high": 12.0, "low": 9.5, "close": 11.0,
        "volume": 1200, "oi": 7,
    }  # fmt: skip


def test_an_intraday_candle_keeps_its_time_and_needs_neither_volume_nor_oi():
    row = {name: value for name, value in GOOD.items() if name not in ("volume", "oi")}
    checked = check_candles(table(row | {"interval": "5minute", "time": "2026-11-19 09:20"}), RULES)
    assert checked.good["time"].to_list() == [at(2026, 11, 19, 9, 20)]
    assert checked.good["volume"].to_list() == [None]


DEPTH = 'depth must be a JSON object such as {"buy": [{"price": 1, "quantity": 1, "orders": 1}], "sell": []}'
FUTURE = "time must not lie in the future"
CLOSED = (
    "the market had no session on this day, as far as the exchange documents know (onebroker import exchanges FILE)"
)
ANCHOR = "no candle of this interval begins at this time: they are counted from when the market opens"


@every_case(
    ("change", "reason"),
    [
        ({"interval": "week"}, f"interval must be one of {', '.join(INTERVALS)}"),
        ({"time": "19-11-2026"}, "time must be a date or date and time, such as 2026-09-11 or 2026-09-11 09:15:00"),
        ({"time": ""}, "time must be a date or date and time, such as 2026-09-11 or 2026-09-11 09:15:00"),
        ({"time": "2026-11-19 09:15:00.5"}, "time of a candle must be a whole second"),
        ({"open": ""}, "open must be a number"),
        ({"close": "nan"}, "close must be a number"),
        ({"high": "1,200"}, "high must be a number"),
        ({"low": "inf"}, "low must be a number"),
        ({"high": "10.5"}, "high must not be below open, low or close"),
        ({"low": "10.5"}, "low must not be above open or close"),
        ({"volume": "-1"}, "volume must be a whole number of at least 0"),
        ({"oi": "1.5"}, "oi must be a whole number of at least 0"),
        ({"volume": "many"}, "volume must be a whole number of at least 0"),
        ({"volume": "9223372036854775808"}, "volume must not be more than 1000000000000000"),
        ({"oi": "1e40"}, "oi must not be more than 1000000000000000"),
        (dict.fromkeys(("open", "high", "low", "close"), "0"), "a candle without a price"),
        ({"low": "0.00"}, "low must be above 0; only commodities and their futures may be below"),
        ({"low": "-1"}, "low must be above 0; only commodities and their futures may be below"),
        ({"time": "2026-11-21"}, FUTURE),
        ({"interval": "1minute", "time": "2026-11-20 12:01"}, FUTURE),
        ({"time": "2030-01-01"}, FUTURE),
        ({"time": "2026-11-15"}, CLOSED),
        ({"time": "2026-10-20 09:15", "interval": "5minute"}, CLOSED),
        ({"interval": "1minute", "time": "2026-11-19 09:18:30"}, ANCHOR),
        ({"interval": "1minute", "time": "2019-11-19 09:18:30"}, ANCHOR),
        ({"interval": "60minute", "time": "2026-11-19 10:00"}, ANCHOR),
        ({"interval": "5minute", "time": "2025-10-21 13:47"}, ANCHOR),
        (CRUDE | {"low": "0"}, "low must be above 0; only commodities and their futures may be below"),
        (CRUDE | {"time": "2026-11-19 10:00", "interval": "45minute"}, ANCHOR),
    ],
)
def test_a_wrong_candle_is_refused_and_the_others_are_taken(change, reason):
    checked = check_candles(table(GOOD, GOOD | change, GOOD), RULES)
    assert checked.refused.rows() == [(3, reason)]
    assert checked.good.height == 2


@every_case(
    ("change", "why"),
    [
        ({"interval": "60minute", "time": "2026-11-19 15:15"}, "shares are counted from 09:15"),
        ({"interval": "240minute", "time": "2026-11-19 13:15"}, "shares are counted from 09:15"),
        ({"interval": "1minute", "time": "2026-11-19 15:30"}, "the closing auction"),
        ({"interval": "1minute", "time": "2026-11-19 09:08"}, "the pre-open"),
        ({"interval": "15minute", "time": "2025-10-21 14:00"}, "Muhurat, which began at 13:45"),
        ({"time": "2026-02-01"}, "the budget's Sunday"),
        ({"time": "2019-10-27"}, "a Sunday of a year whose special sessions nobody knows: Muhurat 2019"),
        ({"interval": "60minute", "time": "2010-03-02 09:00"}, "shares opened at 09:00 then"),
        (
            CRUDE | {"interval": "180minute", "time": "2026-11-19 18:00"},
            "morning and evening are one stretch, from 09:00",
        ),
        (
            CRUDE | {"interval": "180minute", "time": "2026-10-20 20:00"},
            "an evening after a morning's holiday, from 17:00",
        ),
        (
            CRUDE | {"time": "2020-04-20", "open": "-10", "high": "12", "low": "-37.63", "close": "-2.5"},
            "crude oil in 2020",
        ),
        ({"interval": "1minute", "time": "2026-11-20 12:00"}, "the candle that has just begun"),
        ({"time": "2026-11-20 15:30"}, "today's candle, by its close"),
        (SHARE | {"exchange": "unknown", "segment": "uncategorised", "time": "2026-11-15"}, "no calendar"),
    ],
)
def test_a_candle_that_can_be_is_taken(change, why):
    checked = check_candles(table(GOOD | change), RULES)
    assert checked.refused.rows() == [], why


def test_rows_of_many_markets_and_days_keep_their_order():
    times = ("2026-11-19", "2026-11-15", "2026-11-18")
    rows = [GOOD | whose | {"time": time} for time in times for whose in (SHARE, CRUDE)]
    checked = check_candles(table(*rows), RULES)
    assert checked.refused["row"].to_list() == [4, 5]
    assert checked.places.to_list() == [2, 3, 6, 7]
    assert checked.good["instrument_id"].to_list() == ["x", "y", "x", "y"]
    assert check_candles(table(GOOD).clear(), RULES).good.height == 0


def test_a_tick_takes_any_field_it_has():
    depth = '{"buy": [{"price": 10, "quantity": 5, "orders": 1}], "sell": [{"price": 10.1, "quantity": 6}]}'
    checked = check_ticks(
        table(TICK | {"volume": "9", "depth": depth}, TICK | {"volume": "", "depth": ""}), ["zerodha"], RULES
    )
    assert checked.refused.height == 0
    first, second = checked.good.to_dicts()
    assert (first["time"], first["last_price"], first["volume"]) == (at(2026, 11, 19, 9, 15) + 250_000, 10.05, 9)
    assert first["buy"] == [{"price": 10.0, "quantity": 5, "orders": 1}]
    assert first["sell"] == [{"price": 10.1, "quantity": 6, "orders": None}]
    assert (second["volume"], second["buy"], second["close"]) == (None, None, None)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"time": "now"}, "time must be a date or date and time, such as 2026-09-11 or 2026-09-11 09:15:00"),
        ({"broker": "Zerodha"}, "broker must be a broker code"),
        ({"broker": ""}, "broker must be a broker code"),
        ({"last_price": ""}, "last_price must be a number"),
        ({"average_price": "x"}, "average_price must be a number"),
        ({"oi": "x"}, "oi must be a whole number of at least 0"),
        ({"last_price": "0"}, "last_price must be above 0; only commodities and their futures may be below"),
        ({"last_price": "-5"}, "last_price must be above 0; only commodities and their futures may be below"),
        ({"time": "2026-11-20 12:00:00.000001"}, FUTURE),
        ({"time": "2026-11-15 10:00"}, CLOSED),
        ({"volume": "1e30"}, "volume must not be more than 1000000000000000"),
        ({"depth": '{"buy": [{"price": 1, "quantity": 9223372036854775808}]}'}, DEPTH),
        ({"depth": '{"sell": [{"price": 1, "quantity": -1}]}'}, DEPTH),
        (
            {"depth": "{"},
            'depth must be a JSON object such as {"buy": [{"price": 1, "quantity": 1, "orders": 1}], "sell": []}',
        ),
    ],
)
def test_a_wrong_tick_is_refused_and_the_others_are_taken(change, reason):
    checked = check_ticks(table(TICK, TICK | change, TICK), ["zerodha"], RULES)
    assert checked.refused.rows() == [(3, reason)]
    assert checked.good.height == 2


SPELLED = st.builds(
    "".join,
    st.tuples(
        st.one_of(st.dates().map(str), st.from_regex(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", fullmatch=True)),
        st.sampled_from(["", " ", "T", "t"]),
        st.from_regex(r"([0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,10})?)?)?", fullmatch=True),
        st.sampled_from(["", "Z", "+05:30", "-0800", "+14", "+24:00", "+05:60", "-00:00", " "]),
    ),
)


@given(st.lists(SPELLED, min_size=1, max_size=5))
def test_times_read_by_columns_are_those_read_one_by_one(texts):
    one_by_one = [None if (found := read_moment(text)) is None else microseconds(found) for text in texts]
    columns = pl.DataFrame({"text": [text.strip() for text in texts]}).select(moment(pl.col("text")).alias("time"))
    assert columns["time"].to_list() == one_by_one
