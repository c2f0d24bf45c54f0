"""Groww's value tables beyond test_value_tables.py; an instrument's name."""

import pytest

from onebroker.brokers.groww import values
from onebroker.brokers.groww.values import Name
from onebroker.brokers.records import Listing
from onebroker.brokers.requests import BadAnswer
from tests.support.every_case import every_case


@every_case(
    ("word", "ours"),
    [
        ("NEW", "PENDING"), ("ACKED", "PENDING"), ("TRIGGER_PENDING", "PENDING"), ("APPROVED", "OPEN"), ("OPEN", "OPEN"),
        ("MODIFICATION_REQUESTED", "OPEN"), ("CANCELLATION_REQUESTED", "OPEN"), ("EXECUTED", "COMPLETE"),
        ("DELIVERY_AWAITED", "COMPLETE"), ("COMPLETED", "COMPLETE"), ("CANCELLED", "CANCELLED"), ("REJECTED", "REJECTED"),
        ("FAILED", "REJECTED"), ("half done", "HALF DONE"),
    ],
)  # fmt: skip
def test_the_documented_statuses_are_read_and_an_unknown_one_passes_through(word, ours):
    assert values.STATUSES.read(word) == ours


@pytest.mark.parametrize("words", [values.SIDES, values.PRODUCTS, values.ORDER_TYPES, values.VALIDITIES])
def test_words_nobody_documented_pass_through_in_capitals(words):
    assert words.read("eos") == "EOS"


def test_a_name_is_made_of_what_rows_carry_and_read_back_from_the_token():
    name = Name.of_row({"exchange": "nse", "segment": "CASH", "trading_symbol": "M&M:X"})
    assert name.token == "NSE:CASH:M&M:X"
    assert Name.of_token(name.token) == name
    index = Name.of_token("NSE:IDX:NIFTY")
    assert (index.is_index, index.wire_segment, name.wire_segment) == (True, "CASH", "CASH")
    for wrong in ("", "2885", "NSE:CASH"):
        with pytest.raises(BadAnswer):
            Name.of_token(wrong)


def test_the_further_names_of_a_listing_are_read_or_not_known():
    listing = Listing(broker_token="x", tradingsymbol="x", exchange="NSE", other_names="2885|NSE-RELIANCE")
    assert (values.exchange_token(listing), values.groww_symbol(listing)) == ("2885", "NSE-RELIANCE")
    bare = Listing(broker_token="x", tradingsymbol="x", exchange="NSE")
    assert (values.exchange_token(bare), values.groww_symbol(bare)) == (None, None)
    assert values.groww_symbol(Listing(broker_token="x", tradingsymbol="x", exchange="NSE", other_names="1|")) is None
