"""A listing's further values come out of one text as they went in, whatever they hold."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.actors.catalogue.attributes import (
    ABSENT,
    ESCAPE,
    SEPARATOR,
    attribute_names,
    joined_values,
    names_text,
    read_names,
    read_values,
)
from onebroker.actors.catalogue.merge import merge
from onebroker.actors.catalogue.snapshot import TableSnapshot

NAMES = ("series", "lot", "words")
VALUES = st.none() | st.text(
    st.sampled_from(f"aé{ESCAPE}{ABSENT}{SEPARATOR}") | st.characters(exclude_categories=["Cs"]), max_size=6
)


@given(st.lists(st.tuples(VALUES, VALUES, VALUES), min_size=1, max_size=6), st.integers(1, 3))
def test_values_come_out_as_they_went_in_and_absent_ones_not_at_all(rows, width):
    columns = {f"raw.{name}": [row[place] for row in rows] for place, name in enumerate(NAMES[:width])}
    frame = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))
    names = read_names(names_text({"a": attribute_names(frame)}))["a"]
    for row, text in zip(rows, joined_values(frame), strict=True):
        expected = [(name, value) for name, value in zip(NAMES, row[:width], strict=False) if value is not None]
        assert list(read_values(names, text).items()) == expected


def test_a_frame_without_such_columns_has_no_values():
    assert joined_values(pl.DataFrame({"symbol": ["INFY"]})).to_list() == [None]
    assert read_values((), None) == {}


def test_a_text_that_is_no_table_of_names_is_refused():
    with pytest.raises(ValueError, match="not a catalogue file"):
        read_names("[]")


def test_each_brokers_values_stand_under_its_own_names(market):
    merged, _ = merge(
        {
            "a": market.frame({"broker_token": "1"}).with_columns(pl.lit(f"E{SEPARATOR}Q").alias("raw.series")),
            "b": market.frame({"broker_token": "2"}),
            "c": market.frame({"broker_token": "3"}).with_columns(
                pl.lit("").alias("raw.empty"), pl.lit(None, pl.String).alias("raw.none"), pl.lit("7").alias("raw.lot")
            ),
        }
    )
    snapshot = TableSnapshot(merged, market.DAY)
    (instrument_id,) = merged["instrument_id"]
    assert snapshot.attributes(instrument_id) == {
        "a": {"series": f"E{SEPARATOR}Q"},
        "b": {},
        "c": {"empty": "", "lot": "7"},
    }
