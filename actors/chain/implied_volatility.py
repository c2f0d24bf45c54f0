"""The volatility at which Black-76 gives a premium. Pure.

The price is turned into that of the out-of-the-money option of the same strike (put-call parity), which has no value at exercise that could
hide its time value. Newton's method runs on the logarithm of the price inside a bracket; a step that leaves the bracket is a bisection.
"""

import math

from onebroker.actors.chain.greeks import normal_density, undiscounted

MOST_VOLATILITY = 10.0
"""1,000 % a year; a price above it is an error of the price."""
_MOST_STEPS = 100
_PRECISION = 1e-12
_LEAST_SHARE = 1e-13
"""A time value below this part of the forward and strike is lost in the rounding of the price."""

NO_VALUE = "the price is not above the value at exercise"
TOO_HIGH = "the price is above the most that the option can be worth"
TOO_VOLATILE = "the implied volatility is above 1,000 %"
EXPIRED = "the option has expired"


class NoVolatility(ValueError):
    """There is none; the text says why."""


def implied_volatility(call: bool, price: float, forward: float, strike: float, years: float, rate: float) -> float:
    """Return the volatility as a fraction a year. `forward` and `strike` above 0. Raises NoVolatility."""
    if years <= 0:
        raise NoVolatility(EXPIRED)
    value = price * math.exp(rate * years)
    exercise = max(0.0, forward - strike if call else strike - forward)
    if value >= (forward if call else strike):
        raise NoVolatility(TOO_HIGH)
    outer = value - exercise
    if outer <= _LEAST_SHARE * (forward + strike):
        raise NoVolatility(NO_VALUE)
    spread = _spread(strike >= forward, outer, forward, strike)
    volatility = spread / math.sqrt(years)
    if volatility > MOST_VOLATILITY:
        raise NoVolatility(TOO_VOLATILE)
    return volatility


def _spread(call: bool, outer: float, forward: float, strike: float) -> float:
    """Return volatility times the root of time for the price of an option that is not in the money."""
    low, high = 0.0, 1.0
    while undiscounted(call, forward, strike, high) < outer:
        low, high = high, 2.0 * high
        if high > 64.0:
            raise NoVolatility(TOO_HIGH)
    money = abs(math.log(forward / strike))
    spread = min(high, max(math.sqrt(2.0 * money), outer * math.sqrt(2.0 * math.pi) / min(forward, strike)))
    if not low < spread < high:
        spread = 0.5 * (low + high)
    wanted = math.log(outer)
    for _ in range(_MOST_STEPS):
        price = undiscounted(call, forward, strike, spread)
        if price < outer:
            low = spread
        else:
            high = spread
        slope = forward * normal_density(math.log(forward / strike) / spread + 0.5 * spread)
        if price > 0.0 and slope > 0.0:
            step = (math.log(price) - wanted) * price / slope
            following = spread - step
        else:
            following = low
        if not low < following < high:
            following = 0.5 * (low + high)
        if abs(following - spread) <= _PRECISION * spread:
            return following
        spread = following
    return spread
