"""What befalls an order of every type at its states: cancels, a change, a partial fill, a refusal, a lost answer; over HTTP, judged on the
ledger. Without `--whole-table` every type is cancelled at one of its states; what each comes to stands in
docs/order-type-scenarios.md."""

import pytest

from tests.demo.lives.chance import one_of_each
from tests.demo.lives.lives import LIVES, options
from tests.demo.lives.scenarios import STRIKES, cases, play_all, selected
from tests.demo.lives.staging import Stage
from tests.demo.lives.table import Table, hold

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(3600),
]  # the first test of a fixture waits for all that is played together

ALWAYS = ("cancel",)
"""Scenarios whose end no timing changes."""


def chosen(config, scenario):
    """Return the cases of a scenario that a run plays: all, or one of each type that the page knows."""
    table, every = Table.read(), cases(scenario, sorted(LIVES))
    if config.getoption("--whole-table"):
        return every
    if scenario not in ALWAYS:
        return []
    return one_of_each([case for case in every if table.known(case.name, case.state, scenario)], lambda case: case.name)


def pytest_generate_tests(metafunc):
    if "case" in metafunc.fixturenames:
        every = [case for scenario in STRIKES for case in chosen(metafunc.config, scenario)]
        metafunc.parametrize("case", every, ids=str)


@pytest.fixture(scope="module")
def struck(new_demo, request):
    """Return `played(scenario)`: case -> what it came to; each scenario is played when it is first asked for, those cases of it that this
    run has selected."""
    found = {}

    def played(scenario):
        if scenario not in found:
            found[scenario] = _play(new_demo, [case for case in selected(request.session) if case.scenario == scenario])
        return found[scenario]

    return played


def _play(new_demo, own):
    found = {}
    for now in sorted({LIVES[case.name].now for case in own}):
        demo = new_demo(*options(now)).start()
        demo.until_ready()
        found |= play_all(Stage(demo, now), [case for case in own if LIVES[case.name].now == now])
        demo.assert_sent_once()
        demo.end()
    return found


def test_struck_at_a_state_it_comes_to_what_the_page_says(struck, case, writes_scenarios):
    hold(case.name, case.state, case.scenario, struck(case.scenario)[case], writes=writes_scenarios)
