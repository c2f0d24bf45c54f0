"""A calendar of the equity market's plain hours, for tests of what happens before, within and after a session."""

from datetime import time

from onebroker.config.calendars import Calendar
from onebroker.config.timetables import Hours, Timetable

EQUITY_HOURS = Calendar(
    {
        (exchange, "equity"): Timetable(
            hours=(Hours("normal", time(9, 15), time(15, 30)),), weekdays=frozenset(range(5))
        )
        for exchange in ("nse", "bse")
    }
)
"""09:15 to 15:30, Monday to Friday; no holidays, no pre-open."""
