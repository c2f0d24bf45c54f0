"""When a quote may be served (spec 1 §4.7) and acted on (order-engine 0)."""

from datetime import datetime, time

import pytest

from onebroker.actors.quotes.usable import may_act, may_serve
from onebroker.config.calendars import Calendar
from onebroker.config.clock import IST
from onebroker.config.timetables import Hours, Timetable

WEEK = Calendar(
    {
        ("nse", "equity"): Timetable(
            hours=(Hours("normal", time(9, 15), time(15, 30)),), weekdays=frozenset(range(5)),
            pre_open=Hours("pre-open", time(9, 0), time(9, 15)),
        )
    }
)  # fmt: skip


def epoch(text):
    return datetime.fromisoformat(f"2026-11-{text}:00").replace(tzinfo=IST).timestamp()


@pytest.mark.parametrize(
    ("received", "now", "served", "acted"),
    [
        ("23T10:00", "23T10:05", True, True),
        ("23T10:00", "23T10:06", False, False),
        ("23T15:29", "23T15:33", True, True),
        ("23T15:29", "23T18:00", True, False),
        ("23T15:29", "24T08:59", True, False),
        ("23T15:29", "24T09:00", False, False),
        ("20T15:29", "22T12:00", True, False),
        ("20T15:29", "23T18:00", False, False),
        ("23T09:05", "23T09:08", True, False),
        ("23T15:40", "23T15:42", True, False),
        ("23T10:10", "23T10:05", False, False),
    ],
)
def test_freshness_follows_the_clock_and_the_sessions(world, received, now, served, acted):
    quote, identity = world.quote(epoch(received)), world.SHARE.identity
    assert may_serve(quote, identity, WEEK, epoch(now)) is served
    assert may_act(quote, identity, WEEK, epoch(now)) is acted


def test_a_stale_quote_is_neither_served_nor_acted_on(world):
    quote = world.quote(epoch("23T10:00"), stale_since=epoch("23T10:00"))
    assert not may_serve(quote, world.SHARE.identity, WEEK, epoch("23T10:00"))
    assert not may_act(quote, world.SHARE.identity, WEEK, epoch("23T10:00"))
