"""Fyers' value tables beyond test_value_tables.py; tokens, tags, times, units of a lot."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.brokers.fyers import values
from onebroker.brokers.records import Listing
from onebroker.brokers.requests import BadAnswer
from tests.support.every_case import every_case


def test_every_segment_has_an_exchange():
    assert set(values.SEGMENTS.values()) == set(values.EXCHANGES)
    assert set(values.EXCHANGES) >= values.LOT_SEGMENTS | values.CASH_SEGMENTS


@every_case(
    ("number", "ours"),
    [(1, "CANCELLED"), (2, "COMPLETE"), (3, "3"), (4, "PENDING"), (5, "REJECTED"), (6, "OPEN"), ("6", "OPEN"),
     (7, "EXPIRED"), ("half done", "HALF DONE")],
)  # fmt: skip
def test_the_documented_statuses_are_read_from_a_number_or_its_digits(number, ours):
    assert values.STATUSES.read(number) == ours


def test_sides_and_order_types_are_read_from_a_number_or_its_digits():
    assert [values.SIDES.read(number) for number in (1, -1, "1", "-1")] == ["BUY", "SELL", "BUY", "SELL"]
    assert [values.ORDER_TYPES.read(number) for number in (1, 2, "3", "4")] == ["LIMIT", "MARKET", "SL-M", "SL"]


@pytest.mark.parametrize(
    ("row", "token"),
    [
        ({"fyToken": "10100000003045"}, "nse_cm|3045"),
        ({"fyToken": 10100000003045}, "nse_cm|3045"),
        ({"fyToken": "1120260921565899"}, "mcx_fo|565899"),
        ({"fyToken": 11460, "exchange": 10, "segment": 10}, "nse_cm|11460"),
    ],
)
def test_a_fytoken_is_a_segment_and_the_exchanges_token(row, token):
    assert values.broker_token(row, "fyToken") == token


@pytest.mark.parametrize(
    ("row", "token"),
    [
        ({"fyToken": "99990000001"}, "9999|1"),
        ({"fyToken": 11460}, "|11460"),
        ({"fyToken": "", "symbol": "NSE:X-EQ", "exchange": 10, "segment": 10}, "nse_cm|NSE:X-EQ"),
    ],
)
def test_a_row_of_no_instrument_of_ours_still_has_a_name(row, token):
    assert values.broker_token(row, "fyToken") == token


@pytest.mark.parametrize("row", [{}, {"fyToken": ""}])
def test_a_row_without_token_and_symbol_is_a_bad_answer(row):
    with pytest.raises(BadAnswer):
        values.broker_token(row, "fyToken")


@every_case(
    ("written", "ours"),
    [("1:Ordertag", "Ordertag"), ("2:Untagged", None), ("1:Untagged", None), ("2:internal", None), ("1:", None),
     ("plain", "plain"), ("", None), (None, None)],
)  # fmt: skip
def test_a_tag_is_the_callers_own_or_none(written, ours):
    assert values.tag(written) == ours


@every_case(
    ("written", "ours"),
    [
        ("09-Mar-2023 09:34:38", "2023-03-09T09:34:38+05:30"), ("18-DEC-2023 13:51:30", "2023-12-18T13:51:30+05:30"),
        ("01-Jan-1970 05:30:00", None), ("NA", None), ("", None), (None, None), (7, None), ("31-Feb-2023 00:00:00", None),
        ("09-Foo-2023 09:34:38", None), ("2023-03-09 09:34:38", None),
    ],
)  # fmt: skip
def test_times_are_indian_and_no_time_is_none(written, ours):
    assert values.stamp(written) == ours


@given(st.text(max_size=30))
def test_no_text_whatever_makes_a_reader_raise(text):
    values.stamp(text)
    values.tag(text)


def test_lots_of_an_unknown_size_have_no_units_and_cash_is_always_in_units():
    listing = Listing(broker_token="mcx_fo|1", tradingsymbol="MCX:X", exchange="MCX", contract_units=100)
    assert values.contract_units("mcx_fo|1", {"mcx_fo|1": listing}) == 100
    assert values.contract_units("mcx_fo|2", {}) is None
    assert values.contract_units("cde_fo|2", {}) is None
    assert values.contract_units("nse_fo|2", {}) == 1
