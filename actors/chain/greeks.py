"""The premium and the greeks of Black-76. Pure. Prices in rupees, volatility and rate as fractions a year, time in years of 365 days.

With F the forward, K the strike, T the years, D = exp(-rate T), s = volatility sqrt(T), d1 = ln(F/K)/s + s/2 and d2 = d1 - s:
a call is worth D (F N(d1) - K N(d2)), a put D (K N(-d2) - F N(-d1)). The greeks are derivatives of this with the forward held. Source: F. Black, "The
pricing of commodity contracts", Journal of Financial Economics 3 (1976).
"""

import math

import msgspec

_ROOT_TWO = math.sqrt(2.0)
_ROOT_TWO_PI = math.sqrt(2.0 * math.pi)
YEAR_DAYS = 365.0


class Greeks(msgspec.Struct, frozen=True, gc=False):
    delta: float
    """Rupees of premium for a rupee of the forward."""
    gamma: float
    """Delta for a rupee of the forward."""
    theta: float
    """Rupees of premium for one calendar day that passes."""
    vega: float
    """Rupees of premium for one percentage point of volatility."""
    rho: float
    """Rupees of premium for one percentage point of the rate."""


def normal_cdf(x: float) -> float:
    """Return the standard normal distribution function; exact far into the tails."""
    return 0.5 * math.erfc(-x / _ROOT_TWO)


def normal_density(x: float) -> float:
    return math.exp(-0.5 * x * x) / _ROOT_TWO_PI


def premium(call: bool, forward: float, strike: float, years: float, rate: float, volatility: float) -> float:
    """Return the premium. `forward`, `strike`, `years` and `volatility` above 0."""
    return math.exp(-rate * years) * undiscounted(call, forward, strike, volatility * math.sqrt(years))


def undiscounted(call: bool, forward: float, strike: float, spread: float) -> float:
    """Return the premium at the expiry's money; `spread` is volatility times the root of the years, above 0."""
    d1 = math.log(forward / strike) / spread + 0.5 * spread
    d2 = d1 - spread
    if call:
        return forward * normal_cdf(d1) - strike * normal_cdf(d2)
    return strike * normal_cdf(-d2) - forward * normal_cdf(-d1)


def greeks(call: bool, forward: float, strike: float, years: float, rate: float, volatility: float) -> Greeks:
    """Return the greeks. `forward`, `strike`, `years` and `volatility` above 0."""
    root = math.sqrt(years)
    spread, discount = volatility * root, math.exp(-rate * years)
    d1 = math.log(forward / strike) / spread + 0.5 * spread
    d2 = d1 - spread
    density = discount * normal_density(d1)
    if call:
        exercised = discount * normal_cdf(d1)
        value = forward * exercised - strike * discount * normal_cdf(d2)
    else:
        exercised = -discount * normal_cdf(-d1)
        value = forward * exercised + strike * discount * normal_cdf(-d2)
    return Greeks(
        delta=exercised,
        gamma=density / (forward * spread),
        theta=(rate * value - forward * density * volatility / (2.0 * root)) / YEAR_DAYS,
        vega=forward * density * root / 100.0,
        rho=-years * value / 100.0,
    )
