"""The hours that an exchange document states (rules 1.4.3), read field by field into `Timetable`s.

This module says what a document may hold and what each field means for one day; `config.calendars` turns days into
sessions. The import of exchange documents also checks the documents with `read_timetables`.
"""

from collections.abc import Mapping
from datetime import date, time, timedelta
from enum import StrEnum
from itertools import pairwise
from typing import Any, Literal

import attrs

from onebroker.config.converters import StructureError, WrongValueError, join, structure, unknown_key

END_OF_DAY = time.max
"""The last instant of a day. HH:MM writes it 23:59; only the always-open market uses it."""

CALENDARS_OF_EXCHANGE: dict[str, tuple[str, ...]] = {
    "nse": ("equity", "currency", "commodity"),
    "bse": ("equity", "currency", "commodity"),
    "mcx": ("commodity",),
    "ncdex": ("commodity",),
}
"""Which calendars an exchange may have (rules 1.4.3)."""

_WORKING_WEEK = frozenset(range(5))
_SUNDAY = 6


class Closed(StrEnum):
    """Which part of a holiday is closed; `morning` and `evening` name the sessions of a commodity calendar."""

    ALL = "all"
    MORNING = "morning"
    EVENING = "evening"


@attrs.frozen
class Hours:
    """A session as a document states it; times of day are in IST."""

    name: str
    opens: time
    closes: time
    closes_during_us_standard_time: time | None = None
    """The close on days of standard time in the United States; None = the same close all year."""

    def __attrs_post_init__(self) -> None:
        latest = self.closes_during_us_standard_time
        _check_span(self.opens, self.closes if latest is None else min(self.closes, latest))

    def closing_time(self, day: date) -> time:
        """Return the close on that day."""
        winter = self.closes_during_us_standard_time
        return self.closes if winter is None or us_daylight_time(day) else winter


@attrs.frozen
class Timetable:
    """The hours of one calendar of one exchange."""

    hours: tuple[Hours, ...]
    pre_open: Hours | None = None
    holidays: Mapping[date, Closed] = attrs.field(factory=dict)
    specials: Mapping[date, tuple[Hours, ...]] = attrs.field(factory=dict)
    weekdays: frozenset[int] = _WORKING_WEEK
    """Monday is 0."""
    certain_holidays: Mapping[date, Closed] = attrs.field(factory=dict)
    """Holidays that are certain before the exchange has published the list of their year. They do not make the year known."""
    never_closes: bool = False
    """Whether the market has no holidays at all (the demo's), so that each of its days is known."""

    years: frozenset[int] = attrs.field(init=False)
    """The years whose holidays are known. For other years it is not known which days were closed."""

    @years.default
    def _years_of_holidays(self) -> frozenset[int]:
        return frozenset(day.year for day in self.holidays)

    def knows(self, day: date) -> bool:
        """Tell whether it is known for certain what the market does on that day."""
        return self.never_closes or day.year in self.years

    def regular_hours(self, day: date) -> tuple[Hours, ...]:
        """Return the regular sessions of that day, without the special ones."""
        if day.weekday() not in self.weekdays:
            return ()
        closed = self.holidays.get(day)
        if closed is None and day.year not in self.years:
            closed = self.certain_holidays.get(day)
        if closed is None:
            return self.hours
        return tuple(hours for hours in self.hours if closed is not Closed.ALL and hours.name != closed)


def _check_span(opens: time, closes: time) -> None:
    if closes <= opens:
        raise WrongValueError("must close after it opens")


def us_daylight_time(day: date) -> bool:
    """Tell whether the United States are on daylight time: from the second Sunday of March to before the first Sunday of November."""
    return _sunday(day.year, 3, 2) <= day < _sunday(day.year, 11, 1)


def _sunday(year: int, month: int, which: int) -> date:
    first = date(year, month, 1)
    return first + timedelta(days=(_SUNDAY - first.weekday()) % 7 + 7 * (which - 1))


# What a document holds


@attrs.frozen
class PreOpen:
    opens: time
    closes: time

    def __attrs_post_init__(self) -> None:
        _check_span(self.opens, self.closes)


@attrs.frozen
class CalendarHours:
    sessions: tuple[Hours, ...]
    pre_open: PreOpen | None = None


@attrs.frozen
class Holiday:
    date: date
    closed: Closed
    name: str


