"""Counts requests by the path of the route table, and how long their answers took to begin."""

from collections import Counter
from collections.abc import Iterable

from prometheus_client.core import Metric

from onebroker.actors.kernel.durations import Durations
from onebroker.http.metrics import names

BOUNDS = (0.01, 0.1, 1.0, 5.0)
"""Seconds. Few bounds: there is a histogram for each path."""
UNKNOWN = "unknown"
"""The path of a request that no route serves."""
METHODS = frozenset({"GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"})
OTHER = "other"
"""Any other method: a client may send any word."""


class RequestCounts:
    """What was asked since the start of the process."""

    def __init__(self) -> None:
        self._answers: Counter[tuple[str, str, str]] = Counter()
        """(route, method, status) -> requests."""
        self._took: dict[str, Durations] = {}
        """Route -> how long."""

    def answered(self, route: str | None, method: str, status: int, seconds: float) -> None:
        """Count a request. `route`: the path as the table writes it; None for a path that is not there."""
        path = route or UNKNOWN
        self._answers[path, method if method in METHODS else OTHER, str(status)] += 1
        took = self._took.get(path)
        if took is None:
            took = self._took[path] = Durations(BOUNDS)
        took.add(seconds)

    def collect(self) -> Iterable[Metric]:
        yield names.REQUESTS.family(self._answers.items())
        yield names.REQUEST_TIME.histogram(((path,), took) for path, took in self._took.items())
