"""Put-call ratios, max pain and the forward by parity."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.actors.chain.documents import Cell, Row
from onebroker.actors.chain.forward import parity_forward
from onebroker.actors.chain.greeks import premium
from onebroker.actors.chain.totals import max_pain, totals

UNITS = st.integers(0, 10**7)


def cell(kind, strike, **figures):
    return Cell(instrument_id=f"{kind}{strike}", **figures)


def row(strike, call=None, put=None):
    return Row(
        strike_price=strike,
        ce=None if call is None else cell("CE", strike, **call),
        pe=None if put is None else cell("PE", strike, **put),
    )


@given(st.dictionaries(st.integers(1, 400).map(lambda n: n * 50.0), st.tuples(UNITS, UNITS), min_size=1, max_size=30))
def test_max_pain_is_where_all_open_options_are_worth_the_least(interest):
    interest = dict(sorted(interest.items()))

    def worth(at):
        return sum(call * max(0, at - k) + put * max(0, k - at) for k, (call, put) in interest.items())

    found = max_pain(interest)
    if not any(call + put for call, put in interest.values()):
        assert found is None
    else:
        assert found == min(interest, key=lambda strike: (worth(strike), strike))


def test_ratios_count_only_strikes_whose_two_figures_are_known():
    rows = [
        row(100.0, {"oi": 10, "volume": 4}, {"oi": 30, "volume": 2}),
        row(110.0, {"oi": 1000}, {"volume": 50}),
        row(120.0, {"oi": 20, "volume": 6}, {"oi": 15, "volume": 3}),
        row(130.0, None, {"oi": 7}),
    ]
    found = totals(rows, 112.0, {"CE110.0": 5.25, "PE110.0": 3.5})
    assert (found.pcr_oi, found.pcr_volume) == (1.5, 0.5)
    assert (found.strikes_with_oi, found.strikes_with_volume) == (2, 2)
    assert (found.atm_strike, found.straddle_price, found.missing) == (110.0, 8.75, {})


def test_what_is_not_known_is_null_with_its_reason_and_never_zero():
    found = totals([row(100.0, {}, {})], None, {})
    assert (found.pcr_oi, found.pcr_volume, found.max_pain, found.atm_strike, found.straddle_price) == (None,) * 5
    assert set(found.missing) == {"pcr_oi", "pcr_volume", "max_pain", "atm_strike", "straddle_price"}
    found = totals([row(100.0, {"oi": 0}, {"oi": 0})], 101.0, {})
    assert (found.pcr_oi, found.max_pain, found.straddle_price) == (None, None, None)
    assert found.missing["straddle_price"]


@pytest.mark.parametrize("rate", [0.0, 0.065])
def test_parity_gives_the_forward_even_with_some_wild_prices(rate):
    years = 0.1
    pairs = {
        float(strike): tuple(premium(call, 26_033.0, strike, years, rate, 0.13) for call in (True, False))
        for strike in range(25_500, 26_550, 50)
    }
    assert parity_forward(pairs, years, rate) == pytest.approx(26_033.0)
    pairs[26_000.0] = (pairs[26_000.0][0] + 40, pairs[26_000.0][1])
    assert parity_forward(pairs, years, rate) == pytest.approx(26_033.0)
    assert parity_forward({}, years, rate) is None
    assert parity_forward({100.0: (0.05, 200.0)}, years, rate) is None
    assert math.isfinite(parity_forward({100.0: (0.05, 3.0)}, years, rate))
