"""Charges tables that nobody compared with their sources for over a year are said every day."""

import logging
from datetime import date, datetime, timedelta

import pytest
import trio

from onebroker.config.charges.load import built_in_charges
from onebroker.config.clock import IST, Clock
from onebroker.http.commands.service_process import warn_of_old_charges

pytestmark = pytest.mark.unit
CHECKED = built_in_charges().checked
OLD = CHECKED + timedelta(days=400)


def at(day: date) -> Clock:
    """A clock that goes on from noon of a day with trio's own."""
    return Clock.following_trio(datetime(day.year, day.month, day.day, 12, tzinfo=IST))


async def said_in_three_days(caplog, day: date) -> list[str]:
    caplog.set_level(logging.WARNING)
    with trio.move_on_after(3 * 86_400):
        await warn_of_old_charges(built_in_charges(), at(day))
    return [record.getMessage() for record in caplog.records]


async def test_old_tables_are_said_once_a_day(autojump_clock, caplog):
    said = await said_in_three_days(caplog, OLD)
    assert len(said) == 4  # the day of the start, and three midnights
    assert all(f"last compared with their sources on {CHECKED}" in line for line in said)


async def test_tables_that_grow_old_while_the_service_runs_are_said(autojump_clock, caplog):
    assert len(await said_in_three_days(caplog, CHECKED + timedelta(days=364))) == 2


async def test_of_young_tables_nothing_is_said(autojump_clock, caplog):
    assert await said_in_three_days(caplog, CHECKED) == []
