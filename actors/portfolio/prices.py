"""Prices as brokers report them on holdings and positions."""

import math


def price_or_none(value: float | None) -> float | None:
    """Return a reported price, or None where it is absent, no finite number, or the zero that stands for no price."""
    return value if value is not None and math.isfinite(value) and value > 0 else None
