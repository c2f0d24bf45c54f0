"""Which figures of a file's tick column are believed: what no exchange has as a tick is none, at every broker."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.brokers.listings.frame import listing_frame
from onebroker.config.instruments import SEGMENTS


def ticks(*rows):
    """What is left of ticks of (segment, tick), all of one market."""
    segments, given_ticks = [row[0] for row in rows], [row[1] for row in rows]
    return listing_frame(
        pl.DataFrame({"segment": segments, "tick_size": given_ticks, "broker_exchange": ["BSE"] * len(rows)})
    )["tick_size"].to_list()


GOOD = [("equities", 0.05)] * 20


@pytest.mark.parametrize("tick", [0.01, 0.05, 0.1, 0.5, 1.0, 5.0])
def test_every_tick_that_shares_of_nse_and_bse_have_is_kept(tick):
    assert ticks(("equities", tick)) == [tick]


@pytest.mark.parametrize(
    ("segment", "tick"),
    [
        ("currency_futures", 0.0025), ("fixed_income_futures", 0.0025), ("equity_index_options", 0.05), ("equity_index_futures", 0.2),
        ("commodity_futures", 10.0), ("commodity_futures", 20.0), ("fixed_income", 0.0001), ("commodity_options", 0.5),
    ],
)  # fmt: skip
def test_the_other_markets_have_theirs(segment, tick):
    assert ticks((segment, tick)) == [tick]


@pytest.mark.parametrize(
    ("segment", "tick"),
    [
        ("equities", 4293.65),  # the upper price band of a share
        ("equities", 115.1),
        ("equities", 1200.0),
        ("equities", 10.0),
        ("equities", 0.07),  # no prices of a market are its multiples
        ("equities", 0.0005),  # rupees taken for paise
        ("currency_futures", 0.25),  # paise taken for rupees
        ("equity_index_options", 10.0),
    ],
)
def test_a_figure_that_no_exchange_has_as_a_tick_is_none(segment, tick):
    assert ticks(*GOOD, (segment, tick)) == [0.05] * 20 + [None]


@pytest.mark.parametrize("odd", [6, 15])
def test_a_column_of_which_a_quarter_cannot_be_ticks_holds_something_else(odd):
    """Of price bands some look like ticks: a penny share's upper band may be 0.50."""
    bands = [("equities", 115.1 + place) for place in range(odd)]
    assert ticks(*[("equities", 0.5)] * (20 - odd), *bands) == [None] * 20


def test_derivatives_have_a_column_of_their_own():
    assert ticks(*[("equities", 4293.65)] * 5, *[("equity_options", 0.05)] * 5) == [None] * 5 + [0.05] * 5


@given(
    st.lists(
        st.tuples(
            st.sampled_from(SEGMENTS), st.none() | st.floats(-10, 5000) | st.just(float("nan")) | st.just(float("inf"))
        )
    ),
    st.randoms(use_true_random=False),
)
def test_a_row_keeps_its_tick_whatever_the_order_of_rows_or_has_none(rows, random):
    before = dict(zip(range(len(rows)), ticks(*rows), strict=True))
    places = random.sample(range(len(rows)), len(rows))
    after = ticks(*(rows[place] for place in places))
    assert [before[place] for place in places] == after
    assert all(tick is None or tick == given_tick for tick, (_, given_tick) in zip(before.values(), rows, strict=True))
