"""Sizes of MCX's contracts: one table, by underlying and expiry, which files are read with."""

import polars as pl
import pytest

from onebroker.brokers.listings.mcx_contracts import CONTRACTS, Contract, contract, trading_unit_of, units_of
from tests.support.every_case import every_case


@every_case(
    ("underlying", "expiry", "trading_unit", "units"),
    [
        ("GOLD", "2026-12-04", 1, 100), ("GOLDM", "2026-12-04", 100, 10), ("GOLDGUINEA", "2026-12-31", 8, 1),
        ("GOLDTEN", "2026-12-31", 10, 1), ("ZINC", "2026-11-30", 5, 5000), ("LEADMINI", "2026-11-30", 1, 1000),
        ("KAPAS", "2026-11-30", 4, 200), ("COTTONOIL", "2026-11-30", 5, 500), ("SILVER100", "2026-11-30", 100, 10),
        ("SILVER", "2026-12-04", 30, 30), ("crudeoil", "2026-11-19", 100, 100), ("NICKEL", "2026-11-30", 250, 250),
        ("MCXBULLDEX", "2026-10-28", 30, 30), ("MCXBULLDEX", "2026-10-31", 30, 30), ("MCXBULLDEX", "2026-11-01", 15, 15),
        ("MCXBULLDEX", "2027-01-27", 15, 15),
    ],
)  # fmt: skip
def test_a_size_belongs_to_the_underlying_and_the_expiry(underlying, expiry, trading_unit, units):
    found = contract(underlying, expiry)
    assert (found.trading_unit, found.units) == (trading_unit, units)
    frame = pl.DataFrame({"name": [underlying], "expiry": [expiry]})
    columns = frame.select(
        trading_unit_of(pl.col("name"), pl.col("expiry")).alias("t"),
        units_of(pl.col("name"), pl.col("expiry")).alias("u"),
    )
    assert columns.row(0) == (trading_unit, units)


def test_what_is_not_in_the_table_is_unknown_and_never_one():
    assert [
        contract(*asked) for asked in (("TOMATO", "2026-11-30"), (None, "2026-11-30"), ("GOLD", None), ("", ""))
    ] == [None] * 4
    frame = pl.DataFrame({"name": ["TOMATO", None, "GOLD"], "expiry": ["2026-11-30", "2026-11-30", None]})
    assert frame.select(units_of(pl.col("name"), pl.col("expiry"))).to_series().to_list() == [None] * 3


@pytest.mark.parametrize("sizes", CONTRACTS.values())
def test_every_expiry_has_one_size(sizes):
    assert all(isinstance(each, Contract) and each.units > 0 and each.trading_unit > 0 for each in sizes)
    firsts = [each.first_expiry for each in sizes]
    assert firsts == sorted(set(firsts))
