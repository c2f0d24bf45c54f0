"""Changes told to one reader: newest per key, bounded, nothing missed."""

import trio
from trio.testing import wait_all_tasks_blocked

from onebroker.actors.kernel.conflation import Changes


async def test_the_reader_gets_the_newest_of_each_key_once():
    changes: Changes[str, int] = Changes()
    for key, value in (("a", 1), ("b", 2), ("a", 3)):
        changes.note(key, value)
    taken = changes.take()
    assert (taken.newest, list(taken.newest), taken.overflowed) == ({"a": 3, "b": 2}, ["a", "b"], False)
    assert changes.take().newest == {}


async def test_a_reader_that_waits_is_woken_and_one_that_comes_late_does_not_wait(autojump_clock, nursery):
    changes: Changes[str, int] = Changes()
    woken = []

    async def read() -> None:
        await changes.wait()
        woken.append(changes.take().newest)

    nursery.start_soon(read)
    await wait_all_tasks_blocked()
    assert woken == []
    changes.note("a", 1)
    await wait_all_tasks_blocked()
    changes.note("a", 2)
    with trio.fail_after(1):
        await read()
    assert woken == [{"a": 1}, {"a": 2}]


async def test_more_keys_than_are_kept_are_said_to_be_missing_until_the_next_look():
    changes: Changes[int, int] = Changes(most_keys=2)
    for key in (1, 2, 3, 1):
        changes.note(key, key * 10)
    taken = changes.take()
    assert (taken.newest, taken.overflowed) == ({1: 10, 2: 20}, True)
    assert not changes.take().overflowed
