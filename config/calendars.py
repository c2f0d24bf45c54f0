"""When each exchange trades: sessions, the pre-open, holidays and special sessions, as one immutable value, `Calendar`.

Two sources make the same value, chosen in one place at start (architecture 6): `calendar_from_documents` (the exchange
documents of rules 1.4.3) and `always_open` (the demo's market). No other code knows which source its calendar has. A
running service holds a `DocumentCalendar`. Its one owner updates it when the documents are imported again.

Rules
- A session contains its opening instant and not its closing instant: at 15:30:00 the equity market is closed, and at
  17:00:00 the commodity evening is open. The one exception is a session that runs to the end of the day (`END_OF_DAY`,
  made only by `always_open`, written 23:59). It contains its last instant too, so the next day's session follows
  without a gap.
- A special session is added to the regular sessions (Muhurat on a holiday). It replaces the regular sessions that it
  overlaps (a shortened day).
- The pre-open is not a session: there is no continuous trading in it. It is held only on days on which a session opens
  when the pre-open ends.
- An exchange has no sessions in a calendar that it does not trade: it is never open there.
- A day of a year whose holidays are not known counts as a trading day, except at weekends and on the holidays that are
  certain. So an exit can leave on it. `day_state` says that nobody knows.
"""

from collections.abc import Iterable, Mapping
from datetime import date, datetime, time, timedelta
from enum import StrEnum
from functools import cached_property
from typing import Any

import attrs

from onebroker.config.clock import IST
from onebroker.config.instruments import TRADING_EXCHANGES
from onebroker.config.timetables import CALENDARS_OF_EXCHANGE, END_OF_DAY, Hours, Timetable, read_timetables

CALENDARS = ("equity", "currency", "commodity")
"""The calendars of rules 1.4.3; `config.instruments.calendar_of` gives the calendar of a segment."""

MOST_DAYS_SEARCHED = 45
"""How many days `next_open` and `last_close` search. No exchange has been closed longer; a longer closure in a document
means that it never opens."""

_DAYS_REMEMBERED = 4_096
_ONE_DAY = timedelta(days=1)
_EPOCH = date(1970, 1, 1)
_INDIA_AHEAD_SECONDS = 19_800


@attrs.frozen
class Session:
    """A stretch of continuous trading, or the pre-open, of one day."""

    name: str
    """`normal`, `morning`, `evening`, `pre_open`, or a special session's own name."""
    opens: datetime
    """Aware, IST; this instant is part of the session."""
    closes: datetime
    """Aware, IST; this instant is part of the session only at the end of the day (see the rules above)."""

    def contains(self, moment: datetime) -> bool:
        """Tell whether `moment` (aware) lies in the session."""
        return self.opens <= moment and (moment < self.closes or moment == self.closes == _end_of(self.closes))


@attrs.frozen
class Day:
    """What one calendar of one exchange does on one day."""

    sessions: tuple[Session, ...]
    """In time order, without overlaps."""
    pre_open: Session | None

    @cached_property
    def session_seconds(self) -> tuple[tuple[float, float, bool], ...]:
        """Opening and close of each session, epoch seconds, and whether it runs to the end of the day."""
        return tuple(
            (session.opens.timestamp(), session.closes.timestamp(), session.closes == _end_of(session.closes))
            for session in self.sessions
        )

    @property
    def openings(self) -> tuple[Session, ...]:
        """The pre-open, if there is one, and then the sessions, in time order."""
        return self.sessions if self.pre_open is None else (self.pre_open, *self.sessions)


_CLOSED = Day((), None)


class DayState(StrEnum):
    """What is known of one day of a market."""

    TRADING = "trading"
    CLOSED = "closed"
    UNKNOWN = "unknown"
    """The holidays of the year are not known. The day counts as a trading day, and it may be a holiday."""


