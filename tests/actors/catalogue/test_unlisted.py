"""Instruments no longer listed: what a build takes into their file, takes out of it, and how they are found."""

from datetime import date, timedelta

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.actors.catalogue.arrow_files import map_frame, write_frame
from onebroker.actors.catalogue.interface import CatalogueState
from onebroker.actors.catalogue.merge import merge
from onebroker.actors.catalogue.report import UnlistedJob
from onebroker.actors.catalogue.snapshot import TableSnapshot
from onebroker.actors.catalogue.unlisted import UNLISTED_COLUMNS, grow_unlisted, map_unlisted
from onebroker.brokers.listings.frame import listing_frame
from onebroker.config.instruments import Identity, Shape
from tests.support.further import searched

pytestmark = pytest.mark.day

MONDAY = date(2026, 11, 23)
SYMBOLS = "ABCDEF"


def share(symbol):
    return Identity("nse", "nse_equities", Shape.SECURITY, symbol=symbol)


class House:
    """A folder of mappings, each a set of shares, and the file of unlisted ones grown by each."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir(exist_ok=True)
        self.mappings = []
        self.base = ""
        self.number = 0

    def mapping(self, symbols):
        self.number += 1
        path = self.folder / f"{self.number}.arrow"
        usual = {"exchange": "nse", "segment": "equities"}
        rows = [usual | {"symbol": name, "broker_token": f"t{name}", "tradingsymbol": name} for name in symbols]
        write_frame(merge({"zerodha": listing_frame(pl.DataFrame(rows))})[0], path)
        return path

    def build(self, day, symbols, **more):
        path = self.mapping(symbols)
        output = self.folder / f"unlisted.{self.number}"
        earlier = [(known.isoformat(), str(file)) for known, file in self.mappings]
        job = UnlistedJob(output=str(output), base=self.base, earlier=earlier, **more)
        report = grow_unlisted(job, path, day)
        self.mappings = [(day, path), *(dated for dated in self.mappings if dated[0] != day)]
        if report.trouble is None or report.content_hash:
            self.base = str(output) if report.content_hash else ""
        return report

    def unlisted(self):
        """Symbol -> its last mapping date."""
        if not self.base:
            return {}
        frame = map_frame(self.folder / self.base)
        return dict(zip(frame["symbol"], map(date.fromisoformat, frame["last_mapping_date"]), strict=True))


@pytest.fixture
def house(tmp_path):
    return House(tmp_path)


def days(count):
    return [MONDAY + timedelta(days=number) for number in range(count)]


def test_what_goes_out_is_kept_with_the_last_day_that_held_it_and_goes_when_it_is_listed_again(house):
    first, second, third, fourth = days(4)
    assert house.build(first, "ABC").rows == 0
    report = house.build(second, "AC")
    assert (report.rows, report.added, report.removed, report.trouble) == (1, 1, 0, None)
    assert house.unlisted() == {"B": first}
    house.build(third, "A")
    assert house.unlisted() == {"B": first, "C": second}
    report = house.build(fourth, "AB")
    assert (report.rows, report.added, report.removed) == (1, 0, 1)
    assert house.unlisted() == {"C": second}


def test_the_same_build_twice_writes_the_same_bytes(house):
    first, second = days(2)
    house.build(first, "ABCD")
    once = house.build(second, "AD")
    again = house.build(second, "AD")
    assert once.content_hash == again.content_hash
    assert (again.rows, again.added, again.removed) == (2, 0, 0)


def test_a_later_build_of_a_day_counts_what_the_day_before_held_and_what_only_its_first_build_held(house):
    first, second = days(2)
    house.build(first, "AB")
    house.build(second, "ABC")
    house.build(second, "A")
    assert house.unlisted() == {"B": first, "C": second}
    house.build(second, "ABC")
    assert house.unlisted() == {}


@pytest.mark.parametrize("damage", [b"", b"rubbish", b"ARROW1" * 40, None])
def test_a_lost_file_is_said_and_made_again_from_the_dates_that_are_there(house, damage):
    first, second, third, fourth = days(4)
    house.build(first, "ABC")
    house.build(second, "AB")
    house.build(third, "A")
    path = house.folder / house.base
    path.unlink() if damage is None else path.write_bytes(damage)
    report = house.build(fourth, "A")
    assert "cannot be read" in report.trouble
    assert house.unlisted() == {"C": first, "B": second}


def test_an_unreadable_mapping_costs_what_it_held_alone(house):
    first, second, third = days(3)
    house.build(first, "AB")
    house.build(second, "AC")
    house.mappings[0][1].write_bytes(b"rubbish")
    report = house.build(third, "A")
    assert "the mapping of 2026-11-24 cannot be read" in report.trouble
    assert house.unlisted() == {"B": first}


def test_a_folder_that_takes_no_file_is_said_and_nothing_is_raised(house):
    first, second = days(2)
    house.build(first, "AB")
    path = house.mapping("A")
    job = UnlistedJob(
        output=str(house.folder / "nowhere" / "x"), earlier=[(first.isoformat(), str(house.mappings[0][1]))]
    )
    report = grow_unlisted(job, path, second)
    assert report.trouble
    assert not report.content_hash


def test_an_instrument_is_found_ever_by_id_and_by_identity_and_says_when_it_was_mapped_last(house):
    first, second = days(2)
    house.build(first, "AB")
    house.build(second, "A")
    latest = TableSnapshot(map_frame(house.mappings[0][1]), second)
    unlisted = map_unlisted(house.folder / house.base)
    assert unlisted.count == 1
    state = CatalogueState(latest=latest, published_today=True, reason="", unlisted=unlisted)
    listed = state.find_ever(share("A").instrument_id)
    assert (listed.mapping_date, list(listed.instrument.listings)) == (second, ["zerodha"])
    gone = state.find_ever_by(share("B"))
    assert (gone.instrument.identity, gone.mapping_date, gone.instrument.listings) == (share("B"), first, {})
    assert state.find_ever(share("Z").instrument_id) is None
    assert CatalogueState(latest=None, published_today=False, reason="").find_ever(share("A").instrument_id) is None


def test_a_file_of_another_kind_is_refused(house):
    path = house.mapping("A")
    with pytest.raises(ValueError, match="not a file of unlisted instruments"):
        map_unlisted(path)
    write_frame(pl.DataFrame({name: ["x"] for name in UNLISTED_COLUMNS}), path)
    assert map_unlisted(path).find("y") is None


@searched(25, 100)
@given(st.lists(st.tuples(st.integers(0, 1), st.sets(st.sampled_from(SYMBOLS), min_size=1)), min_size=1, max_size=6))
def test_over_any_days_exactly_what_was_mapped_once_and_is_not_now_is_in_the_file(tmp_path_factory, steps):
    house = House(tmp_path_factory.mktemp("unlisted"))
    day, held, seen = MONDAY, {}, {}
    for later, symbols in steps:
        day += timedelta(days=later)
        house.build(day, sorted(symbols))
        held[day] = symbols
        for symbol in symbols:
            seen[symbol] = day
    found = house.unlisted()
    assert set(found) == set(seen) - symbols
    for symbol, last in found.items():
        days_that_hold = [known for known, those in held.items() if symbol in those]
        # One that an earlier build of a day held, and its last did not, may also carry that day.
        assert last in {max(days_that_hold, default=seen[symbol]), seen[symbol]}
