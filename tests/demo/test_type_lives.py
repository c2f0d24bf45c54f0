"""The whole life of order types over HTTP, also with a kill -9 of the service at each of its states, of some types (of all
with `--whole-table`): exact messages, judged on the ledger (spec 2 §7; order-engine 3). What each comes to stands in
docs/order-type-scenarios.md."""

import pytest

from onebroker.actors.engine.synthetic import TYPES
from tests.demo.lives.chance import some
from tests.demo.lives.lives import LIVES, options
from tests.demo.lives.scenarios import START, lives_with_kills, whole_lives
from tests.demo.lives.table import hold

pytestmark = pytest.mark.long

NAMES = sorted(LIVES)
LIVED, KILLED = 24, 6


def pytest_generate_tests(metafunc):
    if "name" in metafunc.fixturenames:
        metafunc.parametrize("name", some(metafunc.config, LIVED, NAMES))
    if "killed" in metafunc.fixturenames:
        metafunc.parametrize("killed", some(metafunc.config, KILLED, NAMES))


def test_every_type_has_a_life():
    assert sorted(TYPES) == NAMES


def by_time(new_demo, play, names):
    """Play types, each on a demo of its time of day."""
    found = {}
    for now in sorted({LIVES[name].now for name in names}):
        demo = new_demo(*options(now)).start()
        demo.until_ready()
        found |= play(demo, now, [name for name in names if LIVES[name].now == now])
        demo.assert_sent_once()
        demo.end()
    return found


@pytest.fixture(scope="module")
def lives(new_demo, request):
    return by_time(new_demo, whole_lives, some(request.config, LIVED, NAMES))


@pytest.fixture(scope="module")
def killed_lives(new_demo, request):
    return by_time(new_demo, lives_with_kills, some(request.config, KILLED, NAMES))


def test_a_type_lives_to_its_end_with_exactly_its_messages(lives, name, writes_scenarios):
    hold(name, START, "whole life", lives[name], writes=writes_scenarios)


def test_killed_at_each_of_its_states_it_ends_the_same_with_the_same_messages(killed_lives, killed, writes_scenarios):
    hold(killed, START, "killed at each state", killed_lives[killed], writes=writes_scenarios)
