"""The forward price of the underlying for an expiry: from the future of that expiry, else from put-call parity. Pure.

Parity: call - put = exp(-rate T) (F - K) at each strike. The strikes nearest to the money say it best, because both their options trade.
"""

import math
from collections.abc import Mapping
from heapq import nsmallest
from statistics import median

MOST_STRIKES = 5
"""Of the strikes whose call and put cost most nearly the same, the median of so many forwards counts."""

NO_PAIR = "neither the future of this expiry nor a call and a put of one strike have a price"


def parity_forward(pairs: Mapping[float, tuple[float, float]], years: float, rate: float) -> float | None:
    """Return the forward from strike -> price of call and put, in rupees; None without any pair."""
    if not pairs:
        return None
    near = nsmallest(MOST_STRIKES, pairs.items(), key=lambda pair: (abs(pair[1][0] - pair[1][1]), pair[0]))
    growth = math.exp(rate * years)
    forward = median(strike + growth * (call - put) for strike, (call, put) in near)
    return forward if forward > 0 else None
