"""The numbers of ticks of one moment: by their place among equals, however a file is cut into parts."""

from itertools import pairwise

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from onebroker.actors.history.tick_sequence import FileNumbers, TickNumbers

TICKS = st.lists(
    st.tuples(st.sampled_from(["a", "b"]), st.sampled_from(["zerodha", "dhan"]), st.integers(0, 2)), max_size=20
)


def frame(rows):
    return pl.DataFrame(rows, schema={"instrument_id": pl.String, "broker": pl.String, "time": pl.Int64}, orient="row")


def test_ticks_of_one_second_are_counted_by_instrument_and_broker():
    rows = [("a", "zerodha", 1), ("b", "zerodha", 1), ("a", "zerodha", 1), ("a", "dhan", 1), ("a", "zerodha", 2),
            ("a", "zerodha", 2)]  # fmt: skip
    assert FileNumbers().number(frame(rows))["sequence"].to_list() == [0, 0, 1, 0, 0, 1]


@given(rows=TICKS, cuts=st.lists(st.integers(0, 20), max_size=4).map(sorted))
def test_however_a_file_is_cut_its_ticks_have_the_numbers_of_one_by_one(rows, cuts):
    one_by_one, numbers = TickNumbers(), FileNumbers()
    bounds = [0, *(min(cut, len(rows)) for cut in cuts), len(rows)]
    parts = [numbers.number(frame(rows[start:end])) for start, end in pairwise(bounds)]
    assert pl.concat(parts).drop("sequence").rows() == rows
    assert pl.concat(parts)["sequence"].to_list() == [one_by_one.next(*row) for row in rows]
