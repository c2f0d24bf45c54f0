"""The documents a fresh installation starts with have the structure of rules 1.4.3."""

from datetime import date, datetime
from typing import Any

import pytest

from onebroker.config.clock import IST
from onebroker.config.exchange_documents import exchange_documents
from onebroker.config.timetables import CALENDARS_OF_EXCHANGE, read_timetables

DOCUMENTS = {document["exchange"]: document for document in exchange_documents()}


def days(exchange: str, calendar: str, year: int) -> list[dict[str, str]]:
    return [row for row in DOCUMENTS[exchange]["holidays"][calendar] if row["date"].startswith(str(year))]


def test_there_is_one_document_for_each_exchange() -> None:
    assert list(DOCUMENTS) == ["nse", "bse", "mcx", "ncdex"]
    assert [document["short_name"] for document in DOCUMENTS.values()] == ["NSE", "BSE", "MCX", "NCDEX"]


@pytest.mark.parametrize("document", DOCUMENTS.values(), ids=DOCUMENTS)
def test_a_document_passes_its_own_checks_and_covers_its_calendars(document: dict[str, Any]) -> None:
    exchange = document["exchange"]
    assert {calendar for _, calendar in read_timetables(document)} == set(CALENDARS_OF_EXCHANGE[exchange])
    assert set(document["holidays"]) == set(CALENDARS_OF_EXCHANGE[exchange])


@pytest.mark.parametrize("document", DOCUMENTS.values(), ids=DOCUMENTS)
def test_every_date_lies_in_the_years_the_document_names(document: dict[str, Any]) -> None:
    dates = [row["date"] for rows in document["holidays"].values() for row in rows]
    dates += [row["date"] for row in document["special_sessions"]]
    assert {date.fromisoformat(day).year for day in dates} <= set(document["calendar_years"])
    assert {date.fromisoformat(row["date"]).year for row in document["holidays"]["commodity"]} == {2025, 2026}


def test_the_number_of_weekday_holidays_is_the_one_the_exchanges_announced() -> None:
    assert len(days("nse", "equity", 2025)) == 14
    assert len(days("nse", "equity", 2026)) == 15 + 1  # the elections of 15 January were added later
    assert len(days("bse", "currency", 2026)) == 19 + 1
    assert len(days("mcx", "commodity", 2025)) == 15
    assert len(days("bse", "commodity", 2026)) == 16 + 1


@pytest.mark.parametrize("document", DOCUMENTS.values(), ids=DOCUMENTS)
def test_holidays_fall_on_weekdays(document: dict[str, Any]) -> None:
    rows = [row for rows in document["holidays"].values() for row in rows]
    assert {date.fromisoformat(row["date"]).weekday() for row in rows} <= {0, 1, 2, 3, 4}


@pytest.mark.parametrize("document", DOCUMENTS.values(), ids=DOCUMENTS)
def test_certain_holidays_are_weekdays_of_a_year_whose_list_is_not_out(document: dict[str, Any]) -> None:
    assert set(document["certain_holidays"]) == set(document["holidays"])
    for rows in document["certain_holidays"].values():
        assert [row["date"] for row in rows] == ["2027-01-26", "2027-03-26", "2027-04-14"]
        assert {date.fromisoformat(row["date"]).weekday() for row in rows} <= {0, 1, 2, 3, 4}
    assert 2027 not in document["calendar_years"]


def test_a_holiday_of_the_equity_calendar_is_one_of_the_currency_calendar_too() -> None:
    equity = {row["date"] for row in DOCUMENTS["nse"]["holidays"]["equity"]}
    assert equity <= {row["date"] for row in DOCUMENTS["nse"]["holidays"]["currency"]}


def test_each_call_gives_a_copy_of_its_own() -> None:
    changed = exchange_documents()
    changed[0]["holidays"]["equity"].clear()
    assert exchange_documents()[0]["holidays"]["equity"]
    assert exchange_documents()[1]["holidays"]["equity"]


def test_the_copying_time_is_a_timestamp_of_india() -> None:
    copied = datetime.fromisoformat(DOCUMENTS["nse"]["calendar_copied_at"])
    assert copied.utcoffset() == IST.utcoffset(None)
