"""The names of the metrics: each with its meaning and its unit, and none twice."""

import re

from onebroker.http.metrics import names
from onebroker.http.metrics.names import ALL, Name
from tests.support.every_case import every_case

UNITS = ("seconds", "bytes", "rupees", "units")


def test_every_name_is_listed_once():
    made = [value for value in vars(names).values() if isinstance(value, Name)]
    assert set(ALL) == set(made)
    assert len({name.name for name in ALL}) == len(ALL) == len(made)


@every_case("name", ALL)
def test_a_name_is_ours_in_small_letters_and_has_a_meaning(name: Name):
    assert re.fullmatch(r"onebroker_[a-z_]+", name.name)
    assert name.doc.endswith(".")
    assert len(name.doc) > 20


@every_case("name", ALL)
def test_a_name_ends_in_its_unit(name: Name):
    word = name.name.rpartition("_")[2]
    assert (word == "total") == (name.kind == "counter")
    assert (word == "info") == (name.kind == "info")
    if name.kind == "histogram":
        assert word == "seconds"
    unit = next((unit for unit in UNITS if f"_{unit}" in name.name), None)
    assert unit is None or word == unit
    assert ("timestamp" in name.name) == name.name.endswith("_timestamp_seconds")
