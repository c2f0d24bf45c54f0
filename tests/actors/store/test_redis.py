"""The store over a real server: batches, lanes, loss and return of the server, what is refused, restarts of the actor."""

import os
import resource
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import redis
import trio

from onebroker.actors.store import keys
from onebroker.actors.store.embedded import EmbeddedServer, find_server_binary
from onebroker.actors.store.interface import HashSet, Set, SetAdd, StoreError
from onebroker.actors.store.redis import REST_BATCH_BYTES, RedisStore, RedisStoreActor
from onebroker.actors.store.server_address import EVERY_WRITE, StoreRefused
from tests.support.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.demo

Eventually = Callable[[Callable[[], bool]], Awaitable[None]]


def client_of(server: EmbeddedServer) -> "redis.Redis":
    return server.address.resolve()()


async def test_commits_made_at_once_share_round_trips(redis_store: RedisStore) -> None:
    async with trio.open_nursery() as nursery:
        for number in range(500):
            nursery.start_soon(redis_store.commit, Set(f"k{number}", b"1"), SetAdd("all", f"k{number}"))
    assert redis_store.figures().engine_batches <= 3, "1,000 writes"
    assert len(await redis_store.members("all")) == 500


async def test_reads_made_at_once_share_round_trips(redis_store: RedisStore) -> None:
    await redis_store.commit(Set("k", b"1"))
    async with trio.open_nursery() as nursery:
        for _ in range(500):
            nursery.start_soon(redis_store.get, "k")
    assert redis_store.figures().read_batches <= 3


