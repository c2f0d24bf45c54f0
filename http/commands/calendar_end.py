"""Tells that the trading calendar ends soon (`calendar.ends`), so that new exchange documents are imported in time."""

from datetime import date, timedelta

import trio

from onebroker.actors.health.calendar_problems import DAYS_BEFORE
from onebroker.actors.kernel.events import Events
from onebroker.config.calendars import Calendar
from onebroker.config.clock import Clock
from onebroker.config.events import CalendarEnds
from onebroker.config.instruments import TRADING_EXCHANGES

LOOK_SECONDS = 600.0
"""Seconds after which a new day, or a newly imported document, is noticed at the latest."""


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
