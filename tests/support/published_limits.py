"""Calls as they arrived at the simulated brokers, against the limits that the brokers publish (a broker's `order_windows`, `call_windows`)."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence

import attrs

from onebroker.brokers.broker import Broker

LENGTHS = {"second": 1.0, "minute": 60.0, "half_hour": 1800.0, "hour": 3600.0, "day": 86_400.0}


@attrs.frozen
class Worst:
    """The fullest window of one length."""

    what: str
    """`orders` (places, modifies and cancels) or `calls` (all of them)."""
    window: str
    count: int
    limit: int

    @property
    def kept(self) -> bool:
        return self.count <= self.limit


def most_in(times: Sequence[float], seconds: float) -> int:
    """Return how many arrived within the fullest `seconds`; two exactly so far apart share none."""
    ascending = sorted(times)
    return max((place - bisect_right(ascending, at - seconds) + 1 for place, at in enumerate(ascending)), default=0)


def worst_windows(broker: Broker, arrived: Mapping[str, Sequence[float]]) -> list[Worst]:
    """Return the fullest window of each limit that a broker publishes; `arrived` maps `calls` and `orders` to seconds."""
    found = []
    for what, windows in (("orders", broker.order_windows), ("calls", broker.call_windows)):
        for name, length in LENGTHS.items():
            if (limit := getattr(windows, name)) is not None:
                found.append(Worst(what, name, most_in(arrived[what], length), limit))
    return found


def windows_of(worst: Sequence[Worst], what: str, window: str) -> str:
    """Return one as `7/10`, or `7` where there is no limit of that length."""
    return next((f"{one.count}/{one.limit}" for one in worst if (one.what, one.window) == (what, window)), "–")
