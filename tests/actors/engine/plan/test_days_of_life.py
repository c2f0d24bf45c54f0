"""The last day of a lifetime that counts days: what is found from its end is what a walk over every trading day finds."""

from datetime import date, datetime, time, timedelta
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.actors.engine.plan.machine.lifetimes import over
from onebroker.actors.engine.plan.market import Session
from onebroker.actors.engine.plan.parts import Lifetime
from onebroker.config.clock import IST, from_epoch
from tests.actors.engine.plan.trees import order

pytestmark = pytest.mark.unit
FIRST = date(2026, 1, 1)
DAYS = [FIRST + timedelta(days=number) for number in range(430)]
WEEKDAYS = frozenset(day for day in DAYS if day.weekday() < 5)


class Market:
    """Days with one session each, 09:15 to 15:30; it counts what it is asked."""

    def __init__(self, trading_days):
        self.sessions = [
            Session(
                opens=datetime.combine(day, time(9, 15), IST).timestamp(),
                closes=datetime.combine(day, time(15, 30), IST).timestamp(),
            )
            for day in sorted(trading_days)
        ]
        self.asked = 0

    def session(self, part, after):
        self.asked += 1
        return next((one for one in self.sessions if one.closes > after), None)


def walked(market, due_at, days):
    """Return the close of the last trading day of the lifetime, by a walk over every trading day."""
    last_day = from_epoch(due_at).date() + timedelta(days=days)
    session = market.session(None, due_at)
    while session is not None:
        following = market.session(None, session.closes)
        if following is None or from_epoch(following.opens).date() > last_day:
            return session.closes
        session = following
    return None


def ends(market, due_at, days):
    """Return the times at which a part with this lifetime is looked at again: its end, as far as it is known."""
    woken = []
    part = order("root", lifetime=Lifetime(after_days=days))
    record = SimpleNamespace(due_at=due_at)
    look = SimpleNamespace(now=due_at, record=lambda part: record, session=market.session, wake=woken.append)
    assert over(look, part) is False
    return woken


@given(
    closed=st.frozensets(st.sampled_from(DAYS), max_size=60),
    minutes=st.integers(0, 50 * 24 * 60),
    days=st.integers(1, 365),
)
def test_the_end_is_what_a_walk_over_the_days_finds(closed, minutes, days):
    market, due_at = Market(WEEKDAYS - closed), datetime.combine(FIRST, time(), IST).timestamp() + 60 * minutes
    expected = walked(market, due_at, days)
    last_day = FIRST + timedelta(days=minutes // 1440 + days + 1)
    midnight = datetime.combine(last_day, time(), IST).timestamp()
    assert ends(market, due_at, days) == [midnight if expected is None else expected]


def test_a_year_asks_for_few_days():
    market = Market(WEEKDAYS)
    assert ends(market, datetime(2026, 1, 5, 10, tzinfo=IST).timestamp(), 365)
    assert market.asked < 10


def test_in_a_market_that_does_not_open_again_the_days_are_counted_by_the_calendar():
    midnight = datetime(2026, 2, 5, tzinfo=IST).timestamp()
    assert ends(Market([FIRST]), datetime(2026, 1, 5, 10, tzinfo=IST).timestamp(), 30) == [midnight]
