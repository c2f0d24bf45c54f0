"""Adjustment against independent facts and by properties; rounding against the one rule of money."""

from datetime import date, datetime, timedelta
from decimal import Decimal

import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from onebroker.actors.history.adjust import adjust_candles, adjust_ticks, day_end, day_start, parts, rounded, steps
from onebroker.actors.history.interface import CANDLE_VALUES, TICK_VALUES
from onebroker.actors.store.durable_history import Factor
from onebroker.config.clock import IST
from onebroker.config.money import round_half_up
from tests.support.every_case import every_case


def factor(ex_date, price, volume=1, kind="split"):
    return Factor(
        instrument_id="x", ex_date=ex_date, kind=kind, price_factor=Decimal(str(price)),
        volume_factor=Decimal(str(volume)), source="test",
    )  # fmt: skip


def day_candles(*days_and_closes, volume=1000):
    return pl.DataFrame(
        [
            {"time": day_start(day), "open": close, "high": close, "low": close, "close": close,
             "volume": volume, "oi": None}
            for day, close in days_and_closes
        ],
        schema=CANDLE_VALUES,
        orient="row",
    )  # fmt: skip


def adjusted(frame, factors, known_as_of=None):
    found = adjust_candles(frame, steps(factors, known_as_of))
    return found.with_columns(rounded(pl.col("close"), 2))


def test_midnight_in_india_begins_a_day():
    assert day_start(date(2024, 1, 2)) == int(datetime(2024, 1, 2, tzinfo=IST).timestamp()) * 1_000_000
    assert day_start(date(1, 1, 1)) < day_end(date(9999, 12, 31))


# Public facts: the ratio and the ex-date of corporate actions of Indian companies. Closes around them are round figures; what is
# proved is what a share of then is in shares of now.
CASES = [
    # Infosys 1:1 bonus, ex 4 September 2018: one share became two.
    ("INFY 2018", [(date(2018, 9, 4), "0.5", "2", "bonus")], date(2018, 9, 3), 1400.0, 700.0, 2000),
    # Reliance Industries 1:1 bonus, ex 7 September 2017, and again 28 October 2024: a share of 2017 became four.
    ("RELIANCE 2017", [(date(2017, 9, 7), "0.5", "2", "bonus"), (date(2024, 10, 28), "0.5", "2", "bonus")],
     date(2017, 9, 6), 1600.0, 400.0, 4000),
    ("RELIANCE 2024", [(date(2017, 9, 7), "0.5", "2", "bonus"), (date(2024, 10, 28), "0.5", "2", "bonus")],
     date(2024, 10, 25), 2600.0, 1300.0, 2000),
    # State Bank of India split ₹10 into ₹1, ex 20 November 2014: one share became ten.
    ("SBIN 2014", [(date(2014, 11, 20), "0.1", "10", "split")], date(2014, 11, 19), 2940.0, 294.0, 10_000),
    # HDFC Bank split ₹2 into ₹1, ex 19 September 2019: one share became two.
    ("HDFCBANK 2019", [(date(2019, 9, 19), "0.5", "2", "split")], date(2019, 9, 18), 2200.0, 1100.0, 2000),
    # IRCTC split ₹10 into ₹2, ex 28 October 2021: one share became five.
    ("IRCTC 2021", [(date(2021, 10, 28), "0.2", "5", "split")], date(2021, 10, 27), 4100.0, 820.0, 5000),
    # Nestle India split ₹10 into ₹1, ex 5 January 2024: one share became ten.
    ("NESTLEIND 2024", [(date(2024, 1, 5), "0.1", "10", "split")], date(2024, 1, 4), 27_000.0, 2700.0, 10_000),
    # Bajaj Finance, ex 8 September 2016: split ₹10 into ₹2 and bonus 1:1 on the same day: one share became ten.
    ("BAJFINANCE 2016", [(date(2016, 9, 8), "0.2", "5", "split"), (date(2016, 9, 8), "0.5", "2", "bonus")],
     date(2016, 9, 7), 11_000.0, 1100.0, 10_000),
    # A dividend of ₹20 on a close of ₹1,000: (1000 - 20) / 1000; shares stay shares.
    ("dividend", [(date(2020, 6, 1), "0.98", "1", "dividend")], date(2020, 5, 29), 1000.0, 980.0, 1000),
]  # fmt: skip


@every_case(("name", "events", "day", "traded", "now", "volume"), CASES, ids=[case[0] for case in CASES])
def test_what_a_share_was_is_shown_in_shares_of_now(name, events, day, traded, now, volume):
    factors = [factor(ex_date, price, units, kind) for ex_date, price, units, kind in events]
    ex_date = max(one.ex_date for one in factors)
    found = adjusted(day_candles((day, traded), (ex_date, 123.45)), factors)
    assert found["close"].to_list() == [now, 123.45]
    assert found["volume"].to_list() == [volume, 1000]
    assert found["price_factor"].to_list() == [pytest.approx(now / traded, rel=1e-12), 1.0]


