"""Further names that a broker's calls need go from its file through the catalogue to its listings."""

from datetime import date
from pathlib import Path

import polars as pl

from onebroker.actors.catalogue.merge import merge
from onebroker.actors.catalogue.snapshot import TableSnapshot
from onebroker.brokers.groww import instruments

FILE = Path(__file__).resolve().parents[2] / "data" / "groww" / "instruments.csv"
DAY = date(2026, 11, 23)


def catalogue():
    return merge({"groww": instruments.read_files([FILE.read_bytes()])})[0]


def test_a_listing_keeps_the_further_names_of_the_file():
    listing = TableSnapshot(catalogue(), DAY).listings("groww")["NSE:FNO:360ONE26NOV840CE"]
    assert listing.other_names == "66509|NSE-360ONE-23Nov26-840-CE"


def test_a_catalogue_file_of_before_has_none():
    fields = [field.name for field in catalogue().schema["listings"].inner.fields if field.name != "other_names"]
    older = catalogue().with_columns(
        pl.col("listings").list.eval(pl.struct(pl.element().struct.field(name) for name in fields))
    )
    listing = TableSnapshot(older, DAY).listings("groww")["NSE:CASH:RELIANCE"]
    assert (listing.other_names, listing.tradingsymbol) == (None, "RELIANCE")
