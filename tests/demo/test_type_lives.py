"""The whole life of every order type over HTTP, also with a kill -9 of the service at each of its states: exact messages, judged on the
ledger (rules 2.7; order-engine 3). What each comes to stands in docs/order-type-scenarios.md."""

import pytest

from onebroker.actors.engine.intake.synthetic import TYPES
from tests.demo.lives.lives import LIVES, options
from tests.demo.lives.scenarios import START, lives_with_kills, whole_lives
from tests.demo.lives.table import hold

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(3600),
]  # the first test of a fixture waits for all that is played together

NAMES = sorted(LIVES)


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


def named(request, argument):
    """The types of the tests that the run has selected: all of them are played together."""
    given = [item.callspec.params.get(argument) for item in request.session.items if hasattr(item, "callspec")]
    return [name for name in NAMES if name in given]


@pytest.fixture(scope="module")
def lives(new_demo, request):
    return by_time(new_demo, whole_lives, named(request, "name"))


@pytest.fixture(scope="module")
def killed_lives(new_demo, request):
    return by_time(new_demo, lives_with_kills, named(request, "killed"))


@pytest.mark.parametrize("name", NAMES)
def test_a_type_lives_to_its_end_with_exactly_its_messages(lives, name, writes_scenarios):
    hold(name, START, "whole life", lives[name], writes=writes_scenarios)


@pytest.mark.parametrize("killed", NAMES)
def test_killed_at_each_of_its_states_it_ends_the_same_with_the_same_messages(killed_lives, killed, writes_scenarios):
    hold(killed, START, "killed at each state", killed_lives[killed], writes=writes_scenarios)
