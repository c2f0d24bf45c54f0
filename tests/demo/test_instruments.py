"""The instrument routes over real HTTP on the demo's ten brokers: what is counted is listed, what is listed is found."""

import random
from collections import Counter

import pytest

pytestmark = pytest.mark.long

RECORD = 13
"""Fields of a record."""


@pytest.fixture(scope="module")
def everything(demo):
    return demo.read("/api/instruments/master", exchange="all", segment="all")


@pytest.fixture(scope="module")
def segments(demo):
    return demo.read("/api/instruments/segments")


def naming(row):
    """The second spelling of an instrument."""
    names = {"security": ("symbol",), "future": ("underlying_symbol", "expiry_date")}
    option = ("underlying_symbol", "expiry_date", "strike_price", "option_type")
    return {name: row[name] for name in ("exchange", "segment", *names.get(row["shape"], option))}


def test_every_segment_lists_as_many_as_it_counts_and_all_of_them_are_the_sum(demo, segments, everything):
    assert segments["segments"]
    for row in segments["segments"]:
        by_stored, by_bare = (
            demo.read("/api/instruments/master", exchange=row["exchange"], segment=row[name])
            for name in ("segment", "bare_segment")
        )
        assert len(by_stored) == row["instruments"] > 0, row
        assert by_stored == by_bare
        assert {(each["exchange"], each["segment"], each["shape"]) for each in by_stored} == {
            (row["exchange"], row["segment"], row["shape"])
        }
        assert all(each[name] is not None for each in by_stored for name in row["identity_fields"])
    assert sum(row["instruments"] for row in segments["segments"]) == len(everything)
    assert segments["exchanges"] == sorted({each["exchange"] for each in everything}, key=lambda x: (x == "unknown", x))


def test_master_lists_every_instrument_once_and_each_has_its_details(demo, everything):
    assert {len(row) for row in everything} == {RECORD}
    assert [id_ for id_, count in Counter(row["instrument_id"] for row in everything).items() if count > 1] == []
    answer = demo.ask("POST", "/api/instruments/details", {"instruments": [naming(row) for row in everything]})
    entries = answer.json["results"]
    assert (answer.status, {entry["status"] for entry in entries}) == (200, {200})
    assert [
        {name: entry["data"][name] for name in row} for entry, row in zip(entries, everything, strict=True)
    ] == everything


def test_every_exchange_lists_its_part_of_all(demo, segments, everything):
    for exchange in segments["exchanges"]:
        listed = demo.read("/api/instruments/master", exchange=exchange, segment="all")
        assert listed == [row for row in everything if row["exchange"] == exchange]


def test_search_finds_what_master_lists(demo, segments):
    for row in segments["segments"]:
        where = {"exchange": row["exchange"], "segment": row["bare_segment"]}
        listed = demo.read("/api/instruments/master", **where)
        names = [each["symbol"] or each["underlying_symbol"] for each in listed]
        for name in {names[0], names[-1], names[len(names) // 2][1:4]} - {""}:
            found = demo.read("/api/instruments/search", **where, query=name.lower(), limit=200)
            assert found["matched"] == sum(name in each for each in names), (row, name)
            assert len(found["instruments"]) == min(found["matched"], 200)
            assert all(each in listed for each in found["instruments"])
            if name in names:
                first = found["instruments"][0]
                assert name in (first["symbol"], first["underlying_symbol"])


def test_a_list_of_500_good_and_bad_items_is_answered_entry_by_entry(demo, everything):
    chance = random.Random(4)
    good = [chance.choice(everything) for _ in range(300)]
    kinds = [
        *[({"instrument_id": row["instrument_id"]}, 200) for row in good[:150]],
        *[(naming(row), 200) for row in good[150:]],
        *[({"instrument_id": f"00000000-0000-5000-8000-{number:012}"}, 404) for number in range(100)],
        *[({"instrument_id": f"no {number}"}, 400) for number in range(50)],
        *[(bad, 400) for bad in (None, 7, "x", [], {}) for _ in range(10)],
    ]
    chance.shuffle(kinds)
    answer = demo.ask("POST", "/api/instruments/additional_details", {"instruments": [item for item, _ in kinds]})
    entries = answer.json["results"]
    assert (answer.status, len(kinds)) == (200, 500)
    assert [entry["request_index"] for entry in entries] == list(range(500))
    assert [entry["status"] for entry in entries] == [status for _, status in kinds]
    for (item, status), entry in zip(kinds, entries, strict=True):
        if status == 200:
            assert naming(item | entry["data"]) == naming(entry["data"])
            assert set(entry["data"]["attributes"]) == set(entry["data"]["brokers"]) != set()
        else:
            assert entry["error"], entry


def test_dates_answer_the_latest_mapping_or_say_that_there_was_none(demo, segments):
    today = segments["mapping_date"]
    where = {"exchange": "nse", "segment": "equities"}
    later = demo.ask("GET", "/api/instruments/search", **where, query="a", date="2999-01-01")
    assert (later.status, later.json["mapping_date"]) == (200, today)
    for path, query in (("master", where), ("search", where | {"query": "a"})):
        early = demo.ask("GET", f"/api/instruments/{path}", **query, date="2001-01-01")
        assert (early.status, early.json) == (404, {"error": "nothing had been mapped on or before 2001-01-01"})
    early = demo.ask("POST", "/api/instruments/details", {"instruments": [{}], "date": "2001-01-01"})
    assert (early.status, early.json) == (404, {"error": "nothing had been mapped on or before 2001-01-01"})
