"""How often a broker may be called: rolling windows of arrival times, as the brokers publish them (`brokers/simulator/world/broker_traits.py`). Also records the arrivals."""

from collections import deque

from onebroker.brokers.simulator.world.broker_traits import Limit
from onebroker.config.clock import Clock

_LENIENCY = 0.95
"""The enforced part of a window. A client that keeps its own windows exactly must not be refused because two of its calls travelled at different
speeds."""

_KEPT = 50_000
"""Arrivals kept for inspection: hours of a busy account."""


class TooManyCalls(Exception):
    """A window is full. The dialect must send its `rate_limited` answer."""


class CallLimits:
    """The windows of one broker. A refused call does not count."""

    def __init__(self, limits: tuple[Limit, ...], clock: Clock, *, day_limits: bool) -> None:
        self._clock = clock
        kept = [limit for limit in limits if day_limits or not limit.daily]
        self._windows = [(limit, deque[float]()) for limit in kept]
        self.calls = deque[float](maxlen=_KEPT)
        """Monotonic seconds at which counted requests arrived, including refused ones."""
        self.orders = deque[float](maxlen=_KEPT)
        """The same for order messages, which are also in `calls`."""
        self.refused = 0

    def count_call(self) -> None:
        """Count one request of any kind; raise TooManyCalls when a window of all calls is full."""
        self.calls.append(self._clock.monotonic())
        self._count(orders_only=False)

    def count_order(self) -> None:
        """Count one order message; raise TooManyCalls when a window of order messages is full."""
        self.orders.append(self._clock.monotonic())
        self._count(orders_only=True)

    def _count(self, *, orders_only: bool) -> None:
        now = self._clock.monotonic()
        concerned = [(limit, times) for limit, times in self._windows if limit.orders_only is orders_only]
        for limit, times in concerned:
            while times and times[0] <= now - limit.seconds * _LENIENCY:
                times.popleft()
            if len(times) >= limit.count:
                self.refused += 1
                raise TooManyCalls(f"{limit.count} calls in {limit.seconds} seconds")
        for _, times in concerned:
            times.append(now)
