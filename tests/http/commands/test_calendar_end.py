"""The end of the trading calendar is told in time, once a day, and never of a market that does not close."""

from datetime import date, datetime

import pytest
import trio

from onebroker.actors.health.calendar_problems import calendar_until
from onebroker.actors.kernel.events import Events
from onebroker.config.calendars import DocumentCalendar, JoinedCalendar, always_open, calendar_from_documents
from onebroker.config.clock import IST, Clock
from onebroker.config.events import CalendarEnds
from onebroker.config.exchange_documents import exchange_documents
from onebroker.http.commands.calendar_end import tell_calendar_ends

pytestmark = pytest.mark.unit
DOCUMENTED = calendar_from_documents(exchange_documents())
ENDS = [CalendarEnds(exchanges=("nse", "bse", "mcx", "ncdex"), last_day="2026-12-31")]


async def told(calendar, start: datetime, days: float) -> list[CalendarEnds]:
    heard = []
    with trio.move_on_after(days * 86_400):
        await tell_calendar_ends(calendar, Clock.following_trio(start), Events(heard.append))
    return heard


async def test_it_is_told_once_a_day_from_thirty_days_before(autojump_clock):
    assert await told(DOCUMENTED, datetime(2026, 11, 29, 12, tzinfo=IST), 1.4) == []
    assert await told(DOCUMENTED, datetime(2026, 11, 30, 12, tzinfo=IST), 0.9) == ENDS  # at midnight
    assert await told(DOCUMENTED, datetime(2026, 12, 1, 12, tzinfo=IST), 1.9) == 3 * ENDS


async def test_it_is_told_after_the_end_too(autojump_clock):
    assert await told(DOCUMENTED, datetime(2027, 2, 1, 12, tzinfo=IST), 0.1) == ENDS


async def test_a_document_that_is_imported_during_the_day_is_noticed(autojump_clock):
    heard, calendar = [], DocumentCalendar([])
    clock = Clock.following_trio(datetime(2026, 12, 29, 9, tzinfo=IST))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(tell_calendar_ends, calendar, clock, Events(heard.append))
        await trio.sleep(60)
        assert heard == []
        calendar.follow(exchange_documents())
        await trio.sleep(60)
        nursery.cancel_scope.cancel()
    assert heard == ENDS


async def test_a_market_that_never_closes_has_no_end(autojump_clock):
    joined = JoinedCalendar(DOCUMENTED, date(2026, 11, 2), always_open())
    for calendar in (always_open(), joined):
        assert await told(calendar, datetime(2026, 12, 31, 12, tzinfo=IST), 2) == []
        assert calendar_until(calendar) is None


def test_the_calendar_is_known_until_its_first_exchange_ends():
    documents = exchange_documents()
    documents[2]["holidays"]["commodity"] = [
        row for row in documents[2]["holidays"]["commodity"] if row["date"] < "2026"
    ]
    calendar = calendar_from_documents(documents)
    assert calendar.known_until("mcx") == date(2025, 12, 31)
    assert calendar.known_until("nse") == date(2026, 12, 31)
    assert calendar.known_until("nsx") is None
    assert calendar_until(calendar) == date(2025, 12, 31)
