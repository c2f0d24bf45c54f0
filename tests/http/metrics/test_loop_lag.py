"""The lag of the event loop is how late a sleeping task wakes."""

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from onebroker.http.metrics.loop_lag import SLEEP_SECONDS, LoopLag
from tests.http.metrics.shown import shown


async def test_a_wake_that_comes_late_is_measured(mock_clock, nursery):
    lag = LoopLag()
    await nursery.start(lag.run)
    await wait_all_tasks_blocked()
    for late in (0.0, 0.25):
        mock_clock.jump(SLEEP_SECONDS + late)
        await wait_all_tasks_blocked()
    shows = shown(lag.collect())
    assert shows["loop_lag_seconds_count"] == 2
    assert shows["loop_lag_seconds_sum"] == pytest.approx(0.25)
    nursery.cancel_scope.cancel()
    await trio.lowlevel.checkpoint()
