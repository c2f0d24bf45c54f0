"""When each exchange trades: sessions, the pre-open, holidays and special sessions, as one immutable value, `Calendar`.

Two sources make the same value, chosen in one place at start (architecture 6): `calendar_from_documents` (the exchange
documents of rules 1.4.3) and `always_open` (the demo's market). No other code knows which one it holds. A running service
holds a `DocumentCalendar`, which its one owner brings in line with the documents when they are imported anew.

Rules
- A session contains its opening instant and not its closing instant: at 15:30:00 the equity market is closed, and at
  17:00:00 the commodity evening is open. The one exception is a session that runs to the end of the day (`END_OF_DAY`,
  only made by `always_open`, written 23:59): it contains its last instant too, so the next day's session joins without a gap.
- A special session stands beside the regular ones (Muhurat on a holiday) and replaces those it overlaps (a shortened day).
- The pre-open is no session: nothing trades continuously in it. It is held on days with a session opening where it ends.
- An exchange or a calendar it does not trade has no sessions; it is never open.
"""

from collections.abc import Iterable, Mapping
from datetime import date, datetime, time, timedelta
from typing import Any

import attrs

from onebroker.config.clock import IST
from onebroker.config.instruments import TRADING_EXCHANGES
from onebroker.config.timetables import END_OF_DAY, Hours, Timetable, read_timetables

CALENDARS = ("equity", "currency", "commodity")
"""The calendars of rules 1.4.3; `config.instruments.calendar_of` gives a segment's."""

MOST_DAYS_SEARCHED = 45
"""How far `next_open` and `last_close` look. No exchange has been closed longer; a document that says so means never."""

_DAYS_REMEMBERED = 4_096
_ONE_DAY = timedelta(days=1)


@attrs.frozen
class Session:
    """A stretch of continuous trading, or the pre-open, of one day."""

    name: str
    """`normal`, `morning`, `evening`, `pre_open`, or a special session's own name."""
    opens: datetime
    """Aware, IST; belongs to the session."""
    closes: datetime
    """Aware, IST; belongs to the session only at the end of the day (see the rules above)."""

    def contains(self, moment: datetime) -> bool:
        """Tell whether `moment` (aware) lies in the session."""
        return self.opens <= moment and (moment < self.closes or moment == self.closes == _end_of(self.closes))


@attrs.frozen
class Day:
    """What one calendar of one exchange does on one day."""

    sessions: tuple[Session, ...]
    """In time order, without overlaps."""
    pre_open: Session | None

    @property
    def openings(self) -> tuple[Session, ...]:
        """The pre-open, when there is one, and the sessions, in time order."""
        return self.sessions if self.pre_open is None else (self.pre_open, *self.sessions)


_CLOSED = Day((), None)


