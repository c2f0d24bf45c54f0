"""What the tests of the engine share beside the day."""

import pytest
import trio


@pytest.fixture
async def market(day, autojump_clock):
    """A day whose market runs; a test starts the service as often as it likes."""
    with trio.fail_after(86_400):
        async with day.market():
            yield day
