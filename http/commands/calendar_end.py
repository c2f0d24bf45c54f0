"""Tells that the trading calendar ends soon (`calendar.ends`), so that new exchange documents are imported in time."""

from collections.abc import Iterator
from datetime import date, timedelta

import trio

from onebroker.actors.health.calendar_problems import DAYS_BEFORE
from onebroker.actors.kernel.events import Events
from onebroker.config.calendars import Calendar
from onebroker.config.clock import Clock
from onebroker.config.events import CalendarEnds
from onebroker.config.instruments import TRADING_EXCHANGES

LOOK_SECONDS = 5.0
"""Seconds after which a new day, or a newly imported document, is noticed at the latest."""


async def tell_calendar_ends(calendar: Calendar, clock: Clock, events: Events) -> None:
    """Tell once a day the exchanges whose last known day is near or over; again on that day only where a new document moves the last day."""
    day, told = clock.today(), set[CalendarEnds]()
    while True:
        if day != clock.today():
            day, told = clock.today(), set()
        for event in _near(calendar, day):
            if event not in told:
                told.add(event)
                events.tell(event)
        await trio.sleep(LOOK_SECONDS)


def _near(calendar: Calendar, day: date) -> Iterator[CalendarEnds]:
    ends: dict[date, list[str]] = {}
    for exchange in TRADING_EXCHANGES:
        end = calendar.known_until(exchange)
        if end is not None and day >= end - timedelta(days=DAYS_BEFORE):
            ends.setdefault(end, []).append(exchange.value)
    for end, exchanges in ends.items():
        yield CalendarEnds(exchanges=tuple(exchanges), last_day=end.isoformat())
