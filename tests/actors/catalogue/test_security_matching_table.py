"""Things that everybody lists, each written as its ten brokers write it (`listed_everywhere.py`): one row, one id."""

from datetime import timedelta

import polars as pl
import pytest

from onebroker.actors.catalogue.merge import merge
from tests.actors.catalogue.listed_everywhere import LISTED, MONTH, THINGS, WEEK, read
from tests.support.every_case import every_case


@pytest.fixture(scope="module")
def frames():
    return {code: read(code) for code in LISTED}


@pytest.fixture(scope="module")
def catalogue(frames):
    return merge(frames)


@every_case("thing", THINGS)
def test_all_brokers_that_list_a_thing_have_it_in_one_row_under_one_id(catalogue, thing):
    merged, _ = catalogue
    found = merged.filter(pl.col("instrument_id") == THINGS[thing].instrument_id)
    assert found.height == 1
    brokers = [listing["broker"] for listing in found["listings"][0]]
    assert brokers == [code for code in LISTED if thing in LISTED[code]]


def test_nothing_else_comes_of_it(catalogue):
    merged, reports = catalogue
    assert set(merged["instrument_id"]) == {identity.instrument_id for identity in THINGS.values()}
    for code, report in reports.items():
        assert (report.rows, report.uncategorised) == (len(LISTED[code]), 0), code
        assert (report.unread, report.refused, report.ambiguous, report.contradicted) == (0, 0, 0, 0), code


NEED_OTHERS = {"zerodha": {"etf without the word"}, "angelone": {"etf without the word"}, "shoonya": {"etf without the word", "vix"},
               "kotakneo": set()}  # fmt: skip
"""What a file cannot tell by itself: without an ISIN a fund whose symbol is no word for one; an index by its short name."""


@pytest.mark.parametrize("code", LISTED)
def test_a_brokers_file_alone_gives_the_same_ids_but_for_what_it_cannot_tell(frames, code):
    merged, _ = merge({code: frames[code]})
    missing = {thing for thing in LISTED[code] if THINGS[thing].instrument_id not in set(merged["instrument_id"])}
    assert missing == NEED_OTHERS.get(code, set())


@pytest.mark.parametrize("lost", LISTED)
def test_a_lost_broker_changes_no_id(frames, lost):
    merged, _ = merge({code: frame for code, frame in frames.items() if code != lost})
    assert set(merged["instrument_id"]) == {identity.instrument_id for identity in THINGS.values()}


def test_a_scrip_whose_symbol_one_file_gives_as_its_code_is_known_by_the_code(frames):
    icici = frames["icicidirect"].with_columns(
        symbol=pl.when(pl.col("exchange") == "bse", pl.col("segment") == "equities")
        .then(pl.lit("500325"))
        .otherwise("symbol")
    )
    merged, reports = merge({**frames, "icicidirect": icici})
    row = merged.filter(pl.col("instrument_id") == THINGS["bse share"].instrument_id)
    assert "icicidirect" in [listing["broker"] for listing in row["listings"][0]]
    assert reports["icicidirect"].matched == 1


def test_the_day_after_gives_the_same_ids(frames):
    later = {code: frame.reverse() for code, frame in frames.items()}
    merged, _ = merge(later)
    assert set(merged["instrument_id"]) == {identity.instrument_id for identity in THINGS.values()}
    assert MONTH + timedelta(days=7) == WEEK
