"""Amounts in whole units: exact on the decimals a number is written with, whichever way they are worked out."""

import math
from decimal import ROUND_HALF_UP, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.config.money import as_meant, on_tick, paise, round_half_up, scaled, value_paise


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


prices = st.one_of(
    st.floats(-1e15, 1e15),
    st.floats(-1e4, 1e4).map(lambda price: round(price, 5)),
    st.integers(-(10**9), 10**9).map(lambda ticks: ticks / 20),
    st.integers(-(10**9), 10**9).map(lambda units: units / 10**4),
)


@given(price=prices, quantity=st.one_of(st.integers(-(10**6), 10**6), st.integers(-(10**15), 10**15)))
def test_a_value_is_the_written_price_times_the_units_to_the_paisa(price, quantity):
    exactly = Decimal(repr(price)) * quantity if abs(price) < 1e12 and abs(quantity) < 10**12 else None
    if exactly is not None:
        assert value_paise(quantity, price) == int(exactly.scaleb(2).to_integral_value(ROUND_HALF_UP))
    assert value_paise(-quantity, price) == -value_paise(quantity, price)


@given(value=prices, places=st.sampled_from([2, 4]))
def test_a_shown_price_is_the_nearest_double_of_its_rounded_decimals(value, places):
    shown = round_half_up(value, places)
    assert shown == float(Decimal(repr(value)).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP))
    assert math.copysign(1, shown) == math.copysign(1, value) or shown == 0


@pytest.mark.parametrize(
    ("quantity", "price", "whole"), [(1, 0.005, 1), (-1, 0.005, -1), (3, 0.0025, 1), (5, 0.001, 1)]
)
def test_halves_of_a_value_go_away_from_zero(quantity, price, whole):
    assert value_paise(quantity, price) == whole


TICKS = [Decimal(tick) for tick in ("0.01", "0.05", "0.10", "0.50", "1", "5", "0.0025")]


@given(count=st.integers(-10_000_000, 10_000_000), tick=st.sampled_from(TICKS), off=st.integers(-9, 9))
def test_a_number_within_a_billionth_of_a_tick_is_that_tick(count, tick, off):
    meant = count * tick
    assert on_tick(meant + off * Decimal("1e-10"), tick) == (meant if count or not off else None)


@given(
    count=st.integers(-10_000_000, 10_000_000), tick=st.sampled_from(TICKS), part=st.decimals("0.02", "0.98", places=4)
)
def test_a_part_of_a_tick_is_no_tick(count, tick, part):
    assert on_tick((count + part) * tick, tick) is None


@given(count=st.integers(1, 10**9), tick=st.sampled_from(TICKS))
def test_every_multiple_in_doubles_means_its_tick(count, tick):
    exact = count * tick
    for computed in (count * float(tick), float(tick) * (count - 1) + float(tick), float(exact) * 1.1 / 1.1):
        assert on_tick(Decimal(repr(computed)), tick) == exact
        assert as_meant(computed) == exact


@pytest.mark.parametrize(
    ("value", "meant"),
    [
        (0.1 + 0.2, "0.3"),
        (33.333333333, "33.333333333"),
        (1e-10, "1e-10"),
        (-(0.1 + 0.2), "-0.3"),
        (5, "5"),
        (1e300, "1e300"),
    ],
)
def test_a_number_without_a_tick_keeps_the_digits_that_it_means(value, meant):
    assert as_meant(value) == Decimal(meant)


def test_only_zero_is_zero_and_no_tick_is_no_rule():
    assert on_tick(Decimal(0), Decimal("0.05")) == 0
    assert on_tick(Decimal("5e-10"), Decimal("0.05")) is None
    assert on_tick(Decimal("0.123"), Decimal(0)) == Decimal("0.123")
