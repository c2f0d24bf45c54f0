"""A trading day in one process, for the tests of all actors (`tests/support/day.py`)."""

import pytest
import trio

from tests.support.day import Day


@pytest.fixture
async def day(autojump_clock):
    with trio.fail_after(86_400):
        yield Day()


@pytest.fixture
def day_kind():
    """The class of a day, for a test that passes many of them."""
    return Day
