"""Reading a broker's fields: what is no number, text, time or row is never taken for one, and nothing is made up."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.brokers.codec import fields
from onebroker.brokers.records import DepthLevel, Listing
from onebroker.brokers.requests import BadAnswer
from onebroker.config.clock import from_epoch
from onebroker.config.vocabulary import OrderStatus, is_finished
from tests.support.every_case import every_case

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


# --- numbers and texts -------------------------------------------------------------------------------------------------


@every_case(
    ("given_", "expected"),
    [(1, 1.0), ("1,234.5", 1234.5), (" 7 ", 7.0), ("-0.05", -0.05), (0, 0.0), ("", None), ("  ", None), ("NA", None),
     (None, None), (True, None), ("nan", None), ("inf", None), (float("nan"), None), (10**400, None), ([], None), ({}, None)],
)  # fmt: skip
def test_a_number_that_is_none_is_none_and_never_zero(given_, expected):
    assert fields.number(given_) == expected


def test_a_price_of_zero_is_none_and_a_negative_one_stands():
    assert (fields.price("0.00"), fields.price(0), fields.price(-37.63), fields.price("12.5")) == (
        None,
        None,
        -37.63,
        12.5,
    )


def test_a_quantity_nobody_gave_is_zero_and_what_is_no_whole_number_is_a_bad_answer():
    assert [fields.whole(value) for value in (None, "", "NA", "--", "1,000", 5.0, -3)] == [0, 0, 0, 0, 1000, 5, -3]
    for value in (1.5, "many", "nan", True, [], {}, [1], 1e30, 2**63, "inf"):
        for read in (fields.whole, fields.counted):
            with pytest.raises(BadAnswer):
                read(value)


def test_a_quantity_without_which_a_row_means_nothing_must_be_given():
    assert fields.quantity({"qty": "7"}, "qty") == fields.quantity({"Qty": 7}, "qty", "Qty") == 7
    for row in ({}, {"qty": None}, {"qty": " "}, {"qty": "NA"}, {"qty": "-"}, {"qty": [7]}):
        with pytest.raises(BadAnswer):
            fields.quantity(row, "qty")
    with pytest.raises(BadAnswer, match="below zero"):
        fields.unsigned({"qty": -1}, "qty")


def test_what_has_filled_may_be_left_out_only_where_nothing_can_have():
    assert [fields.filled({}, "filled", status) for status in (OrderStatus.PENDING, OrderStatus.REJECTED)] == [0, 0]
    for status in (OrderStatus.OPEN, OrderStatus.COMPLETE, OrderStatus.CANCELLED, OrderStatus.EXPIRED, "HALF DONE"):
        assert fields.filled({"filled": "0"}, "filled", status) == 0
        with pytest.raises(BadAnswer):
            fields.filled({"filled": None}, "filled", status)


@pytest.mark.parametrize(
    ("given_", "expected"),
    [
        (None, None),
        ("", None),
        ("  ", None),
        (0, "0"),
        (408065, "408065"),
        ("NSE ", "NSE "),
        (["123"], None),
        ({}, None),
    ],
)
def test_a_text_is_kept_as_it_is_and_a_blank_one_is_none(given_, expected):
    assert fields.text(given_) == expected


@given(anything)
def test_whatever_comes_reading_it_answers_or_gives_none(value):
    read = fields.number(value)
    assert read is None or isinstance(read, float)
    text = fields.text(value)
    assert text is None or text.strip()
    assert fields.moment(value) is None or isinstance(value, str)
    assert fields.milliseconds(value) is None or read > 0


@given(st.lists(st.integers(-(10**9), 10**9)))
def test_rupees_are_added_exactly_in_any_order(amounts):
    figures = [amount / 100 for amount in amounts]
    expected = round(sum(amounts) / 100, 2) if amounts else None
    assert fields.rupee_sum([*figures, None]) == fields.rupee_sum(["", *reversed(figures)]) == expected


def test_figures_of_which_none_is_given_have_no_sum():
    assert fields.rupee_sum([None, "", "NA"]) is None
    assert fields.rupee_sum(["0.1", 0.2, None]) == 0.3


# --- times -------------------------------------------------------------------------------------------------------------


@every_case(
    ("given_", "expected"),
    [
        ("2021-05-31 09:18:57", "2021-05-31T09:18:57+05:30"),
        ("2023-10-19T05:21:51+05:30", "2023-10-19T05:21:51+05:30"),
        (" 2023-10-19T05:21:51Z ", "2023-10-19T05:21:51+00:00"),
        *((no_time, None) for no_time in ("", "  ", "09:18:57", "2021-05-31", "2021-13-31 09:18:57", "2021-05-31 25:00:00",
                                           "31-May-2021 09:18:57", None, 0, 1622432937, [])),
    ],
)  # fmt: skip
def test_times_are_indian_where_they_name_no_offset_and_what_is_no_time_is_none(given_, expected):
    assert fields.iso_time(given_) == expected
    assert fields.epoch(given_) == (None if expected is None else datetime.fromisoformat(expected).timestamp())


@given(st.integers(631_152_000, 4_102_444_800))
def test_a_naive_time_is_the_wall_time_of_india(seconds):
    written = f"{from_epoch(seconds):%Y-%m-%d %H:%M:%S}"
    assert fields.epoch(written) == seconds
    assert fields.moment(fields.iso_time(written)) == fields.moment(written)
    assert fields.moment(written).utcoffset() == timedelta(hours=5, minutes=30)


@pytest.mark.parametrize(
    ("given_", "expected"),
    [
        ("1697624972130", 1697624972.13),
        (1697624972130, 1697624972.13),
        ("0", None),
        (-1, None),
        (None, None),
        ("x", None),
    ],
)
def test_milliseconds_become_seconds_and_zero_is_no_time(given_, expected):
    assert fields.milliseconds(given_) == expected


@every_case("seconds", [0, -1, 4_102_444_800, "4102444800", 1e300, "x", True, None])
def test_what_lies_before_1970_or_after_2099_is_no_time_in_any_unit(seconds):
    assert fields.epoch_seconds(seconds) is None
    assert isinstance(seconds, str | bool | None) or fields.milliseconds(seconds * 1000) is None


def test_the_last_second_of_2099_is_a_time_in_every_unit():
    assert fields.epoch_seconds("4102444799") == fields.milliseconds(4_102_444_799_000) == 4_102_444_799.0


# --- rows --------------------------------------------------------------------------------------------------------------


def test_rows_come_in_a_list_and_null_is_none_of_them():
    assert fields.rows_of(None) == []
    assert fields.rows_of([{"a": 1}]) == [{"a": 1}]
    for wrong in ({}, "x", 1):
        with pytest.raises(BadAnswer):
            fields.rows_of(wrong)
    for wrong in (None, [], "x"):
        with pytest.raises(BadAnswer):
            fields.row_of(wrong)


def test_an_absent_part_is_empty_and_one_that_is_no_object_is_a_bad_answer():
    assert fields.part({}, "ohlc") == fields.part({"ohlc": None}, "ohlc") == {}
    assert fields.part({"ohlc": {"open": 1}}, "ohlc") == {"open": 1}
    with pytest.raises(BadAnswer):
        fields.part({"ohlc": [1]}, "ohlc")


def test_a_required_field_is_the_first_of_its_spellings_that_is_filled():
    assert (
        fields.required({"trading_symbol": " ", "tradingsymbol": "SBIN"}, "trading_symbol", "tradingsymbol") == "SBIN"
    )
    assert fields.required({"token": 0}, "token") == "0"
    with pytest.raises(BadAnswer, match="a row without order_id"):
        fields.required({"order_id": ""}, "order_id", "orderId")


# --- units -------------------------------------------------------------------------------------------------------------


def test_units_of_a_contract_that_is_not_listed_or_not_known_are_none():
    known = Listing(broker_token="1", tradingsymbol="GOLDM", exchange="MCX", contract_units=10)
    unknown = Listing(broker_token="2", tradingsymbol="XYZ", exchange="MCX", contract_units=None)
    listings = {"1": known, "2": unknown}
    assert [fields.listed_units(token, listings) for token in "123"] == [10, None, None]


def test_a_quantity_is_in_units_only_where_it_is_given_and_the_units_are_known():
    row = {"volume": "12", "oi": None}
    assert fields.in_units(row, "volume", 10) == 120
    assert [fields.in_units(row, name, units) for name, units in (("volume", None), ("oi", 10), ("buy", 10))] == [
        None
    ] * 3


def test_empty_levels_are_left_out_and_no_depth_is_none():
    rows = [
        {"price": 10.5, "quantity": 3, "orders": 2},
        {"price": 0, "quantity": 0},
        {"price": 0, "quantity": 5},
        {"quantity": 5},
    ]
    assert fields.depth_levels(rows, 10) == (DepthLevel(10.5, 30, 2),)
    assert fields.depth_levels([], 10) == ()
    assert fields.depth_levels(None, 10) is None
    assert fields.depth_levels(rows, None) is None


@given(st.sampled_from([*OrderStatus, "HALF DONE"]), st.integers(0, 100), st.integers(0, 120))
def test_what_is_not_filled_is_pending_or_cancelled_but_never_both(status, quantity, filled):
    if status == OrderStatus.COMPLETE and filled != quantity:
        with pytest.raises(BadAnswer):
            fields.unfilled(status, quantity, filled)
        return
    pending, cancelled = fields.unfilled(status, quantity, filled)
    assert min(pending, cancelled) == 0 <= pending + cancelled
    if not is_finished(status):
        assert (pending, cancelled) == (max(quantity - filled, 0), 0)
    elif status in (OrderStatus.CANCELLED, OrderStatus.EXPIRED):
        assert cancelled == max(quantity - filled, 0)
    else:
        assert cancelled == 0
