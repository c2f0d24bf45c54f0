"""Whether candles are prices as they were traded: told by how the price moves over the night before an ex-date."""

from datetime import date, timedelta
from decimal import Decimal

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.actors.history.adjust import day_start
from onebroker.actors.history.price_basis import judge_basis
from onebroker.actors.store.durable_history import Factor

BEGIN = date(2024, 1, 1)
TODAY = date(2025, 1, 1)


def factor(day, price, kind="split"):
    return Factor(
        instrument_id="x", ex_date=BEGIN + timedelta(days=day), kind=kind, price_factor=Decimal(str(price)),
        volume_factor=Decimal(1), source="",
    )  # fmt: skip


def series(moves, factors, *, adjusted, step=1):
    """Return candles whose price moves by `moves` from day to day, and by the factors unless they are adjusted."""
    price, rows = 1000.0, []
    for number, move in enumerate(moves):
        day = number * step
        if not adjusted:
            for one in factors:
                if day - step < (one.ex_date - BEGIN).days <= day:
                    price *= float(one.price_factor)
        price *= 1 + move
        rows.append((day_start(BEGIN + timedelta(days=day)), price, price * 1.01))
    return pl.DataFrame(rows, schema={"time": pl.Int64, "open": pl.Float64, "close": pl.Float64}, orient="row")


moves = st.lists(st.floats(-0.08, 0.08), min_size=30, max_size=60)
prices = st.sampled_from(["0.1", "0.2", "0.25", "0.5", "0.6667", "0.75", "0.8", "2", "10"])
"""Each moves the price by at least what a night does not (`DECISIVE`: a fifth less or a quarter more)."""


@given(moves, prices, st.integers(1, 29))
def test_a_split_is_told_from_the_candles_around_its_ex_date(walk, price, day):
    event = factor(day, price)
    assert judge_basis(series(walk, [event], adjusted=False), [event], TODAY) is None
    found = judge_basis(series(walk, [event], adjusted=True), [event], TODAY)
    assert found is not None
    assert found.ex_date == event.ex_date
    assert "as adjusted" in found.reason


@given(moves, st.tuples(prices, prices), st.booleans())
def test_of_several_events_the_newest_is_the_first_day_that_is_taken(walk, figures, adjusted):
    events = [factor(5, figures[0]), factor(20, figures[1])]
    found = judge_basis(series(walk, events, adjusted=adjusted), events, TODAY)
    assert (found and found.ex_date) == (events[1].ex_date if adjusted else None)


FLAT = [0.0] * 30


@pytest.mark.parametrize(
    ("events", "rows", "expected"),
    [
        ([factor(10, "0.97", "rights")], FLAT, "cannot be told"),
        ([factor(10, "0.97", "rights"), factor(20, "0.5")], FLAT, None),  # a large one tells of the small one too
        ([factor(10, "0.97", "dividend")], FLAT, None),
        ([factor(10, "1", "other")], FLAT, None),
        ([factor(0, "0.5")], FLAT, None),  # nothing lies before it
        ([factor(40, "0.5")], FLAT, "cannot be told"),  # nothing lies after it
        ([factor(10, "0.5")], [], None),
    ],
)
def test_what_cannot_be_told_is_not_taken_for_traded(events, rows, expected):
    found = judge_basis(series(rows, events, adjusted=False), events, TODAY)
    assert (found is None) == (expected is None)
    assert expected is None or expected in found.reason


def test_an_event_of_the_future_says_nothing_and_candles_far_apart_tell_nothing():
    event = factor(10, "0.5")
    candles = series(FLAT, [event], adjusted=True)
    assert judge_basis(candles, [event], BEGIN + timedelta(days=9)) is None
    found = judge_basis(series(FLAT[:4], [event], adjusted=False, step=20), [event], TODAY)
    assert found is not None
    assert "cannot be told" in found.reason
