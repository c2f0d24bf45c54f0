"""An acknowledged write of the engine is on the disk of a server by URL, or the writer is not told so: real servers that are killed, whose
disk hangs, is full, or is not asked to write."""

import resource
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import redis
import trio

from onebroker.actors.store.interface import Op, Set, StoreError
from onebroker.actors.store.redis import RedisStore, RedisStoreActor
from onebroker.actors.store.server_address import EVERY_WRITE, EVICTS, StoreRefused, read_address
from tests.actors.store.conftest import FreePort
from tests.support.real_servers import RealServer, held_disk, real_server

pytestmark = pytest.mark.demo

Eventually = Callable[[Callable[[], bool]], Awaitable[None]]

FILE = "appendonly yes\nappendfsync {}\n"
NOT_CONFIRMED = "did not confirm in time that it is on disk"


@pytest.fixture(autouse=True)
def short_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the disk be waited for a moment only: in these tests its word comes at once, or never."""
    monkeypatch.setattr("onebroker.actors.store.lanes.WAITAOF_MILLISECONDS", 300)


def url(server: RealServer) -> str:
    return f"redis://127.0.0.1:{server.port}/0"


@asynccontextmanager
async def store_by_url(server: RealServer) -> AsyncIterator[RedisStore]:
    store = RedisStore(read_address(url(server)))
    async with trio.open_nursery() as nursery:
        await nursery.start(RedisStoreActor(store).run)
        yield store
        nursery.cancel_scope.cancel()


async def refusal_of(store: RedisStore, op: Op) -> StoreError | None:
    """Commit, and return the error; None when the commit was acknowledged."""
    try:
        await store.commit(op)
    except StoreError as error:
        return error
    return None


@pytest.mark.parametrize("fsync", ["always", "everysec"])
async def test_what_was_acknowledged_is_in_the_file_of_a_server_that_is_killed_at_once(
    tmp_path: Path, free_port: FreePort, fsync: str
) -> None:
    with real_server(tmp_path / "server", free_port(), FILE.format(fsync)) as server:
        for number in range(5):
            async with store_by_url(server) as store:
                await store.commit(Set(f"k{number}", b"%d" % number))
                server.kill()
            server.start()
        async with store_by_url(server) as store:
            assert [await store.get(f"k{number}") for number in range(5)] == [b"%d" % number for number in range(5)]


async def test_a_server_that_does_not_write_its_file_in_time_acknowledges_nothing(
    tmp_path: Path, free_port: FreePort
) -> None:
    """As with a disk that is slow: the file is no longer written to the disk after the service has looked at the server."""
    with real_server(tmp_path / "server", free_port(), FILE.format("everysec")) as server:
        async with store_by_url(server) as store:
            await store.commit(Set("k", b"1"))
            client = redis.Redis(port=server.port)
            client.config_set("appendfsync", "no")
            with pytest.raises(StoreError, match=NOT_CONFIRMED) as refusal:
                await store.commit(Set("k", b"2"))
            assert not refusal.value.not_sent
            client.config_set("appendfsync", "always")
            await store.commit(Set("k", b"3"))
            client.close()


async def test_a_server_that_lost_its_scripts_confirms_the_disk_for_the_writes_that_are_sent_again(
    tmp_path: Path, free_port: FreePort
) -> None:
    """The first answer about the disk is about nothing: none of the writes before it was made."""
    with real_server(tmp_path / "server", free_port(), FILE.format("everysec")) as server:
        async with store_by_url(server) as store:
            await store.commit(Set("k", b"1"))
            client = redis.Redis(port=server.port)
            client.config_set("appendfsync", "no")
            client.script_flush()
            with pytest.raises(StoreError, match=NOT_CONFIRMED):
                await store.commit(Set("k", b"2"))
            client.close()


async def test_a_server_that_was_started_again_with_less_to_promise_is_looked_at_again(
    tmp_path: Path, free_port: FreePort, eventually: Eventually
) -> None:
    """Also when no command was under way at its end, and its idle connections are made anew without a word."""
    port = free_port()
    with real_server(tmp_path / "server", port, FILE.format("always")) as server:
        async with store_by_url(server) as store:
            await store.commit(Set("k", b"1"))
            assert promised(store)
            server.kill()
            with real_server(tmp_path / "server", port, "appendonly no"):
                refusal = await refusal_of(store, Set("k", b"2"))
                assert refusal is None or refusal.not_sent
                await eventually(lambda: store.reachable)
                await store.commit(Set("k", b"3"))
                assert not promised(store)


def promised(store: RedisStore) -> bool:
    return store.durability is not None and store.durability.every_write


async def test_a_full_disk_acknowledges_nothing_and_is_over_when_there_is_room_again(
    tmp_path: Path, free_port: FreePort
) -> None:
    with real_server(tmp_path / "server", free_port(), FILE.format("everysec")) as server:
        async with store_by_url(server) as store:
            await store.commit(Set("k", b"1"))
            limits = resource.prlimit(server.pid, resource.RLIMIT_FSIZE)
            resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (4096, limits[1]))
            with pytest.raises(StoreError):
                await store.commit(Set("k", b"x" * 100_000))
            resource.prlimit(server.pid, resource.RLIMIT_FSIZE, limits)


async def test_a_disk_that_hangs_acknowledges_nothing_or_the_store_has_not_promised_it(
    tmp_path: Path, free_port: FreePort
) -> None:
    """WAITAOF of Valkey answers before the disk has the write (redis/redis#13793, mended in Redis 8): such a server's word is not passed on."""
    with real_server(tmp_path / "server", free_port(), FILE.format("everysec")) as server:
        async with store_by_url(server) as store:
            assert store.durability is not None
            await store.commit(Set("k", b"1"))
            with held_disk(server.pid) as held:
                if not held:
                    pytest.skip("this process may not hold a thread of another (ptrace)")
                refusals = [await refusal_of(store, Set("k", value)) for value in (b"2", b"3")]
            assert all(refusal is None or NOT_CONFIRMED in str(refusal) for refusal in refusals)
            assert all(refusals) or not store.durability.every_write
            assert store.durability.every_write == (store.durability.text == EVERY_WRITE)


async def test_a_server_whose_settings_are_changed_while_it_runs_is_not_said_to_keep_every_write(
    tmp_path: Path, free_port: FreePort, eventually: Eventually, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("onebroker.actors.store.redis._PING_SECONDS", 0.01)
    monkeypatch.setattr("onebroker.actors.store.redis._LOOK_AGAIN_SECONDS", 0.02)
    with (
        real_server(tmp_path / "server", free_port(), FILE.format("always")) as server,
        redis.Redis(port=server.port) as admin,
    ):
        async with store_by_url(server) as store:
            await store.commit(Set("k", b"1"))
            assert store.durability_text == EVERY_WRITE
            admin.config_set("appendfsync", "no")
            await eventually(lambda: "lost" in str(store.durability_text))
            await store.commit(Set("k", b"2"))
            admin.config_set("maxmemory", "100mb")
            admin.config_set("maxmemory-policy", "allkeys-lru")
            await eventually(lambda: str(store.durability_text).endswith(EVICTS.format("allkeys-lru")))
            await store.commit(Set("k", b"3"))
            admin.config_set("maxmemory-policy", "noeviction")
            admin.config_set("appendfsync", "always")
            await eventually(lambda: store.durability_text == EVERY_WRITE)
            await store.commit(Set("k", b"4"))
            assert store.reachable


async def test_a_server_that_removes_what_it_holds_is_refused(tmp_path: Path, free_port: FreePort) -> None:
    lines = FILE.format("always") + "maxmemory 100mb\nmaxmemory-policy volatile-lru\n"
    with (
        real_server(tmp_path / "server", free_port(), lines) as server,
        redis.Redis(port=server.port) as admin,
    ):
        with pytest.raises(StoreRefused, match="maxmemory-policy volatile-lru"):
            await RedisStore(read_address(url(server))).check()
        async with store_by_url(server) as running:  # as after a new contact of a running service: exits go on
            await running.commit(Set("k", b"1"))
            assert str(running.durability_text).endswith(EVICTS.format("volatile-lru"))
        admin.config_set("maxmemory", "0")  # nothing is removed without a limit
        assert (await RedisStore(read_address(url(server))).check()).every_write
