"""What logins hand out: every token once, each to its own end, known again after a restart."""

from datetime import datetime, time, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.brokers.simulator.dialects.tokens import ONE_TIME_SECONDS, Kind, Tokens
from onebroker.config.clock import IST, Clock

EVENING = datetime(2026, 11, 23, 20, 0, tzinfo=IST)


class Desk:
    """Tokens with a clock that is set by hand and a store that outlives them."""

    def __init__(self, now=EVENING):
        self.now = now
        self.kept = {}
        self.restart()

    def restart(self):
        clock = Clock(wall=lambda: self.now.timestamp())
        self.tokens = Tokens(self, clock, "kite|7", expiry=time(6, 0), length=32)

    def get(self, name):
        return self.kept.get(name)

    def set(self, name, value):
        self.kept[name] = value


@pytest.mark.parametrize(
    ("minted", "dies"),
    [
        (EVENING, datetime(2026, 11, 24, 6, 0, tzinfo=IST)),
        (datetime(2026, 11, 24, 5, 59, 59, tzinfo=IST), datetime(2026, 11, 24, 6, 0, tzinfo=IST)),
        (datetime(2026, 11, 24, 6, 0, tzinfo=IST), datetime(2026, 11, 25, 6, 0, tzinfo=IST)),
    ],
)
def test_an_access_token_dies_at_the_next_expiry_in_india(minted, dies):
    desk = Desk(minted)
    token = desk.tokens.mint(Kind.ACCESS)
    assert len(token) == 32
    desk.now = dies - timedelta(seconds=1)
    assert desk.tokens.is_live(token)
    desk.now = dies
    assert not desk.tokens.is_live(token)


def test_a_one_time_code_is_good_once_and_for_ten_minutes():
    desk = Desk()
    first, second = (desk.tokens.mint(Kind.ONE_TIME, ONE_TIME_SECONDS) for _ in range(2))
    assert desk.tokens.spend(Kind.ONE_TIME, first)
    assert not desk.tokens.spend(Kind.ONE_TIME, first)
    desk.now += timedelta(minutes=10)
    assert not desk.tokens.spend(Kind.ONE_TIME, second)


@pytest.mark.parametrize("kind", [Kind.ONE_TIME, Kind.REFRESH])
def test_only_an_access_token_gives_access_and_no_kind_is_spent_as_another(kind):
    desk = Desk()
    token, access = desk.tokens.mint(kind), desk.tokens.mint(Kind.ACCESS)
    assert not desk.tokens.is_live(token)
    assert not desk.tokens.spend(kind, access)
    assert desk.tokens.spend(kind, token)


def test_the_newest_live_token_is_given_again_and_a_new_one_when_none_lives():
    desk = Desk()
    old, new = desk.tokens.mint(Kind.REFRESH), desk.tokens.mint(Kind.REFRESH)
    assert desk.tokens.newest(Kind.REFRESH) == new
    desk.now += timedelta(days=1)
    assert desk.tokens.newest(Kind.REFRESH) not in (old, new)


def test_logging_out_ends_one_token_and_the_nightly_expiry_ends_all():
    desk = Desk()
    tokens = [desk.tokens.mint(Kind.ACCESS) for _ in range(3)]
    desk.tokens.forget(tokens[0])
    assert [desk.tokens.is_live(token) for token in tokens] == [False, True, True]
    desk.tokens.expire_all()
    desk.restart()
    assert not any(desk.tokens.is_live(token) for token in tokens)


@given(st.lists(st.sampled_from([*Kind, None]), max_size=30))
def test_no_token_is_ever_given_out_twice_and_a_restart_forgets_none(script):
    desk = Desk()
    minted = []
    for kind in script:
        if kind is None:
            desk.restart()
        else:
            minted.append((kind, desk.tokens.mint(kind)))
    desk.restart()
    assert len({token for _, token in minted}) == len(minted)
    for kind, token in minted:
        assert desk.tokens.is_live(token) if kind is Kind.ACCESS else desk.tokens.spend(kind, token)
