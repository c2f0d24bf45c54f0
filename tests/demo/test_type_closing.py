"""The market closes while an order of a type is at its first, or its last state: real hours, over HTTP, judged on the ledger. Collected
with `--whole-table` only (tests/demo/conftest.py): it takes minutes. What each comes to stands in docs/order-type-scenarios.md."""

import pytest

from tests.demo.lives.lives import LIVES, MORNING
from tests.demo.lives.scenarios import Case, closing_lives, selected
from tests.demo.lives.table import CLOSING, hold

pytestmark = pytest.mark.long

BEFORE_CLOSE = "2026-11-23T15:26:00+05:30"
CLOSE = "2026-11-23T15:30:00+05:30"
INSTRUMENTS = "900"
"""Of the demo: each order has two shares of its own."""
NAMES = [name for name in sorted(LIVES) if LIVES[name].now == MORNING]
"""Those of the opening itself are left out."""
CASES = list(dict.fromkeys(Case(CLOSING, name, LIVES[name].states[end]) for end in (-1, 0) for name in NAMES))
"""Last states first: they take longer, and where the account's figures are wanted a life that stays at its first keeps others waiting."""


@pytest.fixture(scope="module")
def closed(new_demo, request):
    """Return case -> what it came to, of those that this run has selected."""
    demo = new_demo("--now", BEFORE_CLOSE, "--market-hours", "real", "--instruments", INSTRUMENTS).start()
    demo.until_ready()
    cases = [case for case in selected(request.session) if case.scenario == CLOSING]
    found = closing_lives(demo, BEFORE_CLOSE, cases, CLOSE)
    demo.assert_sent_once()
    demo.end()
    return found


@pytest.mark.parametrize("case", CASES, ids=str)
def test_when_the_market_closes_it_comes_to_what_the_page_says(closed, case, writes_scenarios):
    hold(case.name, case.state, CLOSING, closed[case], writes=writes_scenarios)
