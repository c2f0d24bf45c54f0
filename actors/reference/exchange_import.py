"""Checks imported exchange documents (structure of rules 1.4.3, architecture 11), and adds the import's own fields to them.

`config.timetables` reads the hours of one document. This module checks what else a document must hold, so that no market counts as open
because a list was left out. It also makes the checks that concern several documents.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from itertools import combinations
from typing import Any

from onebroker.config.clock import IST
from onebroker.config.converters import StructureError
from onebroker.config.timetables import CALENDARS_OF_EXCHANGE, read_timetables

_TIMEZONE = "timezone"

Document = dict[str, Any]


def checked_exchanges(documents: list[Document], now: datetime) -> list[Document]:
    """Return the documents with `calendar_years` (from the holidays), and with `calendar_copied_at` and `short_name` if they lack them.

    Raises StructureError naming document and field.
    """
    problems: list[str] = []
    first: dict[str, int] = {}
    for number, document in enumerate(documents, start=1):
        found = _problems(document)
        exchange = document.get("exchange")
        if isinstance(exchange, str) and first.setdefault(exchange, number) != number:
            found = [f"exchange is that of document {first[exchange]} too", *found]
        problems += [f"document {number}: {problem}" for problem in found]
    if problems:
        raise StructureError(problems)
    return [_completed(document, now) for document in documents]


def _completed(document: Document, now: datetime) -> Document:
    years = {int(row["date"][:4]) for rows in document["holidays"].values() for row in rows}
    copied_at = document.get("calendar_copied_at") or now.astimezone(IST).isoformat(timespec="seconds")
    own = {"exchange": document["exchange"], "short_name": document.get("short_name") or document["exchange"].upper()}
    return {**own, **document, **own, "calendar_years": sorted(years), "calendar_copied_at": copied_at}


def _problems(document: Document) -> list[str]:
    exchange = document.get("exchange")
    if "exchange" not in document:
        return ["exchange is required"]
    if not isinstance(exchange, str) or exchange not in CALENDARS_OF_EXCHANGE:
        return [f"exchange must be one of {', '.join(CALENDARS_OF_EXCHANGE)}"]
    problems = list(_profile_problems(document))
    try:
        read_timetables(document)
    except StructureError as error:
        return [*problems, *error.lines]
    # Every field below this line has its type.
    hours = {name: entry for name, entry in document["trading_hours"].items() if name != _TIMEZONE}
    return [
        *problems,
        *_hours_problems(exchange, hours),
        *_holiday_problems(exchange, hours, document["holidays"]),
        *_part_problems(f"{exchange}.certain_holidays", hours, document.get("certain_holidays", {})),
        *_special_problems(exchange, hours, document["special_sessions"]),
    ]


def _profile_problems(document: Document) -> Iterable[str]:
    exchange = document["exchange"]
    short_name = document.get("short_name")
    if short_name is not None and not isinstance(short_name, str):
        yield f"{exchange}.short_name must be text"
    years = document.get("calendar_years", [])
    if not isinstance(years, list) or any(not isinstance(year, int) or isinstance(year, bool) for year in years):
        yield f"{exchange}.calendar_years must be a list of whole numbers"
    copied_at = document.get("calendar_copied_at")
    if copied_at is not None and not _is_timestamp(copied_at):
        yield f"{exchange}.calendar_copied_at must be a time such as 2026-11-20T09:15:00+05:30"


def _is_timestamp(value: object) -> bool:
    try:
        return isinstance(value, str) and bool(datetime.fromisoformat(value))
    except ValueError:
        return False


def _hours_problems(exchange: str, hours: Mapping[str, Any]) -> Iterable[str]:
    if not hours:
        yield f"{exchange}.trading_hours must have an entry for each calendar the exchange trades"
    for calendar, entry in hours.items():
        if not entry["sessions"]:
            yield f"{exchange}.trading_hours.{calendar}.sessions must not be empty"
        if calendar == "equity" and entry.get("pre_open") is None:
            yield f"{exchange}.trading_hours.equity.pre_open is required"


def _holiday_problems(exchange: str, hours: Mapping[str, Any], holidays: Mapping[str, Any]) -> Iterable[str]:
    # A missing list would mean that the market never rests: if that is meant, the list must be written as empty.
    yield from (f"{exchange}.holidays.{calendar} is required" for calendar in hours if calendar not in holidays)
    yield from _part_problems(f"{exchange}.holidays", hours, holidays)


def _part_problems(where: str, hours: Mapping[str, Any], holidays: Mapping[str, Any]) -> Iterable[str]:
    for calendar, rows in holidays.items():
        path = f"{where}.{calendar}"
        if calendar not in hours:
            yield f"{path} is of a calendar that has no trading_hours"
            continue
        parts = {"all", *(session["name"] for session in hours[calendar]["sessions"])}
        for index, row in enumerate(rows):
            if row["closed"] not in parts:
                yield f"{path}[{index}].closed names a session that trading_hours.{calendar} does not have"


def _special_problems(exchange: str, hours: Mapping[str, Any], specials: list[dict[str, Any]]) -> Iterable[str]:
    for index, special in enumerate(specials):
        path = f"{exchange}.special_sessions[{index}]"
        if not special["calendars"]:
            yield f"{path}.calendars must name a calendar"
        for calendar in special["calendars"]:
            if calendar not in hours:
                yield f"{path}.calendars names {calendar}, which has no trading_hours"
    same_day: dict[str, list[int]] = {}
    for index, special in enumerate(specials):
        same_day.setdefault(special["date"], []).append(index)
    for indexes in same_day.values():
        for earlier, later in combinations(indexes, 2):
            if _overlap(specials[earlier], specials[later]):
                yield f"{exchange}.special_sessions[{later}] overlaps special_sessions[{earlier}]"


def _overlap(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    shared = set(one["calendars"]) & set(other["calendars"])
    # Texts HH:MM sort like the times.
    return bool(shared) and one["opens"] < other["closes"] and other["opens"] < one["closes"]
