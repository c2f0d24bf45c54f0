"""Tells that the trading calendar ends soon (`calendar.ends`), so that new exchange documents are imported in time."""

from datetime import date, timedelta

import trio

from onebroker.actors.kernel.events import Events
from onebroker.config.calendars import Calendar
from onebroker.config.clock import Clock
from onebroker.config.events import CalendarEnds
from onebroker.config.instruments import TRADING_EXCHANGES

DAYS_BEFORE = 30
"""From so many days before the last known day on the end is told."""
LOOK_SECONDS = 600.0
"""Seconds after which a new day, or a newly imported document, is noticed at the latest."""


def calendar_until(calendar: Calendar) -> date | None:
    """Return the last day that is known at every exchange. None: the market never closes."""
    ends = [end for exchange in TRADING_EXCHANGES if (end := calendar.known_until(exchange)) is not None]
    return min(ends, default=None)


async def tell_calendar_ends(calendar: Calendar, clock: Clock, events: Events) -> None:
    """Tell once a day each exchange whose last known day is near or over."""
    told: date | None = None
    while True:
        day = clock.today()
        if day != told:
            _tell(calendar, day, events)
            told = day
        await trio.sleep(LOOK_SECONDS)


def _tell(calendar: Calendar, day: date, events: Events) -> None:
    for exchange in TRADING_EXCHANGES:
        end = calendar.known_until(exchange)
        if end is not None and day >= end - timedelta(days=DAYS_BEFORE):
            events.tell(CalendarEnds(exchange=exchange.value, last_day=end.isoformat()))
