"""Dhan's value tables beyond test_value_tables.py; tokens, units and times."""

import pytest

from onebroker.brokers.dhan import values
from onebroker.brokers.records import Listing
from tests.support.every_case import every_case


@every_case(
    ("word", "ours"),
    [
        ("TRANSIT", "PENDING"), ("PENDING", "OPEN"), ("PART_TRADED", "OPEN"), ("TRADED", "COMPLETE"), ("Traded", "COMPLETE"),
        ("REJECTED", "REJECTED"), ("CANCELLED", "CANCELLED"), ("Cancelled", "CANCELLED"), ("EXPIRED", "EXPIRED"),
        ("CLOSED", "COMPLETE"), ("TRIGGERED", "OPEN"), ("CONFIRM", "OPEN"), ("half done", "HALF DONE"),
    ],
)  # fmt: skip
def test_the_documented_statuses_are_read_and_an_unknown_one_passes_through(word, ours):
    assert values.STATUSES.read(word) == ours


@every_case(
    ("words", "long", "letter"),
    [
        (values.PRODUCTS, "CNC", "C"), (values.PRODUCTS, "INTRADAY", "I"), (values.PRODUCTS, "MARGIN", "M"),
        (values.PRODUCTS, "MTF", "F"), (values.PRODUCTS, "CO", "V"), (values.PRODUCTS, "BO", "B"),
        (values.ORDER_TYPES, "LIMIT", "LMT"), (values.ORDER_TYPES, "MARKET", "MKT"), (values.ORDER_TYPES, "STOP_LOSS", "SL"),
        (values.ORDER_TYPES, "STOP_LOSS_MARKET", "SLM"), (values.SIDES, "BUY", "B"), (values.SIDES, "SELL", "S"),
    ],
)  # fmt: skip
def test_the_streams_letters_mean_what_the_books_words_mean(words, long, letter):
    assert words.read(long) == words.read(letter)
    assert words.read("xyz") == "XYZ"


def test_every_segment_has_a_feed_number_and_parts():
    named = set(values.SEGMENT_CODES.values())
    assert set(values.SEGMENT_PARTS.values()) == named
    assert values.CASH_SEGMENTS | values.LOT_SEGMENTS | {values.INDEX_SEGMENT} < named
    assert 6 not in values.SEGMENT_CODES


def test_a_token_is_segment_and_id():
    token = values.token("NSE_EQ", 1333)
    assert (token, values.segment(token), values.security_id(token)) == ("NSE_EQ:1333", "NSE_EQ", "1333")


@pytest.mark.parametrize(
    ("exchange", "other", "kind"),
    [("NSE_EQ", None, "EQUITY"), ("IDX_I", None, "INDEX"), ("NSE_FNO", "OPTIDX", "OPTIDX"), ("MCX_COMM", "FUTCOM", "FUTCOM")],
)  # fmt: skip
def test_a_listing_names_its_kind_of_instrument(exchange, other, kind):
    listing = Listing(broker_token="X:1", tradingsymbol="X", exchange=exchange, other_names=other)
    assert values.instrument(listing) == kind


def test_lots_of_an_unknown_size_have_no_units_and_cash_is_always_in_units():
    listing = Listing(
        broker_token="MCX_COMM:1", tradingsymbol="X", exchange="MCX_COMM", other_names="FUTCOM", contract_units=100
    )
    assert values.contract_units("MCX_COMM:1", {"MCX_COMM:1": listing}) == 100
    assert values.contract_units("MCX_COMM:2", {}) is None
    assert values.contract_units("BSE_CURRENCY:2", {}) is None
    assert values.contract_units("NSE_FNO:2", {}) == 1


@pytest.mark.parametrize("value", [None, "", " ", "0001-01-01 00:00:00", "0001-01-01", "1980-01-01 00:00:00"])
def test_what_stands_for_no_time_is_none(value):
    assert values.written_time(value) is None
    assert values.order_time(value) is None


def test_times_are_indian():
    assert values.order_time("2026-11-23 10:01:02") == "2026-11-23T10:01:02+05:30"
