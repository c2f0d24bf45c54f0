"""The market closes while an order of every type is at its first, and at its last state: real hours, over HTTP, judged on the ledger; what
each comes to stands in docs/order-type-scenarios.md."""

import pytest

from tests.demo.lives.lives import LIVES, MORNING
from tests.demo.lives.scenarios import closing_lives
from tests.demo.lives.table import hold

BEFORE_CLOSE = "2026-11-23T15:27:00+05:30"
CLOSED = "2026-11-23T15:30:08+05:30"
ALL_DAY = [name for name in sorted(LIVES) if LIVES[name].now == MORNING]
"""The others are of the opening and the closing themselves."""


@pytest.fixture(scope="module")
def closed(new_demo):
    """Return (0 or -1) -> type -> what it came to."""
    found = {}
    for which in (0, -1):
        demo = new_demo("--now", BEFORE_CLOSE, "--market-hours", "real").start()
        demo.until_ready()
        wait = lambda stage: demo.until(lambda: stage.now() > CLOSED, "the close", 240)  # noqa: B023, E731
        found[which] = closing_lives(demo, BEFORE_CLOSE, ALL_DAY, which, wait)
        demo.assert_sent_once()
        demo.end()
    return found


@pytest.mark.parametrize("name", ALL_DAY)
def test_when_the_market_closes_it_comes_to_what_the_page_says(closed, name, writes_scenarios):
    first, last = LIVES[name].states[0], LIVES[name].states[-1]
    hold(name, first, "market closes", closed[0][name], writes=writes_scenarios)
    if last != first:
        hold(name, last, "market closes", closed[-1][name], writes=writes_scenarios)
