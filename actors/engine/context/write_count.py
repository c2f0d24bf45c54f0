"""Whether the store has lost what the engine wrote last: each of its writes is counted in Redis by the same script, and a moment later
in SQLite (order-engine 2.5, K19).

A power loss, a failover or a copy that was put back leaves fewer in Redis than SQLite knows of. SQLite follows off the way of the
orders, several writes at a time, so a loss of the last moment alone is not seen. Each run of the engine makes other leg tokens besides:
no token that may have been handed out is made again.
"""

import logging

import trio

from onebroker.actors.store import keys
from onebroker.actors.store.durable import Durable, DurableError, EngineCount
from onebroker.actors.store.interface import Fence, Op, Set, Store, StoreError

SETTLE_SECONDS = 0.02
"""How long the first write after a quiet time waits for SQLite: with it goes the order's write ahead, and SQLite's work is done when the
order has left."""
FOLLOW_SECONDS = 0.1
"""Least time between two writes to SQLite."""
CHECK_SECONDS = 5.0
"""How often Redis is asked for its count: a server may lose writes and come back while the engine runs."""
RETRY_SECONDS = 1.0
RUNS_BACK = 32
"""Of so many runs before this one the tokens are looked for in the books."""
RUNS_ASKED = 4
"""Of so many at most brokers are asked for orders by token: each costs them as many calls again, and a store that lost more is an
old copy, whose orders have stood in the books for long."""

_log = logging.getLogger("onebroker.engine")


class StoreLostWrites(Exception):
    """Redis has come back with fewer writes than it had acknowledged: the engine must start anew."""


class WriteCount:
    """The count of one run of the engine. Without a durable store nothing is counted, and every run is the first."""

    def __init__(self, store: Store, durable: Durable | None) -> None:
        self._store = store
        self._durable = durable
        self._run = 1
        self._acknowledged = 0
        self._lost = False
        self._lost_runs = range(0)
        self._kept: EngineCount | None = None
        self._news = trio.Event()
        self.books_known = trio.Event()
        """Set unless the store has lost writes, and the brokers' books are not all read since, or the brokers that can be asked by token not
        asked: until then no open plan acts."""

    @property
    def run(self) -> int:
        return self._run

    @property
    def runs(self) -> range:
        """The runs whose tokens an order may carry that the store does not know, newest first."""
        return range(self._run, max(0, self._run - 1 - RUNS_BACK), -1)

    @property
    def lost(self) -> bool:
        """Whether the store has lost writes, and what they were is not found out since."""
        return self._lost

    @property
    def lost_runs(self) -> range:
        """The runs before this one whose orders the store had lost when this one began, newest first; none when it has lost nothing."""
        return self._lost_runs

    async def begin(self) -> None:
        """Compare, and begin a run. Raises StoreError, DurableError: then the engine cannot start."""
        if self._durable is None:
            self.books_known.set()
            return
        before = await self._durable.engine_count()
        there = await self._there()
        if before is not None:
            self._run = before.run + 1
            self._lost = before.lost or there < before.writes
        if self._lost:
            _log.warning(
                "Redis came back without its last writes: no open order acts until all brokers' books are read"
            )
            whole = int(await self._store.get(keys.ENGINE_WHOLE) or 0)
            self._lost_runs = range(self._run - 1, max(0, whole - 1, self._run - 1 - RUNS_ASKED), -1)
        else:
            self.books_known.set()
        self._acknowledged = there
        await self._put()
        if not self._lost:
            self._note_whole()

    async def commit(self, *ops: Op, fence: Fence, absent: str | None = None) -> None:
        """Commit to the store as `Store.commit` does, counted."""
        count = None if self._durable is None else keys.ENGINE_WRITES
        await self._store.commit(*ops, fence=fence, absent=absent, count=count)
        self._acknowledged += 1
        self._news.set()

    def all_read(self) -> None:
        """The books, and the brokers that were asked, have said what was lost."""
        self._lost = False
        self._note_whole()
        self._news.set()
        self.books_known.set()

    def _note_whole(self) -> None:
        """Have the store say from which run on it may miss something if it loses writes; should this be lost, it says an earlier one."""
        self._store.post(Set(keys.ENGINE_WHOLE, str(self._run).encode()))

    async def keep(self) -> None:
        """Keep SQLite in step, and look whether Redis has lost something meanwhile. Raises StoreLostWrites."""
        if self._durable is None:
            return
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._follow)
            nursery.start_soon(self._check)

    async def _follow(self) -> None:
        while True:
            self._news = trio.Event()
            if self._kept == self._now():
                await self._news.wait()
                await trio.sleep(SETTLE_SECONDS)
            try:
                await self._put()
            except DurableError as error:
                _log.warning("the count of the engine's writes cannot be kept: %s", error)
                await trio.sleep(RETRY_SECONDS)
            await trio.sleep(FOLLOW_SECONDS)

    async def _check(self) -> None:
        while True:
            await trio.sleep(CHECK_SECONDS)
            acknowledged = self._acknowledged
            try:
                there = await self._there()
                if there < acknowledged:
                    self._lost = True
                    await self._put()
                    raise StoreLostWrites(f"Redis has {there} of {acknowledged} writes of the order engine")
            except (StoreError, DurableError) as error:
                _log.debug("the count of the engine's writes was not looked at: %s", error)

    async def _there(self) -> int:
        """Return what Redis has counted; none is zero: a store that holds nothing has lost what there was."""
        return int(await self._store.get(keys.ENGINE_WRITES) or 0)

    def _now(self) -> EngineCount:
        return EngineCount(run=self._run, writes=self._acknowledged, lost=self._lost)

    async def _put(self) -> None:
        assert self._durable is not None
        count = self._now()
        await self._durable.put_engine_count(count)
        self._kept = count
