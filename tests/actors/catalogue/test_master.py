"""The list of a mapping, as the listing routes read it: judged on the merged frame itself."""

import math

import msgspec
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.actors.catalogue import master as reading
from onebroker.actors.catalogue.file_columns import INSTRUMENT_COLUMNS
from onebroker.actors.catalogue.master import PAGE_ROWS, RECORD_COLUMNS, STEP_NAMES, Master
from onebroker.actors.catalogue.merge import merge
from onebroker.brokers.listings.frame import listing_frame
from onebroker.config.instruments import EXCHANGES, SEGMENTS, bare_segment
from onebroker.config.refusal import Refusal
from tests.support.further import searched


def listed(frame):
    return merge({"a": listing_frame(frame)})[0]


def all_of(pages):
    return msgspec.json.decode(b"[" + b",".join(pages) + b"]")


def found(search):
    for _ in search:
        pass
    return all_of([search.records()])


@pytest.fixture(scope="module")
def merged(market):
    """What the simulator's two files give."""
    frames = {code: broker.instruments.read_files([market.bodies[code]]) for code, broker in market.registry.items()}
    return merge(frames)[0]


def test_the_pages_are_the_rows_of_the_file_in_their_order(merged, market):
    master = Master(merged, market.DAY)
    assert all_of(master.pages(None, None)) == merged.select(RECORD_COLUMNS).to_dicts()
    assert master.count(None, None) == merged.height > reading.PAGE_ROWS


def test_every_filter_gives_the_rows_that_stand_in_it(merged, market):
    master = Master(merged, market.DAY)
    segments = merged["segment"].unique().to_list()
    for exchange in (None, *EXCHANGES):
        for segment in (None, *segments):
            wanted = [
                row
                for row in merged.select(RECORD_COLUMNS).to_dicts()
                if exchange in (None, row["exchange"]) and segment in (None, row["segment"])
            ]
            assert all_of(master.pages(exchange, segment)) == wanted
            assert master.count(exchange, segment) == len(wanted)


def test_segments_are_counted_in_the_fixed_order(merged, market):
    segments = Master(merged, market.DAY).segments
    counted = {(row.exchange, row.segment): row.instruments for row in segments}
    true = merged.group_by("exchange", "segment").len().iter_rows()
    assert counted == {(exchange, segment): count for exchange, segment, count in true}
    places = [(SEGMENTS.index(bare_segment(row.segment)), row.exchange) for row in segments]
    assert places == sorted(places)


def test_a_frame_in_another_order_is_refused(merged, market):
    with pytest.raises(ValueError, match="not in the order"):
        Master(pl.concat([merged.head(1), merged.tail(1), merged.head(1)]), market.DAY)


def test_an_empty_frame_is_an_empty_list(merged, market):
    master = Master(merged.clear(), market.DAY)
    assert (master.segments, list(master.pages(None, None)), master.count(None, None)) == ((), [], 0)
    assert found(master.search("nse", "nse_equities", "A", 9)) == []


NAMES = st.lists(st.text(alphabet="AB.", min_size=1, max_size=5), min_size=1, max_size=30, unique=True)


@searched(40, 100)
@given(
    names=NAMES, term=st.text(alphabet="AB.", min_size=1, max_size=3), limit=st.integers(1, 9), step=st.integers(1, 9)
)
def test_search_is_what_a_sorted_list_says(names, term, limit, step):
    expiries = ["2026-11-26", "2026-12-31"]
    rows = [
        {"exchange": "nse", "segment": "equity_futures", "underlying_symbol": name, "expiry_date": day, "broker_token": f"{name} {day}"}
        for name in names
        for day in expiries
    ]  # fmt: skip
    frame = listed(pl.DataFrame(rows))
    wanted = sorted(
        (name != term, not name.startswith(term), name, day) for name in names if term in name for day in expiries
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "STEP_NAMES", step)
        search = Master(frame, None).search("nse", "nse_equity_futures", term, limit)
        answer = found(search)
    assert [(row["underlying_symbol"], row["expiry_date"]) for row in answer] == [row[2:] for row in wanted[:limit]]
    assert search.matched == len(wanted)


@searched(30, 100)
@given(names=st.lists(st.text(max_size=8).map("a{}z".format), min_size=1, max_size=5))
def test_any_name_is_json(names):
    rows = [
        {"exchange": "nse", "segment": "equities", "symbol": f"S{place}", "name": name, "broker_token": str(place)}
        for place, name in enumerate(names)
    ]
    answer = all_of(Master(listed(pl.DataFrame(rows)), None).pages(None, None))
    assert [row["name"] for row in answer] == names


def test_a_record_has_all_that_an_instrument_has_but_the_freeze_quantity():
    assert set(INSTRUMENT_COLUMNS) - set(RECORD_COLUMNS) == {"freeze_quantity"}


def test_a_frame_that_cannot_be_read_any_more_is_a_refusal(merged, market):
    class Gone:
        def slice(self, start, count):
            raise OSError("stale file handle")

        def __getitem__(self, rows):
            raise pl.exceptions.ComputeError("gone")

    master = Master(merged, market.DAY)
    master._records = Gone()
    for read in (lambda: next(master.pages(None, None)), lambda: master.records([0])):
        with pytest.raises(Refusal) as refused:
            read()
        assert (refused.value.status, refused.value.sentence) == (503, f"the mapping of {market.DAY} cannot be read")


@pytest.fixture
def many():
    """150,000 shares of as many names, and as many options on 200 underlyings."""
    half = pl.int_range(150_000, eager=True)
    names = {"symbol": pl.format("SHARE{}", half), "underlying_symbol": pl.format("NAME{}", half // 750)}
    share, option = (
        pl.DataFrame({"instrument_id": pl.select(pl.format("00000000-0000-5000-8000-{}", half)).to_series()})
        .with_columns(
            exchange=pl.lit("nse"), segment=pl.lit(f"nse_{segment}"), shape=pl.lit(shape),
            **{column: text if column == name else pl.lit(None, pl.String) for column, text in names.items()},
            expiry_date=pl.lit("2026-11-26"), strike_price=half.cast(pl.Float64), option_type=pl.lit("CE"),
            name=pl.format("A NAME OF SOME LENGTH {}", half), isin=pl.lit("INE009A01021"), lot_size=pl.lit(75),
            tick_size=pl.lit(0.05), freeze_quantity=pl.lit(1800),
        )
        for segment, shape, name in (
            ("equities", "security", "symbol"), ("equity_options", "option", "underlying_symbol"),
        )
    )  # fmt: skip
    return pl.concat([share, option])


def test_no_step_over_300_000_instruments_takes_more_than_its_share(many, market):
    """So that others run in between; how long a step takes is measured by `bench.bench_listing`."""
    master = Master(many, market.DAY)
    pages = [page.count(b'"instrument_id"') for page in master.pages(None, None)]
    assert (sum(pages), max(pages)) == (300_000, PAGE_ROWS)
    for segment, names in (("nse_equities", 150_000), ("nse_equity_options", 200)):
        search = master.search("nse", segment, "A", 200)
        assert sum(1 for _ in search) == math.ceil(names / STEP_NAMES)
        assert (search.matched, search.records().count(b'"instrument_id"')) == (150_000, 200)