@attrs.frozen
class SpecialSession:
    date: date
    name: str
    calendars: tuple[str, ...]
    opens: time
    closes: time

    def __attrs_post_init__(self) -> None:
        _check_span(self.opens, self.closes)


@attrs.frozen
class ExchangeHours:
    """The calendar fields of an exchange document; its other profile fields are not read here."""

    exchange: Literal["nse", "bse", "mcx", "ncdex"]
    trading_hours: Mapping[str, CalendarHours]
    holidays: Mapping[str, tuple[Holiday, ...]]
    special_sessions: tuple[SpecialSession, ...]
    certain_holidays: Mapping[str, tuple[Holiday, ...]] = attrs.field(factory=dict)
    """Of years whose list is not published yet. They count only in a year without `holidays`."""


def read_timetables(document: Mapping[str, Any]) -> dict[tuple[str, str], Timetable]:
    """Return the timetable of each (exchange, calendar) of one exchange document.

    Raises StructureError, which names the exchange and the path of each value that does not fit.
    """
    where = str(document.get("exchange", "exchange document"))
    hours = _read_hours(document, where)
    problems = _check_calendars(hours, where)
    if problems:
        raise StructureError(problems)
    return {(hours.exchange, calendar): _timetable(hours, calendar) for calendar in hours.trading_hours}


def _read_hours(document: Mapping[str, Any], where: str) -> ExchangeHours:
    names = ("exchange", "holidays", "special_sessions", "certain_holidays")
    fields = {name: document[name] for name in names if name in document}
    trading_hours = document.get("trading_hours")
    if not isinstance(trading_hours, Mapping):
        raise StructureError([f"{where}.trading_hours must be an object"])
    if trading_hours.get("timezone") != "Asia/Kolkata":
        raise StructureError([f"{where}.trading_hours.timezone must be Asia/Kolkata"])
    fields["trading_hours"] = {name: value for name, value in trading_hours.items() if name != "timezone"}
    return structure(ExchangeHours, fields, where)


def _check_calendars(hours: ExchangeHours, where: str) -> list[str]:
    known = CALENDARS_OF_EXCHANGE[hours.exchange]
    named = [(f"{where}.trading_hours", name) for name in hours.trading_hours]
    listed = {"holidays": hours.holidays, "certain_holidays": hours.certain_holidays}
    named += [(f"{where}.{field}", name) for field, lists in listed.items() for name in lists]
    problems = [unknown_key(path, name, known) for path, name in named if name not in known]
    for index, special in enumerate(hours.special_sessions):
        path = join(f"{where}.special_sessions", index)
        problems += [
            f"{path}.calendars names {name}, which {where} does not trade"
            for name in special.calendars
            if name not in known
        ]
    for path, calendar, rows in (
        (f"{where}.{field}.{calendar}", calendar, rows)
        for field, lists in listed.items()
        for calendar, rows in lists.items()
    ):
        if [row.date for row in rows] != sorted({row.date for row in rows}):
            problems.append(f"{path} must be sorted by date, each date once")
        if calendar != "commodity" and any(row.closed is not Closed.ALL for row in rows):
            problems.append(f"{path}: closed must be all, morning and evening are for commodity")
    for calendar, entry in hours.trading_hours.items():
        path = f"{where}.trading_hours.{calendar}"
        if calendar != "equity" and entry.pre_open is not None:
            problems.append(f"{path}.pre_open is only for equity")
        if any(later.opens < earlier.closes for earlier, later in pairwise(entry.sessions)):
            problems.append(f"{path}.sessions must be in time order without overlaps")
    return problems


def _timetable(hours: ExchangeHours, calendar: str) -> Timetable:
    entry = hours.trading_hours[calendar]
    specials: dict[date, tuple[Hours, ...]] = {}
    for special in hours.special_sessions:
        if calendar in special.calendars:
            session = Hours(special.name, special.opens, special.closes)
            specials[special.date] = (*specials.get(special.date, ()), session)
    return Timetable(
        hours=entry.sessions,
        pre_open=None if entry.pre_open is None else Hours("pre_open", entry.pre_open.opens, entry.pre_open.closes),
        holidays={row.date: row.closed for row in hours.holidays.get(calendar, ())},
        specials=specials,
        certain_holidays={row.date: row.closed for row in hours.certain_holidays.get(calendar, ())},
    )
