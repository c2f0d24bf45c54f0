"""The watch over the service's health: it looks for problems once a second, whether or not anybody asks."""

import trio

from onebroker.actors.health.problem_book import ProblemBook

LOOK_SECONDS = 1.0


class HealthWatch:
    """The actor. Its looks tell problems as events, which the log, the audit and the alerts hear."""

    def __init__(self, problems: ProblemBook) -> None:
        self._problems = problems

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        task_status.started()
        while True:
            await trio.sleep(
                LOOK_SECONDS
            )  # first: while the service starts, its last parts are not up, and this watch neither
            self._problems.look()