class Calendar:
    """Answers questions about an (exchange, calendar) pair and a moment or a day. Moments are aware datetimes of any
    offset.

    Immutable, except for `DocumentCalendar.follow`. Computed days are remembered, because `is_open` is called at every
    tick.
    """

    def __init__(self, timetables: Mapping[tuple[str, str], Timetable]) -> None:
        self._timetables = dict(timetables)
        self._days: dict[tuple[str, str, date], Day] = {}

    def detached(self) -> "Calendar":
        """Return a separate calendar of the same days, for a worker thread. The worker must not touch the days that
        this calendar remembers: a day computed while other documents are taken up would be remembered with the old
        hours."""
        return Calendar(self._timetables)

    def trades(self, exchange: str, calendar: str) -> bool:
        """Tell whether the exchange has this calendar at all."""
        return (exchange, calendar) in self._timetables

    def sessions(self, exchange: str, calendar: str, day: date) -> tuple[Session, ...]:
        """Return the day's sessions in time order; empty on a day without trading. A datetime means its day in India."""
        return self._day(exchange, calendar, day).sessions

    def session_after(self, exchange: str, calendar: str, moment: float) -> tuple[float, float] | None:
        """Return opening and close of the first day of sessions that has not closed at `moment`; all in epoch seconds. The sessions of a day
        count as one. None when there is none within MOST_DAYS_SEARCHED days."""
        first = _day_of_second(moment)
        for count in range(MOST_DAYS_SEARCHED):
            seconds = self._day(exchange, calendar, first + count * _ONE_DAY).session_seconds
            if seconds and seconds[-1][1] > moment:
                return seconds[0][0], seconds[-1][1]
        return None

    def covers(self, exchange: str, calendar: str, day: date) -> bool:
        """Tell whether the holidays of the day's year are known. Only then is a day without sessions certainly a day without trading."""
        timetable = self._timetables.get((exchange, calendar))
        return timetable is not None and _india_day(day).year in timetable.years

    def day_state(self, exchange: str, calendar: str, day: date) -> DayState:
        """Return what is known of a day: whether the market trades on it, or that nobody knows. A datetime means its day in India."""
        if not self.is_session_day(exchange, calendar, day):
            return DayState.CLOSED
        timetable = self._timetables[exchange, calendar]
        return DayState.TRADING if timetable.knows(_india_day(day)) else DayState.UNKNOWN

    def markets(self) -> tuple[tuple[str, str], ...]:
        """Return every (exchange, calendar) that is traded, in a fixed order."""
        return tuple(
            (str(exchange), name) for exchange in TRADING_EXCHANGES for name in CALENDARS if self.trades(exchange, name)
        )

    def known_until(self, exchange: str) -> date | None:
        """Return the last day whose holidays are known in every calendar of the exchange that knows any. None where none knows any: the
        exchange is unknown, its documents name no holiday, or its market never closes."""
        last_years = [
            max(timetable.years)
            for (of, _), timetable in self._timetables.items()
            if of == exchange and timetable.years
        ]
        return date(min(last_years), 12, 31) if last_years else None

    def pre_open(self, exchange: str, day: date) -> Session | None:
        """Return the equity pre-open of a day, or None when the day or the exchange has none."""
        return self._day(exchange, "equity", day).pre_open

    def is_session_day(self, exchange: str, calendar: str, day: date) -> bool:
        """Tell whether anything trades on that day."""
        return bool(self.sessions(exchange, calendar, day))

    def current_session(self, exchange: str, calendar: str, moment: datetime) -> Session | None:
        """Return the session that contains `moment`; None outside sessions and in the pre-open."""
        for session in self.sessions(exchange, calendar, moment):
            if session.contains(moment):
                return session
        return None

    def is_open(self, exchange: str, calendar: str, moment: datetime) -> bool:
        """Tell whether a session is running; the pre-open is not a session."""
        return self.current_session(exchange, calendar, moment) is not None

    def is_open_at(self, exchange: str, calendar: str, moment: float) -> bool:
        """Tell what `is_open` tells of `moment`, in epoch seconds to the microsecond. It is asked for every quote that a plan acts on."""
        at = round(moment, 6)
        return any(
            opens <= at and (at < closes or (at == closes and ends_the_day))
            for opens, closes, ends_the_day in self._day(exchange, calendar, _day_of_second(at)).session_seconds
        )

    def any_open(self, pairs: Iterable[tuple[str, str]], moment: datetime) -> bool:
        """Tell whether a session of any of the (exchange, calendar) pairs is running."""
        return any(self.is_open(exchange, calendar, moment) for exchange, calendar in pairs)

    def next_open(self, exchange: str, calendar: str, moment: datetime) -> datetime | None:
        """Return the first opening of a session strictly after `moment`, whether or not a session is running at
        `moment`.

        None when no session opens within MOST_DAYS_SEARCHED days, as for a calendar that the exchange does not trade.
        """
        for day in self._days_from(exchange, calendar, moment, _ONE_DAY):
            for session in day.sessions:
                if session.opens > moment:
                    return session.opens
        return None

    def last_close(self, exchange: str, calendar: str, moment: datetime) -> datetime | None:
        """Return the close of the last session that ended at or before `moment`; None as in `next_open`."""
        for day in self._days_from(exchange, calendar, moment, -_ONE_DAY):
            for session in reversed(day.sessions):
                if session.closes <= moment and not session.contains(moment):
                    return session.closes
        return None

    def closed_since_and_not_reopened(self, exchange: str, calendar: str, since: datetime, now: datetime) -> bool:
        """Tell whether a price received at `since` is still the market's last price at `now` (rules 1.4.7-2).

        True when nothing is open at `now` and nothing has opened after `since`. The pre-open counts as well as the
        sessions, because prices change in it. So a quote of yesterday's session is usable until 09:00, and a quote
        received after the close is as good as one received before it. A quote of yesterday is not usable tonight,
        because a session lies in between. False for a calendar that the exchange does not trade: its hours are not
        known.
        """
        if any(session.contains(now) for session in self._day(exchange, calendar, now).openings):
            return False
        opened = self._last_opening(exchange, calendar, now)
        return opened is not None and opened <= since

    def _last_opening(self, exchange: str, calendar: str, moment: datetime) -> datetime | None:
        for day in self._days_from(exchange, calendar, moment, -_ONE_DAY):
            for session in reversed(day.openings):
                if session.opens <= moment:
                    return session.opens
        return None

    def _days_from(self, exchange: str, calendar: str, moment: datetime, step: timedelta) -> Iterable[Day]:
        if self.trades(exchange, calendar):
            first = _india_day(moment)
            for count in range(MOST_DAYS_SEARCHED):
                yield self._day(exchange, calendar, first + count * step)

    def _day(self, exchange: str, calendar: str, day: date) -> Day:
        key = (exchange, calendar, _india_day(day))
        known = self._days.get(key)
        if known is None:
            timetable = self._timetables.get(key[:2])
            known = _CLOSED if timetable is None else _plan_day(timetable, key[2])
            if len(self._days) >= _DAYS_REMEMBERED:
                self._days.clear()
            self._days[key] = known
        return known


