"""Published values: read at once, watched without missing one."""

import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from onebroker.actors.kernel.published import Published


async def test_a_value_is_read_as_it_was_last_set(autojump_clock: MockClock) -> None:
    published = Published("start")
    assert (published.value, published.version, published.published_at) == ("start", 0, None)
    await trio.sleep(3)
    published.set("next")
    assert (published.value, published.version, published.published_at) == ("next", 1, trio.current_time())


async def test_a_watcher_sees_a_change_made_before_it_waits(autojump_clock: MockClock) -> None:
    published = Published(0)
    published.set(1)
    with trio.fail_after(1):
        assert await published.wait_newer(0) == 1


async def test_every_watcher_wakes_and_gets_the_newest(autojump_clock: MockClock, nursery: trio.Nursery) -> None:
    published = Published(0)
    seen: list[int] = []

    async def watch() -> None:
        seen.append(await published.wait_newer(published.version))

    for _ in range(3):
        nursery.start_soon(watch)
    await wait_all_tasks_blocked()
    published.set(1)
    published.set(2)
    await wait_all_tasks_blocked()
    assert seen == [2, 2, 2]
