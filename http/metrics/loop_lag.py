"""Measures how late the event loop wakes a task: everything of the service runs on this loop, and waits as long."""

from collections.abc import Iterable

import trio
from prometheus_client.core import Metric

from onebroker.actors.kernel.durations import Durations
from onebroker.http.metrics import names

SLEEP_SECONDS = 0.1
BOUNDS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0)
"""Seconds."""


class LoopLag:
    """The measurements; they outlive restarts of the task that makes them."""

    def __init__(self) -> None:
        self._late = Durations(BOUNDS)

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Measure ten times a second, for ever; an actor."""
        task_status.started()
        while True:
            due = trio.current_time() + SLEEP_SECONDS
            await trio.sleep_until(due)
            self._late.add(trio.current_time() - due)

    def collect(self) -> Iterable[Metric]:
        yield names.LOOP_LAG.histogram((((), self._late),))
