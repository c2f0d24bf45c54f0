"""A trading day in one process, for the tests of all actors (`tests/support/day.py`)."""

from collections.abc import AsyncIterator

import pytest
import trio
from trio.testing import MockClock

from tests.support.day import Day


@pytest.fixture
async def day(autojump_clock: MockClock) -> AsyncIterator[Day]:
    with trio.fail_after(86_400):
        yield Day()


@pytest.fixture
def day_kind() -> type[Day]:
    """The class of a day, for a test that passes many of them."""
    return Day
