"""What an exchange document may hold: every deviation from rules 1.4.3 is refused with its path."""

import copy
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.config.converters import StructureError
from onebroker.config.exchange_documents import exchange_documents
from onebroker.config.timetables import read_timetables, us_daylight_time
from tests.support.every_case import every_case

NSE = exchange_documents()[0]
MCX = exchange_documents()[2]


def changed(document: dict[str, Any], path: tuple[str | int, ...], value: object) -> dict[str, Any]:
    result = copy.deepcopy(document)
    inner: Any = result
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = value
    return result


@every_case(
    ("document", "path", "value", "sentence"),
    [
        (NSE, ("exchange",), "nsx", "nsx.exchange must be one of nse, bse, mcx, ncdex"),
        (NSE, ("trading_hours",), [], "nse.trading_hours must be an object"),
        (NSE, ("trading_hours", "timezone"), "UTC", "nse.trading_hours.timezone must be Asia/Kolkata"),
        (NSE, ("trading_hours", "equty"), {"sessions": []}, "nse.trading_hours.equty is not known; did you mean equity?"),
        (
            MCX, ("trading_hours", "equity"), {"sessions": []},
            "mcx.trading_hours.equity is not known",
        ),
        (
            NSE, ("trading_hours", "equity", "sessions", 0, "opens"), "9:15",
            "nse.trading_hours.equity.sessions[0].opens must be a time of day written HH:MM",
        ),
        (
            NSE, ("trading_hours", "equity", "sessions", 0, "closes"), "09:15",
            "nse.trading_hours.equity.sessions[0] must close after it opens",
        ),
        (
            NSE, ("trading_hours", "equity", "pre_open", "closes"), "08:00",
            "nse.trading_hours.equity.pre_open must close after it opens",
        ),
        (
            NSE, ("trading_hours", "commodity", "sessions", 1, "opens"), "16:00",
            "nse.trading_hours.commodity.sessions must be in time order without overlaps",
        ),
        (
            NSE, ("trading_hours", "currency", "pre_open"), {"opens": "08:00", "closes": "09:00"},
            "nse.trading_hours.currency.pre_open is only for equity",
        ),
        (
            NSE, ("holidays", "equity", 0, "closed"), "noon",
            "nse.holidays.equity[0].closed must be one of all, morning, evening",
        ),
        (
            NSE, ("holidays", "equity", 0, "closed"), "morning",
            "nse.holidays.equity: closed must be all, morning and evening are for commodity",
        ),
        (
            NSE, ("holidays", "equity", 0, "date"), "2030-01-01",
            "nse.holidays.equity must be sorted by date, each date once",
        ),
        (
            NSE, ("holidays", "equity", 0, "date"), "26-02-2025",
            "nse.holidays.equity[0].date must be a date written YYYY-MM-DD",
        ),
        (NSE, ("holidays", "metals"), [], "nse.holidays.metals is not known"),
        (
            MCX, ("special_sessions", 0, "calendars"), ["equity"],
            "mcx.special_sessions[0].calendars names equity, which mcx does not trade",
        ),
        (MCX, ("special_sessions", 0, "closes"), "08:00", "mcx.special_sessions[0] must close after it opens"),
        (MCX, ("special_sessions", 0, "calendars"), "commodity", "mcx.special_sessions[0].calendars must be a list"),
    ],
)  # fmt: skip
def test_a_document_that_does_not_fit_is_refused_with_its_path(
    document: dict[str, Any], path: tuple[str | int, ...], value: object, sentence: str
) -> None:
    with pytest.raises(StructureError) as refused:
        read_timetables(changed(document, path, value))
    assert sentence in refused.value.lines


@pytest.mark.parametrize("field", ["exchange", "holidays", "special_sessions"])
def test_a_missing_field_is_named(field: str) -> None:
    document = {name: value for name, value in NSE.items() if name != field}
    with pytest.raises(StructureError, match=f"{field} is required"):
        read_timetables(document)


def test_profile_fields_of_a_document_are_left_alone() -> None:
    assert read_timetables({**NSE, "website": "nseindia.com", "founded": 1992}) == read_timetables(NSE)


@given(st.dates(date(2007, 1, 1), date(2099, 12, 31)))
def test_daylight_time_follows_the_rule_the_united_states_keep_since_2007(day: date) -> None:
    def nth_sunday(month: int, which: int) -> date:
        sundays = [
            date(day.year, month, number) for number in range(1, 31) if date(day.year, month, number).weekday() == 6
        ]
        return sundays[which - 1]

    assert us_daylight_time(day) is (nth_sunday(3, 2) <= day < nth_sunday(11, 1))


@pytest.mark.parametrize(
    ("day", "daylight"),
    [("2026-03-07", False), ("2026-03-08", True), ("2026-10-31", True), ("2026-11-01", False), ("2027-03-14", True)],
)
def test_daylight_time_turns_on_the_published_days(day: str, daylight: bool) -> None:
    assert us_daylight_time(date.fromisoformat(day)) is daylight
