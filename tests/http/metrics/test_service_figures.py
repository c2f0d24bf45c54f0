"""Actors, the calendar and the store as the metrics show them."""

from datetime import datetime

from onebroker.actors.kernel.durations import Durations
from onebroker.actors.kernel.supervisor import CrashRecord
from onebroker.config.calendars import always_open, calendar_from_documents
from onebroker.config.clock import IST, Clock
from onebroker.config.exchange_documents import exchange_documents
from onebroker.http.metrics.service_figures import actor_figures, calendar_figures, store_figures
from tests.http.metrics.shown import shown

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=IST)
EVENING = datetime(2026, 11, 20, 20, 0, tzinfo=IST)


def crash(actor: str, count: int) -> CrashRecord:
    return CrashRecord(actor=actor, error="KeyError", count=count, at=0.0, last_message_type=None)


def test_crashes_are_zero_before_the_first_and_parents_are_one_actor():
    crashes = (crash("parent 7f3a", 1), crash("parent 8e4b", 3), crash("desk", 2))
    assert shown(actor_figures({"engine": True, "desk": False}, crashes)) == {
        "actor_up engine": 1, "actor_up desk": 0, "actor_crashes_total engine": 0, "actor_crashes_total desk": 2,
        "actor_crashes_total parent": 4,
    }  # fmt: skip


async def test_the_open_markets_and_the_end_of_the_calendar_are_shown():
    calendar = calendar_from_documents(exchange_documents())
    at_noon = shown(calendar_figures(calendar, Clock.starting_at(NOON)))
    assert [at_noon["market_open nse equity"], at_noon["market_open mcx commodity"]] == [1, 1]
    in_the_evening = shown(calendar_figures(calendar, Clock.starting_at(EVENING)))
    assert [in_the_evening["market_open nse equity"], in_the_evening["market_open mcx commodity"]] == [0, 1]
    year_after = datetime(2027, 1, 1, tzinfo=IST).timestamp()
    assert at_noon["calendar_ends_timestamp_seconds nse"] == year_after


async def test_a_market_that_never_closes_has_no_end():
    shows = shown(calendar_figures(always_open(), Clock.starting_at(NOON)))
    assert {name.partition(" ")[0] for name in shows} == {"market_open"}


def test_round_trips_are_shown_by_lane():
    took = Durations((0.1,))
    took.add(0.05)
    shows = shown(store_figures(reachable=False, round_trips={"engine": took}))
    assert shows == {"store_reachable": 0, "store_seconds_count engine": 1, "store_seconds_sum engine": 0.05}
