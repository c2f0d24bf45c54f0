"""Amounts in whole units: exact on the decimals a number is written with, whichever way they are worked out."""

import math
from decimal import ROUND_HALF_UP, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.config.money import paise, scaled


def by_hand(value, places):
    return int(Decimal(repr(value)).scaleb(places).quantize(Decimal(1), ROUND_HALF_UP))


@given(value=st.floats(-1e15, 1e15), places=st.sampled_from([0, 2, 4, 8]))
def test_any_number_is_scaled_as_its_written_decimals_are(value, places):
    assert scaled(value, places) == by_hand(value, places)


@given(units=st.integers(-(10**16), 10**16), places=st.sampled_from([2, 4, 8]))
def test_a_number_written_with_no_more_decimals_is_scaled_exactly(units, places):
    value = units / 10**places
    assert scaled(value, places) == by_hand(value, places)


@pytest.mark.parametrize(
    ("rupees", "whole"), [(0.005, 1), (-0.005, -1), (1.005, 101), (2.675, 268), (-0.0, 0), (7, 700)]
)
def test_halves_go_away_from_zero(rupees, whole):
    assert paise(rupees) == whole


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_no_number_is_never_an_amount(value):
    with pytest.raises((ValueError, ArithmeticError)):
        scaled(value, 2)


@pytest.mark.parametrize(("value", "amount"), [(1e24, 10**28), (-3e200, -3 * 10**204), (5e-324, 0)])
def test_no_number_that_a_broker_may_write_is_too_large_to_be_scaled(value, amount):
    assert scaled(value, 4) == amount
