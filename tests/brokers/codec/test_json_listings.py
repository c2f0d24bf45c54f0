"""Instrument files that are JSON lists: their cells by column, whatever the elements are."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.brokers.codec.json_listings import json_columns
from onebroker.brokers.requests import BadAnswer

CELLS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
OBJECTS = st.dictionaries(
    st.sampled_from(["token", "name", "other", ""]), CELLS | st.lists(CELLS, max_size=2), max_size=4
)


@given(st.lists(OBJECTS | CELLS | st.lists(CELLS, max_size=2), max_size=6))
def test_the_cells_are_those_of_the_objects_in_their_order(elements):
    columns, lost = json_columns(msgspec.json.encode(elements), ["token", "name"])
    objects = [element for element in elements if isinstance(element, dict)]
    assert columns == {name: [row.get(name) for row in objects] for name in ("token", "name")}
    assert lost == len(elements) - len(objects)


def test_a_list_that_breaks_off_loses_its_last_element():
    columns, lost = json_columns(b'\xef\xbb\xbf[{"token": "1"}, {"token": "2", "na', ["token"])
    assert (columns, lost) == ({"token": ["1"]}, 1)


def test_a_bare_cell_that_is_no_number_is_null():
    columns, lost = json_columns(b'[{"token": NaN, "name": "x"}, {"token": -Infinity}]', ["token", "name"])
    assert (columns, lost) == ({"token": [None, None], "name": ["x", None]}, 0)


@pytest.mark.parametrize("body", [b"", b"{}", b"<html>", b"\xff\xfe"])
def test_what_is_no_list_is_refused(body):
    with pytest.raises(BadAnswer, match="the scrips cannot be read"):
        json_columns(body, ["token"], "the scrips")
