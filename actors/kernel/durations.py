"""Counts durations by length, as a histogram shows them. Plain numbers: adding a duration takes less than a microsecond and never waits."""

from bisect import bisect_left
from collections.abc import Iterator


class Durations:
    """Durations in seconds. Added by one task at a time, read by everybody."""

    def __init__(self, bounds: tuple[float, ...]) -> None:
        """`bounds`: the upper bounds of the buckets in seconds, ascending."""
        self.bounds = bounds
        self.total_seconds = 0.0
        self._counts = [0] * (len(bounds) + 1)

    def add(self, seconds: float) -> None:
        self._counts[bisect_left(self.bounds, seconds)] += 1
        self.total_seconds += seconds

    @property
    def count(self) -> int:
        return sum(self._counts)

    def up_to(self) -> Iterator[tuple[float, int]]:
        """Yield each bound with the number of durations that were not longer; last infinity with the number of all."""
        number = 0
        for bound, count in zip((*self.bounds, float("inf")), self._counts, strict=True):
            number += count
            yield bound, number
