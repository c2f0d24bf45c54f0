"""Black-76: the premium of an option on a forward (order-engine 1.4, option_model). Pure."""

import math
from datetime import datetime

import attrs

from onebroker.actors.chain.greeks import undiscounted

DAY_SECONDS = 86_400.0
YEAR_DAYS = 365.0


@attrs.frozen(kw_only=True)
class Option:
    """An option's own terms."""

    strike: float
    """Rupees."""
    call: bool
    expires: datetime
    """15:30 India time of the expiry day."""


def years_left(option: Option, now: float) -> float:
    """Return the calendar time from `now` (epoch seconds) to the expiry, in years of 365 days; 0 after the expiry."""
    return max(0.0, (option.expires.timestamp() - now) / DAY_SECONDS / YEAR_DAYS)


def forward_of_spot(spot: float, rate: float, years: float) -> float:
    """Return the forward of a watched instrument that is not a future; `rate` as a fraction a year."""
    return spot * math.exp(rate * years)


def premium(option: Option, forward: float, *, volatility: float, rate: float, years: float) -> float:
    """Return the premium in rupees; `volatility` and `rate` as fractions a year.

    With no time left or no volatility, the premium is the discounted value of an exercise at the forward.
    """
    strike, discount = option.strike, math.exp(-rate * years)
    spread = volatility * math.sqrt(years)
    if spread <= 0 or forward <= 0:
        inner = forward - strike if option.call else strike - forward
        return discount * max(0.0, inner)
    return discount * undiscounted(option.call, forward, strike, spread)
