"""A trading day for the order types."""

import pytest
import trio

from tests.support.trading import Trading


@pytest.fixture
async def trading(day, autojump_clock):
    assert trio.lowlevel.current_clock() is autojump_clock, "a test that takes `trading` must take `autojump_clock` too"
    with trio.fail_after(86_400):
        async with day.market(), day.service(quotes=True):
            yield Trading(day)
