"""When SQLite hears of the engine's writes (order-engine 2.5, K19)."""

import pytest
import trio
import trio.testing

from onebroker.actors.engine.context.write_count import (
    FOLLOW_SECONDS,
    RUNS_BACK,
    SETTLE_SECONDS,
    WriteCount,
    count_after_restore,
    runs_asked,
)
from onebroker.actors.store import keys
from onebroker.actors.store.durable import EngineCount
from onebroker.actors.store.durable_memory import MemoryDurable
from onebroker.actors.store.interface import Fence, Set
from onebroker.actors.store.memory import MemoryStore
from onebroker.config.clock import Clock

FENCE = Fence("lock", b"ours")


async def test_what_an_order_writes_is_kept_at_once_and_when_it_has_left(autojump_clock, nursery):
    """The write ahead of the leg is what must not be forgotten: counting the journal's alone first would hold it back."""
    store, durable = MemoryStore(Clock.following_trio(Clock().now())), MemoryDurable()
    await store.take_lock(FENCE.key, FENCE.value, 60, may_replace=None)
    count = WriteCount(store, durable)
    await count.begin()
    nursery.start_soon(count.keep)
    await trio.testing.wait_all_tasks_blocked()
    for writes in (2, 4):
        before = await durable.engine_count()
        await count.commit(Set("journal", b"1"), fence=FENCE)
        await trio.sleep(SETTLE_SECONDS / 2)
        assert await durable.engine_count() == before
        await count.commit(Set("leg", b"1"), fence=FENCE)
        await trio.sleep(SETTLE_SECONDS)
        assert await durable.engine_count() == EngineCount(run=1, writes=writes)
        await trio.sleep(2 * FOLLOW_SECONDS)


@pytest.mark.parametrize(
    ("whole", "run", "asked"),
    [
        (6, 7, [6]),  # the last run was whole until the store lost its last writes
        (4, 7, [6, 5, 4]),
        (1, 12, [11, 10, 2, 1]),
        (0, 3, [2, 1]),  # an empty store
        (7, 7, []),
    ],
)
def test_brokers_are_asked_for_the_orders_of_the_first_and_the_last_lost_runs(whole, run, asked):
    assert list(runs_asked(whole, run)) == asked


async def test_a_restored_store_counts_as_lost_and_makes_no_token_of_a_run_after_the_backup(autojump_clock):
    """The backup's run 5 went on after it, and the service may have been started again: runs 6 and on have made tokens too."""
    store, durable = MemoryStore(Clock.following_trio(Clock().now())), MemoryDurable()
    await store.write(Set(keys.ENGINE_WRITES, b"9"), Set(keys.ENGINE_WHOLE, b"5"))
    await durable.put_engine_count(count_after_restore(EngineCount(run=5, writes=8)))
    count = WriteCount(store, durable)
    await count.begin()
    assert count.lost
    assert not count.books_known.is_set()
    assert count.run == 5 + RUNS_BACK
    assert list(count.runs) == list(range(5 + RUNS_BACK, 4, -1))
    assert 5 in count.lost_runs


def test_a_backup_of_an_engine_that_never_ran_counts_as_lost_too():
    assert count_after_restore(None) == EngineCount(run=RUNS_BACK, writes=0, lost=True)
