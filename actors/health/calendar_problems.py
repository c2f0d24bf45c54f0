"""Problems with the trading calendar: its known years end, or today is a day that it does not know."""

from collections.abc import Iterator
from datetime import date, datetime, time, timedelta

from onebroker.actors.health.problem import Problem, ProblemKind
from onebroker.config.calendars import Calendar, DayState
from onebroker.config.clock import IST
from onebroker.config.instruments import TRADING_EXCHANGES

DAYS_BEFORE = 30
"""From so many days before the last known day on, its coming is a problem."""
_IMPORT = "import exchange documents with the next year's holidays (onebroker import exchanges FILE; docs/reference-documents.md)"


def calendar_until(calendar: Calendar) -> date | None:
    """Return the last day that is known at every exchange. None: the market never closes."""
    ends = [end for exchange in TRADING_EXCHANGES if (end := calendar.known_until(exchange)) is not None]
    return min(ends, default=None)


def calendar_line(calendar: Calendar, day: date) -> str:
    """Return what is known of the calendar on `day`, in one line: how far it reaches, or its problems and what to do."""
    until = calendar_until(calendar)
    problems = tuple(calendar_ends(calendar, day))
    if not problems:
        return "always open" if until is None else f"known until {until}"
    return f"{'; '.join(problem.what for problem in problems)}: {problems[0].do}"


def calendar_ends(calendar: Calendar, day: date) -> Iterator[Problem]:
    """Yield the near or past end of the known holidays, and that `day` is a day of which nobody knows whether it is a holiday."""
    markets = calendar.markets()
    ends: dict[date, list[str]] = {}
    for exchange in dict.fromkeys(exchange for exchange, _ in markets):
        end = calendar.known_until(exchange)
        if end is not None and day >= end - timedelta(days=DAYS_BEFORE):
            ends.setdefault(end, []).append(exchange)
    for end, exchanges in ends.items():
        verb = "are known only until" if day <= end else "were known until"
        yield Problem(
            kind=ProblemKind.CALENDAR,
            subject=end.isoformat(),
            what=f"the holidays of {', '.join(exchanges)} {verb} {end}; later days count as trading days",
            do=_IMPORT,
            since=_midnight(end - timedelta(days=DAYS_BEFORE)),
        )
    unknown = [market for market in markets if calendar.day_state(*market, day) is DayState.UNKNOWN]
    if unknown:
        yield Problem(
            kind=ProblemKind.CALENDAR,
            subject="unknown day",
            what=f"nobody knows whether {day} is a holiday of {', '.join(map(' '.join, unknown))}: it counts as a trading day",
            do=_IMPORT,
            since=_midnight(day),
        )


def _midnight(day: date) -> float:
    return datetime.combine(day, time(0), IST).timestamp()
