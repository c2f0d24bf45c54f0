"""A catalogue file read where it lies: the same cells as polars reads, lookups by order, and no other file taken for one."""

import gc
import os
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from polars.exceptions import PolarsError

from onebroker.actors.catalogue.arrow_files import map_frame, write_frame
from onebroker.actors.catalogue.file_columns import INSTRUMENT_COLUMNS
from onebroker.actors.catalogue.mapping_table import TABLE_COLUMNS, held_table, open_table, with_orders, write_table
from onebroker.actors.catalogue.merge import merge
from tests.support.further import searched

LISTING_FIELDS = (
    "broker", "broker_token", "tradingsymbol", "exchange", "lot_size", "tick_size", "freeze_quantity", "contract_units",
    "other_names", "attributes",
)  # fmt: skip
LISTINGS = pl.List(
    pl.Struct(
        {
            **dict.fromkeys(LISTING_FIELDS[:4], pl.String),
            "lot_size": pl.Int64,
            "tick_size": pl.Float64,
            "freeze_quantity": pl.Int64,
            "contract_units": pl.Int64,
            "other_names": pl.String,
            "attributes": pl.String,
        }
    )
)
TEXTS = [
    name for name in TABLE_COLUMNS[:-1] if name not in ("strike_price", "lot_size", "tick_size", "freeze_quantity")
]
SCHEMA = {
    **dict.fromkeys(TABLE_COLUMNS, pl.String),
    "strike_price": pl.Float64,
    "lot_size": pl.Int64,
    "tick_size": pl.Float64,
    "freeze_quantity": pl.Int64,
    "listings": LISTINGS,
}

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
figures = st.none() | st.integers(-(2**63), 2**63 - 1)
prices = st.none() | st.floats(allow_nan=False)


@st.composite
def catalogues(draw):
    """Frames of a catalogue file with any cells; ids, and a broker's tokens, are told apart as `merge` has them."""
    ids = draw(st.lists(words, unique=True, min_size=1, max_size=30))
    rows = []
    for number, name in enumerate(ids):
        row = {column: draw(st.none() | words) for column in TEXTS}
        row |= {"instrument_id": name, "isin": draw(st.none() | st.sampled_from(["INE1", "INE2", "ÄÖ"]))}
        row |= {
            "exchange": draw(st.sampled_from(["nse", "bse"])),
            "strike_price": draw(prices),
            "tick_size": draw(prices),
        }
        row |= {"lot_size": draw(figures), "freeze_quantity": draw(figures)}
        brokers = draw(st.lists(st.sampled_from(["a", "b", "c"]), unique=True, min_size=1))
        row["listings"] = [listing(draw, broker, f"{draw(words)}{number}") for broker in brokers]
        rows.append(row)
    return pl.DataFrame(rows, schema=SCHEMA)


def listing(draw, broker, token):
    cells = {name: draw(st.none() | words) for name in LISTING_FIELDS}
    cells |= dict.fromkeys(("lot_size", "freeze_quantity", "contract_units"), draw(figures))
    return cells | {"tick_size": draw(prices), "broker": broker, "broker_token": token}


@pytest.fixture
def written(market, tmp_path):
    """A small file as the worker writes it."""
    merged, _ = merge(
        {
            "a": market.frame(
                *({"broker_token": str(n), "symbol": f"S{n}", "isin": f"INE{n % 40:03d}A01021"} for n in range(200)),
                {"broker_token": "bse", "symbol": "S1", "exchange": "bse", "isin": "INE001A01021"},
            ).with_columns(pl.lit("EQ").alias("raw.series")),
            "b": market.frame(*({"broker_token": f"B{n}", "symbol": f"S{n}", "lot_size": n} for n in range(0, 200, 2))),
        }
    )
    path = tmp_path / "x.arrow"
    write_table(merged, path)
    return merged, path


def assert_the_same(table, frame):
    for row, listings in enumerate(frame["listings"].to_list()):
        assert table.listings(row, LISTING_FIELDS) == listings
    for row, name in enumerate(frame["instrument_id"]):
        assert table.row(name) == row
    tokens = {}
    for row, listings in enumerate(frame["listings"].to_list()):
        for one in listings:
            tokens.setdefault(one["broker"], {})[one["broker_token"]] = row
    assert {code: {token: known.row(token) for token in known} for code, known in table.tokens.items()} == tokens
    assert {code: len(known) for code, known in table.tokens.items()} == {
        code: len(rows) for code, rows in tokens.items()
    }


