"""When a build is due, and when orders may rest on the mapping there is (architecture 8)."""

from datetime import date, datetime

import pytest

from onebroker.actors.catalogue.build_rules import (
    Mapped,
    build_due,
    losses,
    mark_shrunk,
    retry_seconds,
    seconds_to_next_look,
    standing,
)
from onebroker.actors.catalogue.report import BrokerReport, BuildReport
from onebroker.config.calendars import Calendar, always_open
from onebroker.config.clock import IST
from tests.support.every_case import every_case

MONDAY = date(2026, 11, 23)
OPEN = always_open()
SHUT = Calendar({})
"""A calendar without any session: every day is one without trading."""


def at(clock, day=MONDAY):
    hour, minute = map(int, clock.split(":"))
    return datetime(day.year, day.month, day.day, hour, minute, tzinfo=IST)


def mapped(day, clock="08:31"):
    return Mapped(day=day, built_at=at(clock, day))


YESTERDAY = mapped(date(2026, 11, 22))


@every_case(
    ("newest", "now", "calendar", "due"),
    [
        (None, "00:10", SHUT, True),
        (YESTERDAY, "08:29", OPEN, False),
        (YESTERDAY, "08:30", OPEN, True),
        (YESTERDAY, "23:59", OPEN, True),
        (YESTERDAY, "12:00", SHUT, False),
        (mapped(MONDAY), "12:00", OPEN, False),
        (mapped(MONDAY, "00:05"), "08:29", OPEN, False),
        (mapped(MONDAY, "00:05"), "08:30", OPEN, True),
    ],
)
def test_a_build_is_due_at_first_and_from_half_past_eight_on_days_with_a_session(newest, now, calendar, due):
    assert build_due(newest, at(now), calendar) is due


@pytest.mark.parametrize(
    ("newest", "now", "calendar", "published"),
    [
        (None, "12:00", OPEN, False),
        (YESTERDAY, "08:29", OPEN, True),
        (YESTERDAY, "08:59", OPEN, True),
        (YESTERDAY, "09:00", OPEN, False),
        (YESTERDAY, "12:00", SHUT, True),
        (mapped(MONDAY), "12:00", OPEN, True),
        (mapped(MONDAY, "00:05"), "12:00", OPEN, True),
    ],
)
def test_todays_catalogue_is_published_as_the_architecture_says(newest, now, calendar, published):
    verdict = standing(newest, at(now), calendar, building=True, failure=None)
    assert verdict.published_today is published
    assert bool(verdict.reason) is not published


def test_the_reason_names_the_failure_of_todays_build():
    failed = standing(YESTERDAY, at("09:30"), OPEN, building=False, failure="the disk is full")
    assert failed.reason == "the newest mapping is of 2026-11-22, and today's build failed: the disk is full"
    again = standing(YESTERDAY, at("09:30"), OPEN, building=True, failure="the disk is full")
    assert again.reason == "the newest mapping is of 2026-11-22, and today's build is not done"
    assert standing(None, at("09:30"), OPEN, building=False, failure="no file").reason == "no file"


@pytest.mark.parametrize(
    ("now", "seconds"), [("08:00", 1800), ("08:30", 1800), ("09:00", 15 * 3600), ("23:59", 60), ("00:00", 8.5 * 3600)]
)
def test_the_next_look_is_at_the_next_moment_at_which_an_answer_can_change(now, seconds):
    assert seconds_to_next_look(at(now)) == seconds


def test_retries_come_ever_later_up_to_their_limit():
    waits = [retry_seconds(count, 300) for count in range(1, 40)]
    assert waits[:4] == [30, 60, 120, 240]
    assert set(waits[4:]) == {300}


def report(**brokers):
    return BuildReport(rows=1, content_hash="x", brokers=brokers)


def gave(segments=None, **missing):
    segments = {"nse_equities": 100} if segments is None else segments
    return BrokerReport(rows=sum(segments.values()), segments=segments, missing=missing)


NOTHING = BrokerReport(error="no answer")


@every_case(
    ("built", "mapped", "lost"),
    [
        (report(a=gave()), report(a=gave()), {}),
        (report(a=NOTHING), report(a=gave()), {"a": "no answer"}),
        (report(a=NOTHING), report(a=NOTHING), {}),
        (report(a=NOTHING), report(), {"a": "no answer"}),
        (report(a=gave(fo="404")), report(a=gave()), {"a fo": "404"}),
        (report(a=gave(fo="404", cd="500")), report(a=gave(fo="cut")), {"a cd": "500"}),
        (report(a=gave(fo="404")), report(a=gave(fo="cut")), {}),
        (report(a=gave(fo="404")), report(a=NOTHING), {}),
        (report(a=gave()), report(a=gave(fo="404")), {}),
        (report(a=gave(), b=NOTHING), report(a=NOTHING, b=gave()), {"b": "no answer"}),
    ],
)
def test_a_build_loses_what_the_mapping_holds_and_it_does_not(built, mapped, lost):
    assert losses(built, mapped) == lost


@every_case(
    ("now", "before", "shrunk"),
    [
        ({"s": 100}, [{"s": 100}], {}),
        ({"s": 50}, [{"s": 100}], {}),
        ({"s": 49}, [{"s": 100}], {"s": 100}),
        ({"s": 100}, [{"s": 100, "t": 3}], {"t": 3}),
        ({"s": 49, "t": 9}, [{"s": 100}], {"s": 100}),
        ({"s": 1}, [], {}),
        ({"s": 49}, [None, {"s": 100}], {"s": 100}),  # on the day before the broker was lost
        ({"s": 49}, [{"s": 60}, {"s": 100}], {}),  # the newest counts
    ],
)
def test_a_segment_has_shrunk_when_it_holds_less_than_half_of_when_its_broker_was_last_mapped(now, before, shrunk):
    built = report(a=gave(now), b=NOTHING)
    mark_shrunk(built, [report(a=NOTHING if segments is None else gave(segments)) for segments in before])
    assert built.brokers["a"].shrunk == shrunk
    assert built.brokers["b"].shrunk == {}
