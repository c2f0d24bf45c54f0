"""The guard against guessing the API secret or the metrics token. Each try waits longer, the more tries of the last
minute were wrong.

Right credentials wait too: otherwise a guesser who stops at the first sign of a wait would learn from it. A thousand
connections at once gain a guesser nothing that matters against the least length of a secret (`config.network_exposure`).
"""

import logging
from collections import deque

import trio

from onebroker.http.listener.minute_log import MinuteLog
from onebroker.http.metrics import Metric

STEP_SECONDS = 0.05
"""What each wrong try of the last minute adds to the wait."""
MOST_SECONDS = 2.0
FORGOTTEN_SECONDS = 60.0

_log = logging.getLogger("onebroker.http.auth")


class ConnectGuard:
    """Counts wrong tries of one kind, by trio's clock."""

    def __init__(
        self,
        *,
        said: str = "connects with a wrong API key or secret were refused",
        metric: str = "onebroker_connects_refused_total",
        doc: str = "Connects with a wrong API key or secret.",
    ) -> None:
        """`said` is the log line; the count and the last peer follow it. `metric` and `doc` name the counter."""
        self._said, self._metric, self._doc = said, metric, doc
        self._wrong: deque[float] = deque(maxlen=round(MOST_SECONDS / STEP_SECONDS))
        self.log = MinuteLog(_log, now=trio.current_time)

    def refused(self, peer: str) -> None:
        """Count a wrong try from `peer`."""
        self._wrong.append(trio.current_time())
        self.log.note(self._said, peer)

    async def wait(self) -> None:
        """Wait as long as the wrong tries of the last minute require."""
        oldest = trio.current_time() - FORGOTTEN_SECONDS
        while self._wrong and self._wrong[0] <= oldest:
            self._wrong.popleft()
        if self._wrong:
            await trio.sleep(min(STEP_SECONDS * len(self._wrong), MOST_SECONDS))

    def metrics(self) -> list[Metric]:
        return [
            Metric(
                name=self._metric,
                kind="counter",
                doc=self._doc,
                samples=(({}, float(self.log.total)),),
            )
        ]


def metrics_guard() -> ConnectGuard:
    """Return a guard for the metrics token; guesses of this token delay no connect."""
    return ConnectGuard(
        said="readings of the metrics with a wrong token were refused",
        metric="onebroker_metrics_refused_total",
        doc="Readings of the metrics with a wrong metrics token.",
    )