@given(catalogues())
@searched(20, 40)
def test_every_cell_is_as_polars_reads_it_and_every_name_is_found(frame):
    assert_the_same(held_table(frame), frame)


@given(catalogues())
@searched(15, 25)
def test_an_isin_gives_nse_first_and_then_the_order_of_the_file(frame):
    table = held_table(frame)
    rows = frame.select("isin", "exchange").rows()
    for isin in ("INE1", "INE2", "ÄÖ", "none", ""):
        expected = sorted(
            (row for row, (its, _) in enumerate(rows) if its == isin), key=lambda row: (rows[row][1] != "nse", row)
        )
        assert table.rows_of_isin(isin) == tuple(expected)


@given(catalogues())
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_file_and_the_frame_in_memory_are_read_alike(tmp_path, frame):
    path = tmp_path / "x.arrow"
    write_table(frame, path)
    assert_the_same(open_table(path), frame)
    assert open_table(path).instruments.equals(frame.select(INSTRUMENT_COLUMNS))


def test_what_is_not_there_has_no_row(written):
    merged, path = written
    table = open_table(path)
    assert table.row("") is None
    assert table.row("zzzz") is None
    assert table.rows_of_isin("INE") == ()
    assert [table.tokens[code].row(token) for code in ("a", "b") for token in ("", "B1", "zz")] == [None] * 6
    assert table.tokens["b"].row("B2") == table.row(merged["instrument_id"][table.tokens["a"].row("2")])


def test_a_field_the_file_does_not_have_is_none(written):
    assert open_table(written[1]).listings(0, ("broker", "colour"))[0]["colour"] is None


def test_orders_made_again_are_the_same(written):
    merged, path = written
    assert with_orders(map_frame(path)).equals(with_orders(merged))
    assert write_table(merged, path.with_name("y.arrow")) == write_table(with_orders(merged), path.with_name("z.arrow"))


def test_a_file_stays_readable_when_another_takes_its_place(written):
    merged, path = written
    table = open_table(path)
    write_table(merged.head(1), path)
    assert_the_same(table, merged)


def holds_open(path: Path) -> bool:
    """Whether this process maps or has open the file at `path` (its own only: earlier tests' garbage closes whenever)."""
    mapped = Path("/proc/self/maps").read_text()
    return f" {path}\n" in mapped or str(path) in {
        os.path.realpath(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")
    }


def test_a_table_that_is_dropped_closes_its_file(written):
    tables = [open_table(written[1]) for _ in range(3)]
    assert holds_open(written[1])
    del tables
    gc.collect()
    assert not holds_open(written[1])


@pytest.mark.parametrize("columns", [["instrument_id"], list(TABLE_COLUMNS)[::-1]])
def test_another_frame_is_no_table(written, columns):
    merged, path = written
    write_frame(merged.select(columns), path)
    with pytest.raises((ValueError, PolarsError)):
        open_table(path)


def test_a_file_without_orders_as_older_builds_wrote_it_is_no_table(written):
    merged, path = written
    merged.write_ipc(path, compression="uncompressed")
    with pytest.raises(ValueError, match="not a catalogue file"):
        open_table(path)


def test_a_compressed_file_is_no_table(written):
    merged, path = written
    with_orders(merged).write_ipc(path, compression="zstd", compat_level=pl.CompatLevel.oldest())
    with pytest.raises((ValueError, PolarsError)):
        open_table(path)


def test_a_file_that_is_cut_off_anywhere_is_no_table(written):
    _, path = written
    whole = path.read_bytes()
    for size in [*range(64), *range(64, len(whole), len(whole) // 50), len(whole) - 1]:
        path.write_bytes(whole[:size])
        with pytest.raises((OSError, ValueError, PolarsError)):
            open_table(path)


def test_a_file_that_shrinks_under_us_is_an_error_not_a_crash(written):
    _, path = written
    table = open_table(path)
    os.truncate(path, Path(path).stat().st_size // 2)
    with pytest.raises(OSError, match="cut off"):
        table.listings(table.instruments.height - 1, ("attributes",))