class Calendar:
    """Answers for (exchange, calendar) and a moment or a day; moments are aware datetimes, any offset.

    Immutable, but for `DocumentCalendar.follow`; days once worked out are remembered, because `is_open` is asked at every tick.
    """

    def __init__(self, timetables: Mapping[tuple[str, str], Timetable]) -> None:
        self._timetables = dict(timetables)
        self._days: dict[tuple[str, str, date], Day] = {}

    def detached(self) -> "Calendar":
        """Return a calendar of the same days that nothing else uses: for a worker thread, which must not touch what this one
        remembers (a day it works out while other documents are taken up would be remembered with the old ones)."""
        return Calendar(self._timetables)

    def trades(self, exchange: str, calendar: str) -> bool:
        """Tell whether the exchange has such a calendar at all."""
        return (exchange, calendar) in self._timetables

    def sessions(self, exchange: str, calendar: str, day: date) -> tuple[Session, ...]:
        """Return the day's sessions in time order; empty on a day without trading. A datetime stands for its India day."""
        return self._day(exchange, calendar, day).sessions

    def covers(self, exchange: str, calendar: str, day: date) -> bool:
        """Tell whether the holidays of the day's year are known, so that a day without sessions was none of trading."""
        timetable = self._timetables.get((exchange, calendar))
        return timetable is not None and _india_day(day).year in timetable.years

    def pre_open(self, exchange: str, day: date) -> Session | None:
        """Return the equity pre-open of a day, or None when the day or the exchange has none."""
        return self._day(exchange, "equity", day).pre_open

    def is_session_day(self, exchange: str, calendar: str, day: date) -> bool:
        """Tell whether anything trades on that day."""
        return bool(self.sessions(exchange, calendar, day))

    def current_session(self, exchange: str, calendar: str, moment: datetime) -> Session | None:
        """Return the session `moment` lies in; None outside, and in the pre-open."""
        for session in self.sessions(exchange, calendar, moment):
            if session.contains(moment):
                return session
        return None

    def is_open(self, exchange: str, calendar: str, moment: datetime) -> bool:
        """Tell whether a session is running; the pre-open is none."""
        return self.current_session(exchange, calendar, moment) is not None

    def any_open(self, pairs: Iterable[tuple[str, str]], moment: datetime) -> bool:
        """Tell whether a session of any of the (exchange, calendar) pairs is running."""
        return any(self.is_open(exchange, calendar, moment) for exchange, calendar in pairs)

    def next_open(self, exchange: str, calendar: str, moment: datetime) -> datetime | None:
        """Return the first opening of a session strictly after `moment`, whether or not one is running.

        None when there is none within MOST_DAYS_SEARCHED days, as for a calendar the exchange does not trade.
        """
        for day in self._days_from(exchange, calendar, moment, _ONE_DAY):
            for session in day.sessions:
                if session.opens > moment:
                    return session.opens
        return None

    def last_close(self, exchange: str, calendar: str, moment: datetime) -> datetime | None:
        """Return the close of the session that ended last, at or before `moment`; None as in `next_open`."""
        for day in self._days_from(exchange, calendar, moment, -_ONE_DAY):
            for session in reversed(day.sessions):
                if session.closes <= moment and not session.contains(moment):
                    return session.closes
        return None

    def closed_since_and_not_reopened(self, exchange: str, calendar: str, since: datetime, now: datetime) -> bool:
        """Tell whether a price received at `since` is still the market's last word at `now` (rules 1.4.7-2).

        True when nothing is running and nothing has opened after `since`: neither a session nor, because prices
        change in it, the pre-open. So a quote of yesterday's session serves until 09:00, one received after the close
        serves as one received before it, and one of yesterday does not serve tonight, when a session lies in between.
        False for a calendar the exchange does not trade: its window is not known.
        """
        if any(one.contains(now) for one in self._day(exchange, calendar, now).openings):
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
    """A calendar that follows the exchange documents: all but its owner (the reference actor) see a plain `Calendar`.

    Whoever holds it asks at each moment and keeps no answer for later, so new documents hold from the next question on.
    """

    def __init__(self, documents: Iterable[Mapping[str, Any]]) -> None:
        """Raises StructureError as `follow` does."""
        super().__init__(_timetables(documents))

    def follow(self, documents: Iterable[Mapping[str, Any]]) -> None:
        """Take up other documents as a whole (owner only). Raises StructureError, and then nothing has changed."""
        timetables = _timetables(documents)
        self._timetables = timetables
        self._days.clear()


class JoinedCalendar(Calendar):
    """One calendar before a day, another from that day on."""

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

    def _day(self, exchange: str, calendar: str, day: date) -> Day:
        responsible = self._before if _india_day(day) < self._first else self._since
        return responsible._day(exchange, calendar, day)


def calendar_from_documents(documents: Iterable[Mapping[str, Any]]) -> Calendar:
    """Return the calendar the exchange documents describe.

    Raises StructureError (config.converters) naming the exchange and the path of what does not fit rules 1.4.3.
    """
    return Calendar(_timetables(documents))


def _timetables(documents: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], Timetable]:
    timetables: dict[tuple[str, str], Timetable] = {}
    for document in documents:
        timetables.update(read_timetables(document))
    return timetables


def always_open() -> Calendar:
    """Return the calendar of a market that never closes: every day one session 00:00-23:59 (architecture 6).

    Weekends and holidays included, for every calendar of every exchange; no pre-open, no evening part. The last minute
    of the day is open: the session runs to END_OF_DAY and contains it, so `is_open` is true at every instant, and
    a close (a day's end for what lives until the close) still comes once a day.
    """
    timetable = Timetable(hours=(Hours("normal", time(0, 0), END_OF_DAY),), weekdays=frozenset(range(7)))
    return Calendar({(exchange, calendar): timetable for exchange in TRADING_EXCHANGES for calendar in CALENDARS})


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


def _india_day(day: date) -> date:
    return day.astimezone(IST).date() if isinstance(day, datetime) else day


def _end_of(moment: datetime) -> datetime:
    return datetime.combine(moment.date(), END_OF_DAY, IST)
