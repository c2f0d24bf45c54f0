"""Black-76's premium and greeks: against vollib's vectors, by put-call parity, and each greek by pricing again beside its point."""

import math
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.actors.chain.greeks import greeks, premium
from onebroker.actors.chain.implied_volatility import NoVolatility, implied_volatility
from tests.support.further import searched

VECTORS = msgspec.json.decode(Path(__file__).parents[2].joinpath("data/black76.json").read_bytes())
CASES = VECTORS["cases"]
NAMES = ("delta", "gamma", "theta", "vega", "rho")


def terms(case):
    return case["call"], case["forward"], case["strike"], case["years"], case["rate"]


def test_the_vectors_hold_forty_cases_as_of_nifty():
    assert VECTORS["nifty_like"] >= 40
    assert all(25_000 < case["forward"] < 27_000 for case in CASES[: VECTORS["nifty_like"]])


@pytest.mark.parametrize("number", range(len(CASES)))
def test_premium_greeks_and_volatility_are_those_of_vollib(number):
    case = CASES[number]
    volatility = case["volatility"]
    assert premium(*terms(case), volatility) == pytest.approx(case["premium"], rel=1e-10, abs=1e-9)
    found = greeks(*terms(case), volatility)
    for name in NAMES:
        assert getattr(found, name) == pytest.approx(case[name], rel=1e-9, abs=1e-12), name
    call, forward, strike, years, rate = terms(case)
    if case["premium"] > 1e-6:
        implied = implied_volatility(call, case["premium"], forward, strike, years, rate)
        assert implied == pytest.approx(case["implied_volatility"], abs=1e-6)


FORWARDS = st.floats(50, 150_000)
MONEY = st.floats(0.7, 1.4)
YEARS = st.floats(1 / 365, 2)
RATES = st.floats(-0.02, 0.1)
VOLATILITIES = st.floats(0.05, 1.5)


@searched(200, 3000)
@given(FORWARDS, MONEY, YEARS, RATES, VOLATILITIES)
def test_call_less_put_is_the_discounted_forward_less_the_strike(forward, money, years, rate, volatility):
    strike = forward * money
    call, put = (premium(kind, forward, strike, years, rate, volatility) for kind in (True, False))
    assert call - put == pytest.approx(math.exp(-rate * years) * (forward - strike), rel=1e-9, abs=1e-9 * forward)


def slope(price, at, step):
    """The derivative by two prices beside the point, better by two further ones (Richardson)."""
    near, far = ((price(at + reach) - price(at - reach)) / (2 * reach) for reach in (step, 2 * step))
    return (4 * near - far) / 3


@searched(200, 3000)
@given(st.booleans(), FORWARDS, MONEY, YEARS, RATES, VOLATILITIES)
def test_each_greek_is_the_change_of_the_premium_beside_its_point(call, forward, money, years, rate, volatility):
    strike = forward * money
    found = greeks(call, forward, strike, years, rate, volatility)
    spread = volatility * math.sqrt(years)

    def of(*, f=forward, t=years, r=rate, v=volatility):
        return premium(call, f, strike, t, r, v)

    close = {"rel": 1e-4, "abs": 1e-6 * forward}
    step = forward * spread * 1e-3
    assert found.delta == pytest.approx(slope(lambda f: of(f=f), forward, step), rel=1e-4, abs=1e-7)
    bent = slope(lambda f: greeks(call, f, strike, years, rate, volatility).delta, forward, step)
    assert found.gamma * forward == pytest.approx(bent * forward, rel=1e-4, abs=1e-6)
    assert found.theta * 365 == pytest.approx(-slope(lambda t: of(t=t), years, years * 1e-3), **close)
    assert found.vega * 100 == pytest.approx(slope(lambda v: of(v=v), volatility, volatility * 1e-3), **close)
    assert found.rho * 100 == pytest.approx(slope(lambda r: of(r=r), rate, 1e-4), **close)


@searched(300, 5000)
@given(st.booleans(), FORWARDS, MONEY, YEARS, RATES, st.floats(0.02, 4))
def test_the_volatility_of_a_premium_is_found_again(call, forward, money, years, rate, volatility):
    strike = forward * money
    price = premium(call, forward, strike, years, rate, volatility)
    exercise = math.exp(-rate * years) * max(0.0, forward - strike if call else strike - forward)
    if price - exercise < 1e-6 * forward:
        return  # its time value is lost in the rounding
    assert implied_volatility(call, price, forward, strike, years, rate) == pytest.approx(volatility, rel=1e-6)


@searched(300, 5000)
@given(st.booleans(), st.floats(0, 200_000), FORWARDS, MONEY, st.floats(0, 2), RATES)
def test_any_price_has_a_volatility_that_gives_it_back_or_a_reason(call, price, forward, money, years, rate):
    strike = forward * money
    try:
        volatility = implied_volatility(call, price, forward, strike, years, rate)
    except NoVolatility:
        return
    assert 0 < volatility <= 10
    assert premium(call, forward, strike, years, rate, volatility) == pytest.approx(price, rel=1e-8, abs=1e-7)


@pytest.mark.parametrize(
    ("call", "price", "years", "reason"),
    [
        (True, 100.0, 0.1, "the price is not above the value at exercise"), (True, 99.0, 0.1, "the price is not above the value at exercise"),
        (False, 0.0, 0.1, "the price is not above the value at exercise"), (True, 1000.0, 0.1, "the price is above the most that the option can be worth"),
        (False, 900.0, 0.1, "the price is above the most that the option can be worth"), (True, 150.0, 0.0, "the option has expired"),
        (True, 990.0, 0.001, "the implied volatility is above 1,000 %"),
    ],
)  # fmt: skip
def test_a_price_that_no_volatility_gives_has_its_reason(call, price, years, reason):
    with pytest.raises(NoVolatility, match=reason):
        implied_volatility(call, price, 1000.0, 900.0, years, 0.0)
