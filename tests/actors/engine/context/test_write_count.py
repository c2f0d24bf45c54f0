"""When SQLite hears of the engine's writes (order-engine 2.5, K19)."""

import trio
import trio.testing

from onebroker.actors.engine.context.write_count import FOLLOW_SECONDS, SETTLE_SECONDS, WriteCount
from onebroker.actors.store.durable import EngineCount, MemoryDurable
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
