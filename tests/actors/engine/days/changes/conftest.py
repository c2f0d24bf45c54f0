import pytest
import trio

from tests.support.closing import Closing


@pytest.fixture
async def closing(day, autojump_clock):
    with trio.fail_after(86_400):
        async with day.market(), day.service(quotes=True):
            closing = Closing(day)
            await closing.quoted()
            yield closing
