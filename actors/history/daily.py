"""When the day candles of a market are loaded, and of which days. Pure.

A market is an exchange with one of its calendars. Its day is over when the last session of that day has closed, special ones
included; brokers have its candle some time after. While a session or the pre-open runs nothing of that market is loaded; a market
that never closes (the demo's) has no such hours, and its days end at midnight.
"""

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from typing import TypeAlias

import attrs

from onebroker.config.calendars import CALENDARS, MOST_DAYS_SEARCHED, Calendar
from onebroker.config.instruments import TRADING_EXCHANGES, Identity, calendar_of
from onebroker.config.timetables import END_OF_DAY

SETTLED = timedelta(minutes=45)
"""From the close until brokers have the day's candle, with the closing price that the exchange works out after the close."""
MOST_MISSED_DAYS = 366
"""A service that was away for longer begins so many days back; `history backfill` reads what lies before."""
FIRST_RETRY_SECONDS, MOST_RETRY_SECONDS = 300.0, 3600.0
MOST_EMPTY_TRIES = 3
"""An instrument without a candle of the last day is asked for so often in all: it may not have traded."""

_ONE_DAY = timedelta(days=1)

Market: TypeAlias = tuple[str, str]
"""Exchange and calendar."""


def market_name(market: Market) -> str:
    return f"{market[0]} {market[1]}"


def market_of(identity: Identity) -> Market:
    return identity.exchange, calendar_of(identity.segment)


def markets(calendar: Calendar) -> tuple[Market, ...]:
    """Return the markets that there are, in a fixed order."""
    return tuple(
        (str(exchange), name) for exchange in TRADING_EXCHANGES for name in CALENDARS if calendar.trades(exchange, name)
    )


def last_ended_day(calendar: Calendar, market: Market, now: datetime, settled: timedelta = SETTLED) -> date | None:
    """Return the latest day whose last session closed at least `settled` ago; None when there is none in sight."""
    for day in _days(now.date(), -1):
        sessions = calendar.sessions(*market, day)
        if sessions and sessions[-1].closes + settled <= now:
            return day
    return None


def missed_days(calendar: Calendar, market: Market, loaded: date | None, through: date) -> tuple[date, date] | None:
    """Return the first and the last day to load: all with a session after `loaded` and up to `through`; None when there is none.

    Where nothing was ever loaded that is the last one alone.
    """
    if loaded is None:
        return through, through
    first = max(loaded + _ONE_DAY, through - timedelta(days=MOST_MISSED_DAYS))
    while first <= through and not calendar.is_session_day(*market, first):
        first += _ONE_DAY
    return (first, through) if first <= through else None


def may_load(calendar: Calendar, market: Market, now: datetime) -> bool:
    """Tell whether nothing trades on the market now, or it never closes."""
    session = calendar.current_session(*market, now)
    if session is not None:
        return session.closes.time() == END_OF_DAY
    pre_open = calendar.pre_open(market[0], now) if market[1] == "equity" else None
    return pre_open is None or not pre_open.contains(now)


def next_due(calendar: Calendar, market: Market, loaded: date | None, now: datetime) -> datetime | None:
    """Return when the next day after `loaded` is to be loaded: a moment that has passed when it is overdue, or was put off to
    the close."""
    if loaded is None:
        through = last_ended_day(calendar, market, now)
        loaded = now.date() - _ONE_DAY if through is None else through - _ONE_DAY
    for day in _days(loaded + _ONE_DAY, 1):
        sessions = calendar.sessions(*market, day)
        if sessions:
            return sessions[-1].closes + SETTLED
    return None


def retry_seconds(failures: int) -> float:
    """Return how long to wait after so many failures in a row."""
    return float(min(FIRST_RETRY_SECONDS * 2 ** (failures - 1), MOST_RETRY_SECONDS))


@attrs.define
class Underway:
    """What is known of the load of one market's days until it is complete."""

    through: date
    failures: int = 0
    """Tries in a row after which something was left."""
    retry_at: float = 0.0
    """Monotonic seconds."""
    read: set[str] = attrs.field(factory=set)
    """Instruments that need not be read again."""
    empty: dict[str, int] = attrs.field(factory=dict)
    """Instrument -> how often it had no candle of the last day."""
    failed: set[str] = attrs.field(factory=set)
    """Of those read: no broker has candles that can be read."""
    trouble: str | None = None
    """Why the last try did not complete it."""


def _days(first: date, step: int) -> Iterator[date]:
    for count in range(MOST_DAYS_SEARCHED):
        yield first + count * step * _ONE_DAY
