"""Ticks as they are stored, put into order only where they are not."""

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from onebroker.actors.history.tick_windows import TICK_ORDER, in_order

TICKS = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from(["fyers", "zerodha", "é"]), st.integers(0, 2)), max_size=6
)


@given(keys=TICKS)
def test_ticks_are_in_order_afterwards_whatever_their_order_was(keys):
    frame = pl.DataFrame(keys, schema=dict(zip(TICK_ORDER, (pl.Int64, pl.String, pl.Int32), strict=True)), orient="row")
    assert in_order(frame).rows() == sorted(keys)


def test_ticks_that_are_in_order_are_not_copied():
    frame = pl.DataFrame([(0, "fyers", 0), (0, "zerodha", 0), (1, "fyers", 0)], schema=list(TICK_ORDER), orient="row")
    assert in_order(frame) is frame