FACTORS = st.lists(
    st.builds(
        factor,
        st.dates(date(2000, 1, 1), date(2030, 12, 31)),
        st.decimals("0.01", "3", places=4),
        st.decimals("0.1", "20", places=2),
    ),
    max_size=6,
)
SERIES = st.lists(
    st.tuples(
        st.dates(date(1999, 1, 1), date(2031, 12, 31)), st.integers(5, 10_000_000).map(lambda paise: paise / 100)
    ),
    min_size=1,
    max_size=20,
    unique_by=lambda one: one[0],
).map(sorted)


@given(series=SERIES, factors=FACTORS)
def test_each_price_is_multiplied_by_the_product_of_all_later_events(series, factors):
    found = adjust_candles(day_candles(*series), steps(factors))
    for (day, close), row in zip(series, found.to_dicts(), strict=True):
        product = Decimal(1)
        for one in factors:
            if one.ex_date > day:
                product *= one.price_factor
        assert row["price_factor"] == float(product)
        assert row["close"] == close * float(product)


@given(series=SERIES, first=FACTORS, second=FACTORS)
def test_adjusting_by_two_sets_of_events_is_adjusting_by_one_and_then_the_other(series, first, second):
    frame = day_candles(*series)
    both = adjust_candles(frame, steps([*first, *second]))
    after = adjust_candles(adjust_candles(frame, steps(first)).drop("price_factor"), steps(second))
    for name in ("open", "high", "low", "close"):
        assert after[name].to_list() == pytest.approx(both[name].to_list(), rel=1e-12)


@given(series=SERIES, factors=FACTORS)
def test_what_was_known_before_any_event_is_what_was_traded(series, factors):
    assume(factors)
    before = min(one.ex_date for one in factors) - timedelta(days=1)
    found = adjust_candles(day_candles(*series), steps(factors, before))
    assert found.drop("price_factor").equals(day_candles(*series))
    assert set(found["price_factor"]) == {1.0}


@given(series=SERIES, factors=FACTORS)
def test_the_last_price_stays_what_it_is(series, factors):
    last = max([series[-1][0], *(one.ex_date for one in factors)])
    frame = day_candles(*[one for one in series if one[0] < last], (last, 321.05))
    found = adjusted(frame, factors)
    assert (found["close"][-1], found["volume"][-1], found["price_factor"][-1]) == (321.05, 1000, 1.0)


@given(value=st.integers(-(10**12), 10**12), decimals=st.integers(0, 6), places=st.sampled_from([0, 2, 4]))
def test_columns_are_rounded_as_single_figures_are(value, decimals, places):
    number = float(Decimal(value).scaleb(-decimals))
    assume(abs(number) < 1e9)
    column = pl.DataFrame({"figure": [number, number]})  # of two rows: polars computes a single one in another way
    assert column.select(rounded(pl.col("figure"), places))["figure"].to_list() == [round_half_up(number, places)] * 2


def test_halves_of_volume_go_up_and_an_absent_volume_stays_absent():
    frame = day_candles((date(2020, 1, 1), 1.0), volume=5).vstack(day_candles((date(2020, 1, 2), 1.0), volume=None))
    assert adjusted(frame, [factor(date(2021, 1, 1), 2, "0.5")])["volume"].to_list() == [3, None]


def test_ticks_are_adjusted_with_their_depth_step_by_step():
    ex_date = date(2024, 6, 3)
    midnight = day_start(ex_date)
    level = [{"price": 100.0, "quantity": 10, "orders": 2}]
    usual = dict.fromkeys(TICK_VALUES) | {"broker": "zerodha", "last_price": 100.0, "volume": 7, "buy": level, "oi": 3}
    frame = pl.DataFrame([usual | {"time": midnight - 1}, usual | {"time": midnight}], schema=TICK_VALUES, orient="row")
    pieces = [adjust_ticks(*part) for part in parts(frame, steps([factor(ex_date, "0.2", 5)]))]
    assert [piece.height for piece in pieces] == [1, 1]
    before, after = (piece.row(0, named=True) for piece in pieces)
    assert (before["last_price"], before["volume"], before["average_price"], before["oi"]) == (20.0, 35, None, 3)
    assert before["buy"] == [{"price": 20.0, "quantity": 50, "orders": 2}]
    assert before["sell"] is None
    assert after == usual | {"time": midnight}
