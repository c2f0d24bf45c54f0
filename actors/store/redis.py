"""The store over a Redis server: other actors hold `RedisStore`, the supervisor runs `RedisStoreActor`.

Connections block and run in worker threads, because redis-py cannot run under trio. There are three lanes, each with its own connection:
engine (acknowledged commits, never behind other work), rest (at most 256 KB a batch), reads. See `lanes.py`.
While the server is away, reads and acknowledged writes fail at once, and posted writes wait (newest per key or field). The actor retries
by itself, with back-off, until contact is made. The `RedisStore` outlives restarts of the actor.
"""

import logging
import math
from collections.abc import Mapping
from contextlib import suppress

import attrs
import redis
import trio

from onebroker.actors.kernel.durations import Durations
from onebroker.actors.kernel.supervisor import flush_shielded
from onebroker.actors.store.embedded import EmbeddedServer
from onebroker.actors.store.failure_reasons import reason_of
from onebroker.actors.store.interface import AlreadyThere, Fence, FencedOut, Op, StoreError
from onebroker.actors.store.lanes import Line, Link, RequestLane, RestLane
from onebroker.actors.store.redis_commands import FENCED, THERE, commit_command, lock_command
from onebroker.actors.store.server_address import Connect, Durability, ServerAddress, StoreRefused, probe

_log = logging.getLogger("onebroker.store")

LANES = ("engine", "rest", "reads")
_THREADS = 4
"""One thread for each lane, and one for checking the server."""
_ENGINE_BATCH_BYTES = 1024 * 1024
_READ_BATCH_BYTES = 64 * 1024
REST_BATCH_BYTES = 256 * 1024
_HELD_BYTES = 32 * 1024 * 1024
_FIRST_RETRY_SECONDS = 0.05
_MOST_RETRY_SECONDS = 2.0
_PING_SECONDS = 2.0
_LOOK_AGAIN_SECONDS = 60.0
"""How often the server's settings are looked at again: a person may change them while it runs."""
_FIRST_CONTACT_SECONDS = 5.0
"""How long a start waits for the server before it continues without it."""
_FLUSH_SECONDS = 10.0


@attrs.frozen(kw_only=True)
class StoreFigures:
    """The store's figures for `/metrics`; batches are round trips."""

    engine_batches: int
    rest_batches: int
    read_batches: int
    waiting_bytes: int
    """Bytes posted and not written yet."""
    given_up: int
    """Number of keys whose posted writes were dropped because the store was away for long."""


