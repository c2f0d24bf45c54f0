"""Shoonya's words: beyond test_value_tables.py, order types without a price, spellings, times and quantities."""

from decimal import Decimal

import pytest

from onebroker.brokers.records import Listing
from onebroker.brokers.requests import BadAnswer
from onebroker.brokers.shoonya import values
from onebroker.config.vocabulary import OrderType


def test_orders_without_a_price_are_read_but_never_sent():
    assert values.ORDER_TYPES.sent == {OrderType.LIMIT, OrderType.SL}
    assert [values.ORDER_TYPES.read(word) for word in ("MKT", "SL-MKT")] == [OrderType.MARKET, OrderType.SL_M]


@pytest.mark.parametrize(
    ("word", "ours"),
    [
        ("TRIGGER_PENDING", "PENDING"),
        ("Trigger Pending", "PENDING"),
        ("CANCEL_PENDING", "OPEN"),
        ("CANCELED", "CANCELLED"),
        ("INVALID_STATUS_TYPE", "REJECTED"),
        ("Something_New", "SOMETHING_NEW"),
    ],
)
def test_a_status_is_read_in_any_spelling_and_unknown_ones_pass_through(word, ours):
    assert values.status(word) == ours


def test_unknown_words_pass_through_upper_cased():
    assert (values.VALIDITIES.read("eos"), values.PRODUCTS.read("z"), values.ORDER_TYPES.read("2L")) == (
        "EOS",
        "Z",
        "2L",
    )


@pytest.mark.parametrize("written", ["19:59:32 13-12-2020", "13-12-2020 19:59:32"])
def test_a_time_is_read_in_both_orders(written):
    assert values.moment(written).isoformat() == "2020-12-13T19:59:32+05:30"


@pytest.mark.parametrize(
    "nothing", [None, "", 5, "01-01-1980 00:00:00", "19:59:32", "13-12-2020", "99:99:99 13-12-2020"]
)
def test_what_is_no_time_is_none(nothing):
    assert values.moment(nothing) is None


def test_the_first_field_that_is_a_time_counts():
    row = {"exch_tm": "01-01-1980 00:00:00", "ordenttm": "1607869772"}
    assert values.iso_time(row, "exch_tm", "ordenttm") == "2020-12-13T19:59:32+05:30"
    assert values.iso_time(row, "exch_tm") is None
    assert values.iso_time({"ordenttm": "1e99"}, "ordenttm") is None


def test_units_are_as_listed_then_as_the_row_says_then_unknown(listings):
    row = {"prcftr": "7.000000"}
    assert values.factor(row, "NSE", "NSE|1", {}) == 1
    assert values.factor(row, "CDS", "CDS|17274", listings) == 1000
    assert values.factor(row, "MCX", "MCX|477176", listings) == Decimal("0.1")
    assert values.factor(row, "MCX", "MCX|nobody", listings) == 7
    assert values.factor({}, "MCX", "MCX|nobody", listings) is None
    unknown = Listing(broker_token="MCX|3", tradingsymbol="X", exchange="MCX", contract_units=None)
    assert values.factor({"prcftr": "0"}, "MCX", "MCX|3", {"MCX|3": unknown}) is None


def test_quantities_become_whole_units_or_nothing():
    assert values.in_units("30", Decimal("0.1")) == 3
    assert values.in_units("-2", Decimal(1000)) == -2000
    assert values.in_units(None, Decimal(5)) == 0
    assert values.in_units("5", None) == 5
    with pytest.raises(BadAnswer):
        values.in_units("25", Decimal("0.1"))
    assert [values.contract_units(each) for each in (None, Decimal(100), Decimal("0.1"))] == [None, 100, 1]