async def test_a_commit_overtakes_a_large_backlog_of_the_rest_lane(redis_store: RedisStore) -> None:
    value = b"x" * (REST_BATCH_BYTES // 2)
    ends: list[str] = []

    async def write_much() -> None:
        await redis_store.write(*(Set(f"big {number}", value) for number in range(200)))
        ends.append("backlog")

    async def commit() -> None:
        await redis_store.commit(Set("order", b"1"))
        ends.append("commit")
        assert redis_store.figures().rest_batches < 20, "of a hundred"

    async with trio.open_nursery() as nursery:
        nursery.start_soon(write_much)
        await trio.lowlevel.checkpoint()
        nursery.start_soon(commit)
    assert ends == ["commit", "backlog"]
    assert redis_store.figures().rest_batches >= 100


@pytest.mark.parametrize("kilobytes", [1, 60, 100, 900])
async def test_a_commit_of_any_size_is_there_when_it_is_acknowledged(redis_store: RedisStore, kilobytes: int) -> None:
    value = os.urandom(kilobytes * 1024)
    for number in range(3):
        await redis_store.commit(Set(f"k{number}", value), Set(f"small {number}", b"1"))
        assert await redis_store.get(f"k{number}") == value


async def test_a_small_commit_waits_for_no_thread(redis_store: RedisStore) -> None:
    await redis_store.commit(Set("first", b"1"))
    limiter = redis_store._limiter
    borrowers = range(int(limiter.total_tokens))
    for borrower in borrowers:
        await limiter.acquire_on_behalf_of(borrower)
    with trio.fail_after(PATIENCE_SECONDS):
        await redis_store.commit(Set("second", b"2"))
    for borrower in borrowers:
        limiter.release_on_behalf_of(borrower)
    assert await redis_store.get("second") == b"2"


async def test_the_embedded_server_has_every_write_on_disk(redis_store: RedisStore) -> None:
    assert redis_store.durability is not None
    assert (redis_store.durability.every_write, redis_store.durability.text) == (True, EVERY_WRITE)
    assert (redis_store.reachable, redis_store.reason) == (True, "")


@pytest.mark.parametrize(
    ("name", "value", "may_wait", "words"),
    [
        ("appendfsync", "everysec", False, "two seconds"),
        ("appendfsync", "no", False, "about 30 s"),
        ("appendfsync", "no", True, "about 30 s"),
        ("appendonly", "no", True, "append-only file is off"),
    ],
)
async def test_a_server_that_can_lose_acknowledged_writes_is_told_apart(
    server: EmbeddedServer, name: str, value: str, may_wait: bool, words: str
) -> None:
    client = client_of(server)
    client.config_set(name, value)
    if not may_wait:  # as with Redis before 7.2
        client.execute_command("ACL", "SETUSER", "default", "-waitaof")
    client.close()
    durability = await RedisStore(server.address).check()
    assert not durability.every_write
    assert words in durability.text


async def test_a_server_that_syncs_its_file_every_second_is_waited_for(server: EmbeddedServer) -> None:
    client = client_of(server)
    client.config_set("appendfsync", "everysec")
    store = RedisStore(server.address)
    async with trio.open_nursery() as nursery:
        await nursery.start(RedisStoreActor(store).run)
        durability = store.durability
        assert durability is not None
        assert durability.wait_for_disk
        assert (durability.every_write, "WAITAOF of this server" in durability.text) == (False, True), "Valkey 9.1"
        before = waits_of(client)
        await store.commit(Set("k", b"1"))
        assert waits_of(client) == before + 1
        nursery.cancel_scope.cancel()
    client.close()


def waits_of(client: "redis.Redis") -> int:
    return int(client.info("commandstats")["cmdstat_waitaof"]["calls"])


async def test_data_of_another_schema_is_refused(server: EmbeddedServer) -> None:
    client = client_of(server)
    client.set(keys.SCHEMA, "7")
    client.close()
    with pytest.raises(StoreRefused, match="schema 7"):
        await RedisStore(server.address).check()


async def test_the_schema_key_is_written_at_the_first_contact(redis_store: RedisStore) -> None:
    assert await redis_store.get(keys.SCHEMA) == b"1"


async def test_a_server_that_lost_its_scripts_gets_them_again(redis_store: RedisStore, server: EmbeddedServer) -> None:
    client = client_of(server)
    client.script_flush()
    client.close()
    async with trio.open_nursery() as nursery:
        for number in range(5):
            nursery.start_soon(redis_store.commit, Set(f"k{number}", b"1"))
    assert [await redis_store.get(f"k{number}") for number in range(5)] == [b"1"] * 5
    assert redis_store.reachable


async def test_a_connection_that_the_server_closed_while_it_was_idle_costs_nothing(
    redis_store: RedisStore, server: EmbeddedServer
) -> None:
    """A server with `timeout` set does so; an order after a quiet hour is not refused for it."""
    await redis_store.commit(Set("k", b"1"))
    await redis_store.write(Set("l", b"1"))
    assert await redis_store.get("k") == b"1"
    client = client_of(server)
    assert client.client_kill_filter(_type="normal", skipme=True) >= 3
    await redis_store.commit(Set("k", b"2"))
    await redis_store.write(Set("l", b"2"))
    assert (await redis_store.get("k"), await redis_store.get("l")) == (b"2", b"2")
    assert redis_store.reachable
    client.close()


async def test_while_the_server_is_away_all_fails_at_once_and_what_was_posted_is_written_at_its_return(
    redis_store: RedisStore, server: EmbeddedServer, eventually: Eventually
) -> None:
    await redis_store.commit(Set("before", b"1"))
    assert server.pid is not None
    os.kill(server.pid, signal.SIGSTOP)
    first = server.pid
    os.kill(first, signal.SIGKILL)
    with pytest.raises(StoreError):
        await redis_store.commit(Set("k", b"1"))
    assert not redis_store.reachable
    assert redis_store.reason
    for call in (redis_store.get("k"), redis_store.commit(Set("k", b"2")), redis_store.write(Set("k", b"3"))):
        with trio.fail_after(PATIENCE_SECONDS), pytest.raises(StoreError, match="not sent"):
            await call
    for number in range(1000):
        redis_store.post(HashSet("quotes", {"one": b"%d" % number}), Set("newest", b"%d" % number))
    assert redis_store.figures().waiting_bytes < 500
    await eventually(lambda: redis_store.reachable)
    await redis_store.write(Set("after", b"1"))
    assert await redis_store.hash_all("quotes") == {"one": b"999"}
    assert await redis_store.get("newest") == b"999"
    assert await redis_store.get("before") == b"1"
    assert await redis_store.get("k") is None


@pytest.mark.parametrize(
    ("breaking", "healing"),
    [
        (("REPLICAOF", "127.0.0.1", "1"), ("REPLICAOF", "NO", "ONE")),
        (("CONFIG", "SET", "maxmemory", "1"), ("CONFIG", "SET", "maxmemory", "0")),
        (("CONFIG", "SET", "min-replicas-to-write", "1"), ("CONFIG", "SET", "min-replicas-to-write", "0")),
    ],
    ids=["demoted", "out of memory", "without its replicas"],
)
@pytest.mark.parametrize("lane", ["engine", "rest"])
async def test_a_server_that_takes_no_writes_counts_as_lost_and_what_was_posted_is_kept(
    redis_store: RedisStore,
    server: EmbeddedServer,
    eventually: Eventually,
    breaking: tuple[str, ...],
    healing: tuple[str, ...],
    lane: str,
) -> None:
    """As a primary that lives on as a replica after a failover: it answers, and only another look finds the new primary."""
    await redis_store.commit(Set("k", b"1"))
    losses: list[str] = []
    redis_store._link.on_lost.append(losses.append)
    client = client_of(server)
    client.execute_command(*breaking)
    redis_store.post(Set("posted", b"1"))
    if lane == "engine":
        with pytest.raises(StoreError):
            await redis_store.commit(Set("k", b"2"))
    await eventually(lambda: bool(losses))
    redis_store.post(HashSet("h", {"f": b"1"}))
    client.execute_command(*healing)
    client.close()
    await eventually(lambda: redis_store.reachable)
    await redis_store.write(Set("end", b"1"))
    assert (await redis_store.get("posted"), await redis_store.hash_all("h")) == (b"1", {"f": b"1"})
    assert await redis_store.get("k") == b"1"


async def test_a_quiet_store_notices_by_itself_that_the_server_hangs_and_that_it_goes_on(
    server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch, eventually: Eventually
) -> None:
    monkeypatch.setattr("onebroker.actors.store.redis._PING_SECONDS", 0.1)
    monkeypatch.setattr("onebroker.actors.store.server_address.ANSWER_SECONDS", 0.2)
    store = RedisStore(server.address)
    assert server.pid is not None
    async with trio.open_nursery() as nursery:
        await nursery.start(RedisStoreActor(store).run)
        os.kill(server.pid, signal.SIGSTOP)
        try:
            await eventually(lambda: not store.reachable)
        finally:
            os.kill(server.pid, signal.SIGCONT)
        assert store.figures().engine_batches == 0, "nobody asked anything"
        await eventually(lambda: store.reachable)
        nursery.cancel_scope.cancel()


async def test_a_handle_outlives_its_actor_and_refuses_while_there_is_none(server: EmbeddedServer) -> None:
    store = RedisStore(server.address)
    with pytest.raises(StoreError, match="not sent"):
        await store.get("k")
    for number in range(3):
        store.post(Set(f"posted {number}", b"1"))
        async with trio.open_nursery() as nursery:
            await nursery.start(RedisStoreActor(store).run)
            await store.commit(Set(f"k{number}", b"1"))
            nursery.cancel_scope.cancel()
        with pytest.raises(StoreError, match="not sent: the store is stopped"):
            await store.commit(Set("k", b"1"))
    client = client_of(server)
    found = sorted(name.decode() for name in client.keys("*[0-9]"))
    client.close()
    assert found == ["k0", "k1", "k2", "posted 0", "posted 1", "posted 2"]


async def test_an_orderly_stop_writes_what_was_posted_last_and_ends_the_server(tmp_path: Path) -> None:
    server = EmbeddedServer(tmp_path, find_server_binary(None))
    store = RedisStore(server.address)
    for round_number in range(2):
        async with trio.open_nursery() as nursery:
            await nursery.start(RedisStoreActor(store, server).run)
            if round_number == 1:
                assert await store.get("last") == b"x" * 1_000_000
                assert len(await store.hash_all("rows")) == 5000
            store.post(Set("last", b"x" * 1_000_000), HashSet("rows", {str(n): b"v" * 100 for n in range(5000)}))
            nursery.cancel_scope.cancel()
        assert server.pid is None


async def test_a_start_goes_on_without_a_server_after_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onebroker.actors.store.redis._FIRST_CONTACT_SECONDS", 0.05)
    server = EmbeddedServer(tmp_path, find_server_binary(None))
    store = RedisStore(server.address)
    async with trio.open_nursery() as nursery:
        await nursery.start(RedisStoreActor(store).run)
        assert not store.reachable
        with pytest.raises(StoreError, match="not sent"):
            await store.get("k")
        nursery.cancel_scope.cancel()


async def test_many_losses_leave_no_file_open(
    redis_store: RedisStore, server: EmbeddedServer, eventually: Eventually
) -> None:
    async def lose_and_return() -> None:
        client = client_of(server)
        client.execute_command("CLIENT", "KILL", "TYPE", "normal")
        client.close()
        with trio.move_on_after(0.5):
            while True:
                try:
                    await redis_store.commit(Set("k", b"1"))
                    await redis_store.write(Set("k", b"1"))
                    await redis_store.get("k")
                except StoreError:
                    continue
                break
        await eventually(lambda: redis_store.reachable)

    await lose_and_return()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(10):
        await lose_and_return()
    assert len(os.listdir("/proc/self/fd")) <= before + 3


async def test_a_process_without_files_keeps_the_store_that_it_has(
    redis_store: RedisStore, monkeypatch: pytest.MonkeyPatch, eventually: Eventually
) -> None:
    """Strangers may use up all files: what is connected goes on, and a store that needs a new connection is not taken as away."""
    monkeypatch.setattr("onebroker.actors.store.redis._PING_SECONDS", 0.01)
    await redis_store.commit(Set("k", b"1"))
    assert await redis_store.get("k") == b"1"
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    reads = redis_store.figures().read_batches
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
        with pytest.raises(OSError, match="Too many open files"):
            os.dup(0)
        await eventually(lambda: redis_store.figures().read_batches >= reads + 5)  # signs of life
        await redis_store.commit(Set("k", b"2"))
        assert await redis_store.get("k") == b"2"
        with pytest.raises(StoreError, match="not sent: this process may open no more files"):
            await redis_store.write(Set("rest", b"1"))  # its lane has no connection yet
        assert redis_store.reachable
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    await redis_store.write(Set("rest", b"2"))
    assert await redis_store.get("rest") == b"2"


async def test_callers_are_told_no_path_of_this_machine(
    redis_store: RedisStore, tmp_path: Path, caplog: pytest.LogCaptureFixture, eventually: Eventually
) -> None:
    await redis_store.commit(Set("k", b"1"))
    there, elsewhere = tmp_path / "redis" / "redis.sock", tmp_path / "redis" / "elsewhere.sock"
    there.rename(elsewhere)
    try:
        client = redis.Redis(unix_socket_path=str(elsewhere))
        client.client_kill_filter(_type="normal", skipme=True)
        client.close()
        await eventually(lambda: not redis_store.reachable)
        for _ in range(3):
            with pytest.raises(StoreError) as caught:
                await redis_store.get("k")
            assert str(caught.value) == "not sent: no connection (No such file or directory)"
        assert redis_store.reason == "no connection (No such file or directory)"
        assert str(there) in caplog.text
    finally:
        elsewhere.rename(there)
