"""Whether the store has lost the engine's last writes. Each write is counted in Redis by the same script, and a moment later in SQLite
(order-engine 2.5, K19).

After a power loss, a failover or the return of an old copy, Redis counts fewer writes than SQLite knows of. SQLite is written apart from the
orders, several writes at a time, so the loss of only the last moment is not seen. Therefore each run of the engine also makes different leg
tokens: no token that may have been handed out is made again.
"""

import logging
from collections.abc import Sequence

import trio

from onebroker.actors.store import keys
from onebroker.actors.store.durable import Durable, DurableError, EngineCount
from onebroker.actors.store.interface import Fence, Op, Set, Store, StoreError

SETTLE_SECONDS = 0.02
"""How long the first SQLite write after a quiet time is delayed. That write then covers the order's write ahead too, and SQLite does its work
after the order has left."""
FOLLOW_SECONDS = 0.1
"""Least time between two writes to SQLite."""
CHECK_SECONDS = 5.0
"""How often Redis is asked for its count: a server may lose writes and come back while the engine runs."""
RETRY_SECONDS = 1.0
RUNS_BACK = 32
"""The books are searched for the tokens of this many runs before the present one."""
RUNS_ASKED = 4
"""Brokers are asked by token for orders of at most this many runs; each run costs them as many calls again. Of more runs the first and the last are
asked for: the first ones sent what was lost first, and of an old copy most orders have long been in the books."""

_log = logging.getLogger("onebroker.engine")


class StoreLostWrites(Exception):
    """Redis has come back with fewer writes than it had acknowledged: the engine must restart."""


def runs_asked(whole: int, run: int) -> Sequence[int]:
    """Return the runs whose lost orders brokers are asked for, newest first: of those from `whole` on, the last run that had missed nothing, and
    before `run`, the present one."""
    lost = range(run - 1, max(0, whole - 1), -1)
    if len(lost) <= RUNS_ASKED:
        return lost
    return (*lost[: RUNS_ASKED // 2], *lost[-(RUNS_ASKED // 2) :])


def count_after_restore(stored: EngineCount | None) -> EngineCount:
    """Return the count with which a store that comes from a backup begins; `stored` is the count in the backup.

    A backup is an old copy: after it, the service may have sent orders, and may have been started again, and nothing in the backup shows that. So the
    store counts as one that has lost writes. Its runs go on `RUNS_BACK` further, so that no token of a run after the backup is made again, and so that
    the books are searched for the tokens of the backup's run and of all these runs.
    """
    before = stored or EngineCount(run=1, writes=0)
    return EngineCount(run=before.run + RUNS_BACK - 1, writes=before.writes, lost=True)


class WriteCount:
    """The count of one run of the engine. Without a durable store nothing is counted, and every run is the first."""

    def __init__(self, store: Store, durable: Durable | None) -> None:
        self._store = store
        self._durable = durable
        self._run = 1
        self._acknowledged = 0
        self._lost = False
        self._lost_runs: Sequence[int] = ()
        self._kept: EngineCount | None = None
        self._news = trio.Event()
        self.books_known = trio.Event()
        """Unset only after the store has lost writes, until all brokers' books have been read and the brokers that can be asked by token have been
        asked. Until it is set no open plan acts."""

    @property
    def run(self) -> int:
        return self._run

    @property
    def runs(self) -> range:
        """The runs whose tokens may be on orders that the store does not know, newest first."""
        return range(self._run, max(0, self._run - 1 - RUNS_BACK), -1)

    @property
    def lost(self) -> bool:
        """Whether the store has lost writes and it has not yet been found out which."""
        return self._lost

    @property
    def lost_runs(self) -> Sequence[int]:
        """The runs before this one whose orders the store had lost when this run began, newest first; empty when it lost nothing."""
        return self._lost_runs

    async def begin(self) -> None:
        """Compare the counts and begin a run. Raises StoreError, DurableError: then the engine cannot start."""
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
            self._lost_runs = runs_asked(whole, self._run)
        else:
            self.books_known.set()
        self._acknowledged = there
        await self._put()
        if not self._lost:
            self._note_whole()

    async def commit(self, *ops: Op, fence: Fence, absent: str | None = None) -> None:
        """Commit to the store as `Store.commit` does, and count the write."""
        count = None if self._durable is None else keys.ENGINE_WRITES
        await self._store.commit(*ops, fence=fence, absent=absent, count=count)
        self._acknowledged += 1
        self._news.set()

    def all_read(self) -> None:
        """Note that the books, and the brokers that were asked, have shown what was lost."""
        self._lost = False
        self._note_whole()
        self._news.set()
        self.books_known.set()

    def _note_whole(self) -> None:
        """Store the run from which on writes may be missing after a loss. If this write is lost, the store names an earlier run."""
        self._store.post(Set(keys.ENGINE_WHOLE, str(self._run).encode()))

    async def keep(self) -> None:
        """Keep SQLite in step, and check whether Redis has lost writes meanwhile. Raises StoreLostWrites."""
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
        """Return the count in Redis; without one it is zero: an empty store has lost all writes."""
        return int(await self._store.get(keys.ENGINE_WRITES) or 0)

    def _now(self) -> EngineCount:
        return EngineCount(run=self._run, writes=self._acknowledged, lost=self._lost)

    async def _put(self) -> None:
        assert self._durable is not None
        count = self._now()
        await self._durable.put_engine_count(count)
        self._kept = count
