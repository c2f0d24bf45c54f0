"""The prices that brokers report on holdings and positions."""

import math


def price_or_none(value: float | None) -> float | None:
    """Return a reported price, or None when it is absent, not a finite number, or not above zero (zero means no price)."""
    return value if value is not None and math.isfinite(value) and value > 0 else None
