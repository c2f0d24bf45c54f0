"""Kotak Neo's value tables beyond test_value_tables.py; placeholders, times, units."""

import pytest

from onebroker.brokers.kotakneo import values
from onebroker.brokers.records import Listing
from tests.support.every_case import every_case


@every_case(
    ("word", "ours"),
    [
        ("put order req received", "PENDING"), ("validation pending", "PENDING"), ("open pending", "PENDING"),
        ("after market order req received", "PENDING"), ("modify after market order req received", "PENDING"),
        ("trigger pending", "PENDING"), ("open", "OPEN"), ("modified", "OPEN"), ("modify pending", "OPEN"),
        ("modify validation pending", "OPEN"), ("cancel pending", "OPEN"), ("complete", "COMPLETE"),
        ("traded", "COMPLETE"), ("cancelled", "CANCELLED"), ("canceled", "CANCELLED"),
        ("cancelled after market order", "CANCELLED"), ("rejected", "REJECTED"), ("expired", "EXPIRED"),
        ("half done", "HALF DONE"),
    ],
)  # fmt: skip
def test_the_documented_statuses_are_read_and_an_unknown_one_passes_through(word, ours):
    assert values.STATUSES.read(word) == ours


def test_unknown_words_of_every_kind_pass_through_in_capitals():
    read = {values.SIDES: "x", values.PRODUCTS: "intraday", values.ORDER_TYPES: "sp", values.VALIDITIES: "eos"}
    assert all(words.read(word) == word.upper() for words, word in read.items())


@every_case("nothing", [None, "", " ", "NA", "--", "-", "- ", "na"])
def test_every_placeholder_means_none(nothing):
    assert values.said(nothing) is None
    assert values.stamp(nothing) is None


@pytest.mark.parametrize(
    ("written", "iso"),
    [
        ("22-Jan-2025 14:28:01", "2025-01-22T14:28:01+05:30"),
        ("22-Jan-2025 14: 32: 53", "2025-01-22T14:32:53+05:30"),
        ("2025/01/22 14:28:01", "2025-01-22T14:28:01+05:30"),
        ("01-DEC-2026 09:15:00", "2026-12-01T09:15:00+05:30"),
        ("31-Feb-2026 09:15:00", None),
        ("31-Foo-2026 09:15:00", None),
        ("yesterday at nine o'clock", None),
    ],
)
def test_times_are_indian(written, iso):
    assert values.stamp(written) == iso


def test_units_are_the_listings_where_the_broker_may_count_contracts():
    currency = Listing(broker_token="cde_fo|1", tradingsymbol="X", exchange="cde_fo", contract_units=1000)
    assert values.contract_units("cde_fo|1", {"cde_fo|1": currency}) == 1000
    assert values.contract_units("cde_fo|2", {"cde_fo|1": currency}) is None
    assert values.contract_units("nse_fo|2", {}) == 1


def test_an_index_is_asked_by_its_display_name():
    index = Listing(broker_token="nse_cm|26000", tradingsymbol="NIFTY", exchange="nse_cm", other_names="Nifty 50")
    share = Listing(broker_token="nse_cm|2885", tradingsymbol="RELIANCE-EQ", exchange="nse_cm")
    assert (values.wire_name(index), values.wire_name(share)) == ("nse_cm|Nifty 50", "nse_cm|2885")
