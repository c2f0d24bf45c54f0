"""Every rounding rule: paise, prices, ticks, lots (style 10).

There are three zones. Wire and quotes: prices are `float` exactly as parsed, quantities are `int` units. Documents:
rupee sums are added as `int` paise (or ten-thousandths for currency) and become a JSON number at render. Engine, ticks,
lots, charges: `Decimal` made from text or `repr(float)`, never from float arithmetic.
"""

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Decimal
from fractions import Fraction
from typing import Literal

Rounding = Literal["up", "down", "nearest"]
_ROUNDINGS = {"up": ROUND_CEILING, "down": ROUND_FLOOR, "nearest": ROUND_HALF_UP}


_QUICK = 1e14
"""Below this many units, a product of doubles is off by at most a few hundredths of a unit."""
_POWERS = tuple(10**places for places in range(16))
_PRICE_PLACES = 4
"""No market writes its prices with more decimals."""
_FINEST = Decimal(1).scaleb(-_PRICE_PLACES)
_NEAR = Decimal("1e-9")
_LAST_DIGITS = Decimal("1e-15")
_MOST_EXACT = Decimal(10**15)
"""From here on the doubles are so far apart that a number near a tick is no longer the sum of small errors."""


def exact(value: float | str | Decimal) -> Decimal:
    """Return the number as the decimal that was written (`Decimal(repr(x))` for floats)."""
    return value if isinstance(value, Decimal) else Decimal(value if isinstance(value, str) else repr(value))


def scaled(value: float, places: int) -> int:
    """Return `value` in units of 10**-places, rounded half away from zero; the rounding looks at the written decimals."""
    units = _written_units(value, places)
    return int(exact(value).scaleb(places).to_integral_value(ROUND_HALF_UP)) if units is None else units


def _written_units(value: float, places: int) -> int | None:
    """Return `value` in units of 10**-places if it is written with at most that many decimals, otherwise None. None also for very large
    values. This is the quick way of nearly all figures: a twentieth of the time of the decimal way."""
    quick: float = value * _POWERS[places]
    if not -_QUICK < quick < _QUICK:
        return None
    # The nearest whole number of units is the only candidate, and its quotient is correctly rounded, as the reading of its decimals is.
    units = round(quick)
    return units if units / _POWERS[places] == value else None


def unscaled(amount: int, places: int) -> float:
    """Return an integer of 10**-places units as the nearest float (a JSON number)."""
    return amount / float(10**places)


def paise(rupees: float) -> int:
    """Return rupees as whole paise, half away from zero."""
    return scaled(rupees, 2)


def rupees(amount_paise: int) -> float:
    """Return paise as rupees for a JSON number."""
    return amount_paise / 100


def value_paise(quantity: int, price: float) -> int:
    """Return quantity x price in whole paise, half away from zero; `price` is in rupees, exactly as written."""
    units = _written_units(price, _PRICE_PLACES)
    if units is None or not -_QUICK < quantity < _QUICK:
        return int((exact(price) * quantity).scaleb(2).to_integral_value(ROUND_HALF_UP))
    value = units * quantity
    return (value + 50) // 100 if value >= 0 else -((50 - value) // 100)


def quotient(amount: int, count: int, places: int) -> float:
    """Return amount / count rounded to `places` decimals, half away from zero; no float arithmetic comes before the rounding."""
    part = abs(count)
    units = (2 * abs(amount) * 10**places + part) // (2 * part)
    return unscaled(units if (amount < 0) == (count < 0) else -units, places)


def round_half_up(value: float, places: int) -> float:
    """Round a price or rupee figure for display, half away from zero; the rounding looks at the written decimals.

    Raises ValueError for infinite and NaN values: no broker figure may become one.
    """
    if not math.isfinite(value):
        raise ValueError(f"not a finite number: {value}")
    return value if _written_units(value, places) is not None else scaled(value, places) / _POWERS[places]


def is_multiple(value: Decimal, step: Decimal) -> bool:
    """Tell whether `value` is a whole number of `step` (a tick or a lot); a step of zero or less means no rule, so True."""
    # Do not use Decimal's `%`: it fails when the quotient has more digits than its context.
    return step <= 0 or Fraction(value) % Fraction(step) == 0


def on_tick(value: Decimal, tick: Decimal) -> Decimal | None:
    """Return the whole number of ticks that `value` means, exactly; None when it means none. Rupees; a tick of zero or less means no rule.

    A caller computes prices in doubles: `3 * 0.05` is 0.15000000000000002, and a third of all multiples of 0.05 are off like that. So a value
    within 1e-9 of a tick *is* that tick. The distance is absolute. A relative one of 1e-9 would be 0.0001 at an index of 100,000 points,
    and such a number may be typed; one or two operations on doubles are off by far less. Only above a million rupees, where the last
    digits of a double are themselves coarser, the distance grows with the value (1e-15 of it).

    Two bounds keep this from changing an order: it is never more than a hundredth of the tick, so half a tick stays no tick; and nothing but
    zero means zero, because a price of zero is another order.
    """
    if is_multiple(value, tick):
        return value
    if not -_MOST_EXACT < value < _MOST_EXACT:
        return None
    count = round(Fraction(value) / Fraction(tick))
    distance = abs(Fraction(value) - count * Fraction(tick))
    allowed = min(max(_NEAR, _LAST_DIGITS * abs(value)), tick / 100)
    return count * tick if count and distance <= allowed else None


def as_meant(value: float) -> Decimal:
    """Return a finite JSON number as the decimal that its sender means: within 1e-9 of a number with four decimals, that number (`on_tick`),
    because no tick of a market is finer. For numbers that have no tick of their own: a strike, a distance, a percentage."""
    written = Decimal(repr(value))
    if _written_units(value, _PRICE_PLACES) is not None:
        return written  # the quick way of nearly all numbers
    return on_tick(written, _FINEST) or written


def snap(value: Decimal, tick: Decimal, rounding: Rounding) -> Decimal:
    """Return `value` moved to a whole number of `tick`: `up`, `down` or `nearest` (half up)."""
    return (value / tick).quantize(Decimal(1), _ROUNDINGS[rounding]) * tick


def plain(value: Decimal) -> str:
    """Write a decimal without exponent and without trailing zeros: `0.05`, `75`, `100.5`."""
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
