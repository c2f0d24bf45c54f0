"""A calendar that follows other exchange documents while it is in use."""

from datetime import datetime

import pytest

from onebroker.config.calendars import DocumentCalendar
from onebroker.config.clock import IST
from onebroker.config.converters import StructureError
from onebroker.config.exchange_documents import exchange_documents

TUESDAY_NOON = datetime(2026, 11, 17, 12, 0, tzinfo=IST)


def closed_that_day():
    documents = exchange_documents()
    holidays = [*documents[0]["holidays"]["equity"], {"date": "2026-11-17", "closed": "all", "name": "Drill"}]
    documents[0]["holidays"]["equity"] = sorted(holidays, key=lambda row: row["date"])
    return documents


def test_new_documents_hold_from_the_next_question_on_for_a_day_that_was_asked_before():
    calendar = DocumentCalendar(exchange_documents())
    assert calendar.is_open("nse", "equity", TUESDAY_NOON)
    calendar.follow(closed_that_day())
    assert not calendar.is_open("nse", "equity", TUESDAY_NOON)
    assert calendar.is_open("bse", "equity", TUESDAY_NOON)


def test_documents_are_taken_up_as_a_whole_or_not_at_all():
    calendar = DocumentCalendar(exchange_documents())
    broken = closed_that_day()
    broken[3]["trading_hours"]["timezone"] = "UTC"
    with pytest.raises(StructureError, match=r"ncdex\.trading_hours\.timezone"):
        calendar.follow(broken)
    assert calendar.is_open("nse", "equity", TUESDAY_NOON)
    calendar.follow(exchange_documents()[:1])
    assert not calendar.trades("mcx", "commodity")
