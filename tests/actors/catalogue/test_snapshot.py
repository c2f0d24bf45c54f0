"""Lookups over a mapped file."""

import msgspec
import polars as pl
import pytest

from onebroker.actors.catalogue.arrow_files import map_frame, write_frame
from onebroker.actors.catalogue.merge import merge
from onebroker.actors.catalogue.snapshot import TableSnapshot
from onebroker.config.instruments import security
from onebroker.config.refusal import Refusal


@pytest.fixture
def snapshot(market, tmp_path):
    merged, _ = merge(
        {
            "a": market.frame(
                {"broker_token": "1", "isin": "INE009A01021", "lot_size": 1, "tick_size": 0.05},
                {"broker_token": "2", "symbol": "INFY", "exchange": "bse", "isin": "INE009A01021"},
                {"broker_token": "3", "symbol": "TCS", "contract_units": 1},
            ).with_columns(pl.lit("EQ").alias("raw.series"), pl.lit(None, pl.String).alias("raw.none")),
            "b": market.frame({"broker_token": "1", "symbol": "TCS", "broker_exchange": "NSE_EQ"}),
        }
    )
    write_frame(merged, tmp_path / "x.arrow")
    return TableSnapshot(map_frame(tmp_path / "x.arrow"), market.DAY)


def test_an_instrument_is_found_by_id_identity_and_token(snapshot):
    infy = security("nse", "equities", "INFY")
    found = snapshot.instrument(infy.instrument_id)
    assert found.identity == infy
    assert snapshot.find(infy) is found
    assert snapshot.by_token("a", "1") == infy.instrument_id
    assert snapshot.by_token("b", "1") == security("nse", "equities", "TCS").instrument_id


def test_an_instrument_read_once_is_the_same_and_is_not_kept(snapshot):
    infy = security("nse", "equities", "INFY").instrument_id
    once = snapshot.instrument_once(infy)
    assert once is not snapshot.instrument_once(infy)
    assert once == snapshot.instrument(infy) is snapshot.instrument(infy)
    assert snapshot.instrument_once("00000000-0000-0000-0000-000000000000") is None


def test_the_list_is_that_of_the_file_and_one_for_the_snapshots_life(snapshot, market):
    assert snapshot.master is snapshot.master
    rows = msgspec.json.decode(b"[" + b",".join(snapshot.master.pages(None, None)) + b"]")
    assert [row["instrument_id"] for row in rows] == [snapshot.at(row).instrument_id for row in range(snapshot.count)]
    with pytest.raises(Refusal, match=f"the mapping of {market.DAY} cannot be read"):
        snapshot.master.records([99])


def test_what_is_not_there_is_none(snapshot):
    assert snapshot.instrument("00000000-0000-0000-0000-000000000000") is None
    assert snapshot.instrument("zzzz") is None
    assert snapshot.find(security("nse", "equities", "NONE")) is None
    assert snapshot.by_token("a", "0") is None
    assert snapshot.by_token("a", "9") is None
    assert snapshot.by_token("c", "1") is None
    assert snapshot.by_isin("INE000000000") == ()


def test_an_isin_names_its_nse_listing_first(snapshot):
    names = [security(exchange, "equities", "INFY").instrument_id for exchange in ("nse", "bse")]
    assert snapshot.by_isin("INE009A01021") == tuple(names)


def test_a_brokers_listings_are_one_mapping_for_the_snapshots_life(snapshot):
    listings = snapshot.listings("a")
    assert listings is snapshot.listings("a")
    assert sorted(listings) == ["1", "2", "3"]
    assert len(listings) == 3
    assert listings["1"].tick_size == 0.05
    assert listings.get("9") is None
    assert {token: listing.broker_token for token, listing in listings.items()} == {"1": "1", "2": "2", "3": "3"}
    assert snapshot.listings("c") == {}
    assert snapshot.listings("c") is snapshot.listings("c")


def test_the_columns_nothing_else_carries_are_kept(snapshot):
    infy = security("nse", "equities", "INFY").instrument_id
    assert snapshot.attributes(infy) == {"a": {"series": "EQ"}}
    assert snapshot.attributes("no") == {}


def test_another_kind_of_file_is_refused(tmp_path, market):
    write_frame(market.frame({}), tmp_path / "y.arrow")
    with pytest.raises(ValueError, match="not a catalogue file"):
        TableSnapshot(map_frame(tmp_path / "y.arrow"), market.DAY)
