"""Decides when a market's day candles are loaded, and for which days. Pure.

A market is an exchange with one of its calendars. Its day is over when the day's last session has closed, special sessions included;
brokers have the day's candle some time later. While a session or the pre-open runs, nothing of that market is loaded. A market that
never closes (the demo's) has no such hours, and its days end at midnight.
"""

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from typing import TypeAlias

import attrs

from onebroker.config.calendars import MOST_DAYS_SEARCHED, Calendar
from onebroker.config.instruments import Identity, calendar_of
from onebroker.config.timetables import END_OF_DAY

SETTLED = timedelta(minutes=45)
"""Time from the close until brokers have the day's candle, with the closing price that the exchange computes after the close."""
MOST_MISSED_DAYS = 366
"""A service that was away for longer begins this many days back; `history backfill` reads the earlier days."""
FIRST_RETRY_SECONDS, MOST_RETRY_SECONDS = 300.0, 3600.0
MOST_EMPTY_TRIES = 3
"""Total number of tries for an instrument without a candle of the last day: it may not have traded."""

_ONE_DAY = timedelta(days=1)

Market: TypeAlias = tuple[str, str]
"""Exchange and calendar."""


def market_name(market: Market) -> str:
    return f"{market[0]} {market[1]}"


def market_of(identity: Identity) -> Market:
    return identity.exchange, calendar_of(identity.segment)


def markets(calendar: Calendar) -> tuple[Market, ...]:
    """Return all markets, in a fixed order."""
    return calendar.markets()


def last_ended_day(calendar: Calendar, market: Market, now: datetime, settled: timedelta = SETTLED) -> date | None:
    """Return the latest day whose last session closed at least `settled` ago; None when no such day is in sight."""
    for day in _days(now.date(), -1):
        sessions = calendar.sessions(*market, day)
        if sessions and sessions[-1].closes + settled <= now:
            return day
    return None


def missed_days(calendar: Calendar, market: Market, loaded: date | None, through: date) -> tuple[date, date] | None:
    """Return the first and last day to load: the session days after `loaded` and up to `through`; None when there are none.

    When nothing was ever loaded, only the day `through` is loaded.
    """
    if loaded is None:
        return through, through
    first = max(loaded + _ONE_DAY, through - timedelta(days=MOST_MISSED_DAYS))
    while first <= through and not calendar.is_session_day(*market, first):
        first += _ONE_DAY
    return (first, through) if first <= through else None


def may_load(calendar: Calendar, market: Market, now: datetime) -> bool:
    """Tell whether nothing trades on the market now, or the market never closes."""
    session = calendar.current_session(*market, now)
    if session is not None:
        return session.closes.time() == END_OF_DAY
    pre_open = calendar.pre_open(market[0], now) if market[1] == "equity" else None
    return pre_open is None or not pre_open.contains(now)


def next_due(calendar: Calendar, market: Market, loaded: date | None, now: datetime) -> datetime | None:
    """Return when the next day after `loaded` is to be loaded. The moment is in the past when the load is overdue or was put off to the
    close.
    """
    if loaded is None:
        through = last_ended_day(calendar, market, now)
        loaded = now.date() - _ONE_DAY if through is None else through - _ONE_DAY
    for day in _days(loaded + _ONE_DAY, 1):
        sessions = calendar.sessions(*market, day)
        if sessions:
            return sessions[-1].closes + SETTLED
    return None


def retry_seconds(failures: int) -> float:
    """Return how long to wait after this many failures in a row."""
    return float(min(FIRST_RETRY_SECONDS * 2 ** (failures - 1), MOST_RETRY_SECONDS))


@attrs.define
class Underway:
    """The progress of loading one market's days, until the load is complete."""

    through: date
    failures: int = 0
    """Tries in a row that left something unread."""
    retry_at: float = 0.0
    """Monotonic seconds."""
    read: set[str] = attrs.field(factory=set)
    """Instruments that need not be read again."""
    empty: dict[str, int] = attrs.field(factory=dict)
    """Instrument -> number of tries that found no candle of the last day."""
    failed: set[str] = attrs.field(factory=set)
    """Instruments in `read` for which no broker has readable candles."""
    trouble: str | None = None
    """Why the last try did not complete the load."""


def _days(first: date, step: int) -> Iterator[date]:
    for count in range(MOST_DAYS_SEARCHED):
        yield first + count * step * _ONE_DAY