class DocumentCalendar(Calendar):
    """A calendar that follows the exchange documents. Only its owner (the reference actor) sees more than a plain
    `Calendar`.

    Its users ask at each moment and keep no answer for later, so new documents are in force from the next question on.
    """

    def __init__(self, documents: Iterable[Mapping[str, Any]]) -> None:
        """Raises StructureError as `follow` does."""
        super().__init__(_timetables(documents))

    def follow(self, documents: Iterable[Mapping[str, Any]]) -> None:
        """Replace the documents as a whole (owner only). Raises StructureError; then nothing has changed."""
        timetables = _timetables(documents)
        self._timetables = timetables
        self._days.clear()


class JoinedCalendar(Calendar):
    """One calendar for the days before a given day, and another from that day on."""

    def __init__(self, before: Calendar, day: date, since: Calendar) -> None:
        super().__init__({})
        self._before, self._first, self._since = before, day, since

    def detached(self) -> Calendar:
        return JoinedCalendar(self._before.detached(), self._first, self._since.detached())

    def trades(self, exchange: str, calendar: str) -> bool:
        return self._before.trades(exchange, calendar) or self._since.trades(exchange, calendar)

    def covers(self, exchange: str, calendar: str, day: date) -> bool:
        responsible = self._before if _india_day(day) < self._first else self._since
        return responsible.covers(exchange, calendar, day)

    def day_state(self, exchange: str, calendar: str, day: date) -> DayState:
        responsible = self._before if _india_day(day) < self._first else self._since
        return responsible.day_state(exchange, calendar, day)

    def known_until(self, exchange: str) -> date | None:
        return self._since.known_until(exchange)

    def _day(self, exchange: str, calendar: str, day: date) -> Day:
        responsible = self._before if _india_day(day) < self._first else self._since
        return responsible._day(exchange, calendar, day)


def calendar_from_documents(documents: Iterable[Mapping[str, Any]]) -> Calendar:
    """Return the calendar that the exchange documents describe.

    Raises StructureError (config.converters). It names the exchange and the path of each value that does not fit rules
    1.4.3.
    """
    return Calendar(_timetables(documents))


def _timetables(documents: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], Timetable]:
    timetables: dict[tuple[str, str], Timetable] = {}
    for document in documents:
        timetables.update(read_timetables(document))
    return timetables


def always_open() -> Calendar:
    """Return the calendar of a market that never closes: every day has one session, 00:00-23:59 (architecture 6).

    This includes weekends and holidays, for every calendar that an exchange trades. There is no pre-open and no evening
    session. The session runs to END_OF_DAY and contains that instant, so `is_open` is always true. Anything that lives
    until the close still sees one close a day.
    """
    timetable = Timetable(
        hours=(Hours("normal", time(0, 0), END_OF_DAY),), weekdays=frozenset(range(7)), never_closes=True
    )
    return Calendar(
        {(exchange, calendar): timetable for exchange, names in CALENDARS_OF_EXCHANGE.items() for calendar in names}
    )


def _plan_day(timetable: Timetable, day: date) -> Day:
    special = [_session(hours, day) for hours in timetable.specials.get(day, ())]
    regular = [_session(hours, day) for hours in timetable.regular_hours(day)]
    kept = [session for session in regular if not any(_overlap(session, other) for other in special)]
    sessions = tuple(sorted((*kept, *special), key=lambda session: session.opens))
    pre_open = _session(timetable.pre_open, day) if timetable.pre_open else None
    if pre_open and not any(session.opens == pre_open.closes for session in sessions):
        pre_open = None
    return Day(sessions, pre_open)


def _session(hours: Hours, day: date) -> Session:
    return Session(
        hours.name, datetime.combine(day, hours.opens, IST), datetime.combine(day, hours.closing_time(day), IST)
    )


def _overlap(one: Session, other: Session) -> bool:
    return one.opens < other.closes and other.opens < one.closes


def _day_of_second(moment: float) -> date:
    """Return the day in India of a moment in epoch seconds. India has no summer time."""
    return _EPOCH + timedelta(days=int((moment + _INDIA_AHEAD_SECONDS) // 86_400))


def _india_day(day: date) -> date:
    return day.astimezone(IST).date() if isinstance(day, datetime) else day


def _end_of(moment: datetime) -> datetime:
    return datetime.combine(moment.date(), END_OF_DAY, IST)
