"""The market closes while an order of a type is at its first, or its last state: real hours, over HTTP, judged on the ledger. Some types by
chance, unless `--whole-table` is given; what each comes to stands in docs/order-type-scenarios.md."""

import pytest

from tests.demo.lives.chance import some
from tests.demo.lives.lives import LIVES, MORNING
from tests.demo.lives.scenarios import Case, closing_lives
from tests.demo.lives.table import Table, hold

BEFORE_CLOSE = "2026-11-23T15:27:30+05:30"
CLOSE = "2026-11-23T15:30:00+05:30"
COLUMN = "market closes"
BY_CHANCE = 24
AT_BEST = 60
"""Orders in one demo: each has two shares of its own."""


def chosen(config):
    """Those of the opening and the closing themselves are left out."""
    names = [name for name in sorted(LIVES) if LIVES[name].now == MORNING]
    every = [Case(COLUMN, name, state) for name in names for state in _ends(LIVES[name].states)]
    if config.getoption("--whole-table"):
        return every
    table = Table.read()
    return some(config, BY_CHANCE, [case for case in every if table.known(case.name, case.state, COLUMN)])


def _ends(states):
    return dict.fromkeys((states[0], states[-1]))


def pytest_generate_tests(metafunc):
    if "case" in metafunc.fixturenames:
        metafunc.parametrize("case", chosen(metafunc.config), ids=str)


@pytest.fixture(scope="module")
def closed(new_demo, request):
    """Return case -> what it came to."""
    found, left = {}, chosen(request.config)
    while left:
        now, left = left[:AT_BEST], left[AT_BEST:]
        demo = new_demo("--now", BEFORE_CLOSE, "--market-hours", "real").start()
        demo.until_ready()
        found |= closing_lives(demo, BEFORE_CLOSE, now, CLOSE)
        demo.assert_sent_once()
        demo.end()
    return found


def test_when_the_market_closes_it_comes_to_what_the_page_says(closed, case, writes_scenarios):
    hold(case.name, case.state, COLUMN, closed[case], writes=writes_scenarios)
