"""What befalls an order of every type at its states: cancels, a change, a partial fill, a refusal, a lost answer; over HTTP, judged on the
ledger. One state of each, by chance, unless `--every-state` is given; what each comes to stands in docs/order-type-scenarios.md."""

import random
import sys

import pytest

from tests.demo.lives.lives import LIVES, options
from tests.demo.lives.scenarios import STRIKES, Case, cases, play_all, states_of
from tests.demo.lives.staging import Stage
from tests.demo.lives.table import hold


@pytest.fixture(scope="module")
def struck(new_demo, request):
    """Return scenario -> case -> what it came to; each scenario is played when it is first asked for."""
    found = {}

    def played(scenario):
        if scenario not in found:
            found[scenario] = _play(new_demo, scenario, every=request.config.getoption("--every-state"))
        return found[scenario]

    return played


def _play(new_demo, scenario, *, every):
    found = {}
    for now in sorted({one.now for one in LIVES.values()}):
        names = [name for name in LIVES if LIVES[name].now == now]
        demo = new_demo(*options(now)).start()
        demo.until_ready()
        found |= play_all(Stage(demo, now), cases(scenario, names) if every else _by_chance(scenario, names))
        demo.assert_sent_once()
        demo.end()
    return found


def _by_chance(scenario, names):
    seed = random.randrange(1 << 32)
    sys.stdout.write(f"seed {seed}\n")
    chance = random.Random(seed)
    return [Case(scenario, name, chance.choice(states_of(scenario, name))) for name in names]


@pytest.mark.parametrize("name", sorted(LIVES))
@pytest.mark.parametrize("scenario", STRIKES)
def test_struck_at_a_state_it_comes_to_what_the_page_says(struck, scenario, name, writes_scenarios):
    own = {case: words for case, words in struck(scenario).items() if case.name == name}
    assert own
    for case, words in own.items():
        hold(name, case.state, scenario, words, writes=writes_scenarios)