class RedisStore:
    """Implements `Store`."""

    def __init__(self, address: ServerAddress) -> None:
        self._address = address
        self._link = Link()
        self._limiter = trio.CapacityLimiter(_THREADS)
        self._lines = tuple(Line(self._link, self._limiter, on_loop=on_loop) for on_loop in (True, False, False))
        engine, rest, reads = self._lines
        self._engine = RequestLane(self._link, engine, most_bytes=_ENGINE_BATCH_BYTES, wait_for_disk=True)
        self._reads = RequestLane(self._link, reads, most_bytes=_READ_BATCH_BYTES, wait_for_disk=False)
        self._rest = RestLane(self._link, rest, most_bytes=REST_BATCH_BYTES, most_held_bytes=_HELD_BYTES)

    @property
    def reachable(self) -> bool:
        return self._link.reachable

    @property
    def reason(self) -> str:
        """Why the store is not reachable; empty when it is."""
        return "" if self._link.reachable else self._link.reason

    @property
    def durability_text(self) -> str | None:
        durability = self._link.durability
        return None if durability is None else durability.text

    @property
    def durability(self) -> Durability | None:
        """The guarantee of an acknowledged write; None before the first contact."""
        return self._link.durability

    def figures(self) -> StoreFigures:
        engine, rest, reads = (line.batches for line in self._lines)
        return StoreFigures(
            engine_batches=engine,
            rest_batches=rest,
            read_batches=reads,
            waiting_bytes=self._rest.waiting_bytes,
            given_up=self._rest.given_up,
        )

    @property
    def round_trips(self) -> Mapping[str, Durations]:
        """Lane (`engine`, `rest`, `reads`) -> its round trips to the server since the start of the process."""
        return dict(zip(LANES, (line.took for line in self._lines), strict=True))

    async def check(self) -> Durability:
        """Check whether the server can be used, without running the store (`check`, and before the start).

        Raises StoreRefused with the sentence to show, StoreError when the server cannot be reached.
        """
        _, durability = await self._look()
        if durability.evicts:
            raise StoreRefused(durability.evicts)
        return durability

    async def get(self, key: str) -> bytes | None:
        answer = await self._reads.ask(("GET", key))
        return answer if isinstance(answer, bytes) else None

    async def hash_all(self, key: str) -> dict[str, bytes]:
        answer = await self._reads.ask(("HGETALL", key))
        return _fields(answer)

    async def members(self, key: str) -> frozenset[str]:
        answer = await self._reads.ask(("SMEMBERS", key))
        return frozenset(member.decode() for member in answer) if isinstance(answer, set | list) else frozenset()

    async def stream_last(self, key: str, count: int) -> list[tuple[str, dict[str, bytes]]]:
        answer = await self._reads.ask(("XREVRANGE", key, "+", "-", "COUNT", count))
        entries = answer if isinstance(answer, list) else []
        return [(number.decode(), _fields(fields)) for number, fields in reversed(entries)]

    async def drop_overwritten(self) -> None:
        """Let the server write its append-only file anew, without the values that were overwritten. Returns when the server has begun.

        Raises StoreError, also when the server does not allow it."""
        await self._reads.ask(("BGREWRITEAOF",))

    async def commit(
        self, *ops: Op, fence: Fence | None = None, absent: str | None = None, count: str | None = None
    ) -> None:
        answer = await self._engine.ask(commit_command(ops, fence, absent, count))
        if answer == FENCED and fence is not None:
            raise FencedOut(fence.key)
        if answer == THERE:
            raise AlreadyThere(absent)

    async def take_lock(self, key: str, value: bytes, expire_seconds: int, *, may_replace: bytes | None) -> bool:
        return await self._engine.ask(lock_command(key, value, expire_seconds, may_replace)) == 1

    async def write(self, *ops: Op) -> None:
        await self._rest.write(ops)

    def post(self, *ops: Op) -> None:
        self._rest.post(ops)

    # Controls for the actor.

    async def run(self, *, task_status: trio.TaskStatus[None]) -> None:
        """Keep contact and run the lanes until cancelled; calls `started` at the first contact, or without contact after a while."""
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._keep_contact)
                for lane in (self._engine, self._reads, self._rest):
                    nursery.start_soon(lane.run)
                with trio.move_on_after(_FIRST_CONTACT_SECONDS):
                    await self._link.up.wait()
                task_status.started()
        finally:
            # The lanes no longer run, so callers that still wait in them would wait for ever.
            self._engine.fail_queued("the store is stopping")
            self._reads.fail_queued("the store is stopping")

    async def flush(self) -> None:
        """Write the posted ops; call it after `run` has ended."""
        await self._rest.flush()

    def close(self) -> None:
        """Mark the store as away and close its connections."""
        self._link.end("the store is stopped")
        for line in self._lines:
            line.close()

    async def _keep_contact(self) -> None:
        delay_seconds = _FIRST_RETRY_SECONDS
        while True:
            try:
                connect, durability = await self._look()
            except (StoreError, StoreRefused) as error:
                self._link.lose(str(error))
                await trio.sleep(delay_seconds)
                delay_seconds = min(2 * delay_seconds, _MOST_RETRY_SECONDS)
                continue
            delay_seconds = _FIRST_RETRY_SECONDS
            self._link.found(connect, durability)
            _log.info("Redis is in use: %s", durability.text)
            await self._watch()

    async def _watch(self) -> None:
        """Return when contact is lost; ping the server from time to time, so that a loss is noticed even without traffic."""
        lost = self._link.lost
        looked = trio.current_time()
        while not lost.is_set():
            with trio.move_on_after(_PING_SECONDS):
                await lost.wait()
                return
            # Ping over a lane's own connection: opening a new one could fail for lack of a file while the server is well. A lane that
            # loses contact reports it itself.
            with suppress(StoreError):
                await self._reads.ask(("PING",))
            if trio.current_time() >= looked + _LOOK_AGAIN_SECONDS:
                looked = trio.current_time()
                await self._look_again()

    async def _look_again(self) -> None:
        """Show what acknowledged writes are worth now, when that has changed. Contact is kept: what can be lost is told, and exits go on."""
        known = self._link.durability
        try:
            _, now = await self._look()
        except StoreError:
            return  # a lane that loses contact reports it
        except StoreRefused as error:
            now = Durability(
                every_write=False, text=str(error), wait_for_disk=known is not None and known.wait_for_disk
            )
        if known is None or now == known or self._link.durability is not known:
            return
        if now.run_id not in ("", known.run_id):
            return  # it is about another server, after a failover that the lanes notice by themselves
        self._link.durability = attrs.evolve(now, run_id=known.run_id)
        _log.warning("the settings of Redis have changed: %s", now.text)

    async def _look(self) -> tuple[Connect, Durability]:
        try:
            return await trio.to_thread.run_sync(_look, self._address, limiter=self._limiter)
        except (redis.RedisError, OSError) as error:
            _log.debug("no contact with Redis: %s", error)
            raise StoreError(reason_of(error)) from error


class RedisStoreActor:
    """Runs the store, and the embedded server if there is one, until cancelled.

    An orderly stop writes the posted ops and then ends the embedded server; a crash leaves the server running, and the next start
    adopts it.
    """

    def __init__(self, store: RedisStore, server: EmbeddedServer | None = None) -> None:
        self._store = store
        self._server = server

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        try:
            async with trio.open_nursery() as nursery:
                if self._server is not None:
                    nursery.start_soon(self._server.keep)
                await self._store.run(task_status=task_status)
        finally:
            if trio.current_effective_deadline() == -math.inf:
                await flush_shielded(self._finish, deadline_seconds=_FLUSH_SECONDS)
            self._store.close()

    async def _finish(self) -> None:
        await self._store.flush()
        self._store.close()
        if self._server is not None:
            await self._server.end()


def _look(address: ServerAddress) -> tuple[Connect, Durability]:
    connect = address.resolve()
    client = connect()
    try:
        return connect, probe(client, fails_over=address.fails_over)
    finally:
        client.close()


def _fields(answer: object) -> dict[str, bytes]:
    return {field.decode(): value for field, value in answer.items()} if isinstance(answer, dict) else {}
