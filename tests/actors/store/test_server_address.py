"""Addresses: every URL form reaches its server, a wrong one or a Cluster is refused with a sentence, no secret is shown."""

import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import redis
import trio

from onebroker.actors.store.embedded import EmbeddedServer, find_server_binary
from onebroker.actors.store.interface import StoreError
from onebroker.actors.store.redis import RedisStore
from onebroker.actors.store.server_address import CLUSTER_REFUSED, StoreRefused, read_address
from tests.support.held_port import held_port
from tests.support.patience import PATIENCE_SECONDS

FreePort = Callable[[], int]


@pytest.fixture
def free_port() -> Iterator[FreePort]:
    """Return what gives ports of loopback that nobody uses, low enough for a cluster's second port 10,000 above them."""
    with ExitStack() as held:

        def take() -> int:
            while (port := held.enter_context(held_port())) >= 55_000:
                pass
            return port

        yield take


@contextmanager
def tcp_server(folder: Path, port: int, settings: str, *arguments: str) -> Iterator[None]:
    """Run a plain server on loopback until it is no longer needed; started when it answers."""
    folder.mkdir()
    path = folder / "server.conf"
    path.write_text(f'bind 127.0.0.1\nport {port}\ndir {folder}\nsave ""\n{settings}\n')
    with (
        (folder / "out").open("wb") as out,
        subprocess.Popen([str(find_server_binary(None)), str(path), *arguments], stdout=out) as server,
    ):
        try:
            wait_for_port(port, server)
            yield
        finally:
            server.kill()


def wait_for_port(port: int, server: "subprocess.Popen[bytes]") -> None:
    ends = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < ends and server.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.01)
    raise TimeoutError(f"nothing listens on {port}")


def ping(url: str) -> bool:
    client = read_address(url).resolve()()
    try:
        return bool(client.ping())
    finally:
        client.close()


async def test_a_unix_url_reaches_the_server(server: EmbeddedServer, tmp_path: Path) -> None:
    with trio.fail_after(PATIENCE_SECONDS):
        assert (await RedisStore(read_address(f"unix://{tmp_path}/redis/redis.sock")).check()).every_write


def test_a_tcp_url_with_a_password_reaches_the_server(tmp_path: Path, free_port: FreePort) -> None:
    port = free_port()
    with tcp_server(tmp_path / "server", port, "requirepass secret"):
        assert ping(f"redis://:secret@127.0.0.1:{port}/0")
        with pytest.raises(redis.RedisError) as refusal:
            ping(f"redis://:wrongword@127.0.0.1:{port}/0")
        assert "wrongword" not in str(refusal.value)


def test_a_sentinel_url_finds_the_present_master(tmp_path: Path, free_port: FreePort) -> None:
    master, sentinel = free_port(), free_port()
    with ExitStack() as stack:
        stack.enter_context(tcp_server(tmp_path / "master", master, ""))
        watched = f"sentinel monitor orders 127.0.0.1 {master} 1"
        stack.enter_context(tcp_server(tmp_path / "sentinel", sentinel, watched, "--sentinel"))
        url = f"redis+sentinel://127.0.0.1:{free_port()},127.0.0.1:{sentinel}/orders"
        client = read_address(url).resolve()()
        assert client.info("server")["tcp_port"] == master
        client.close()
        with pytest.raises(redis.RedisError):
            read_address(f"redis+sentinel://127.0.0.1:{sentinel}/unknown").resolve()


async def test_a_cluster_is_refused_with_a_sentence(tmp_path: Path, free_port: FreePort) -> None:
    port = free_port()
    with ExitStack() as stack, trio.fail_after(PATIENCE_SECONDS):
        stack.enter_context(
            tcp_server(tmp_path / "server", port, f"cluster-enabled yes\ncluster-config-file {port}.conf")
        )
        with pytest.raises(StoreRefused) as refusal:
            await RedisStore(read_address(f"redis://127.0.0.1:{port}")).check()
    assert str(refusal.value) == CLUSTER_REFUSED
    assert "Cluster" in CLUSTER_REFUSED


async def test_a_replica_and_a_server_that_is_not_there_cannot_be_used_now(tmp_path: Path, free_port: FreePort) -> None:
    port = free_port()
    with ExitStack() as stack, trio.fail_after(PATIENCE_SECONDS):
        stack.enter_context(tcp_server(tmp_path / "server", port, f"replicaof 127.0.0.1 {free_port()}"))
        with pytest.raises(StoreError, match="read-only replica"):
            await RedisStore(read_address(f"redis://127.0.0.1:{port}")).check()
    with trio.fail_after(PATIENCE_SECONDS), pytest.raises(StoreError):
        await RedisStore(read_address(f"redis://127.0.0.1:{port}")).check()


@pytest.mark.parametrize(
    "url",
    [
        "http://user:secret@host",
        "redis://user:secret@host:port",
        "redis+sentinel://user:secret@/service",
        "redis+sentinel://user:secret@host:1",
        "redis+sentinel://user:secret@host:one/service",
        "redis+sentinel://user:secret@host:1/service/database",
        "secret",
    ],
)
def test_a_url_that_cannot_be_read_is_refused_without_showing_it(url: str) -> None:
    with pytest.raises(StoreRefused) as refusal:
        read_address(url)
    assert "redis" in str(refusal.value)
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize(
    "url", ["redis://:secret@host", "redis+sentinel://u:secret@host/service?sentinel_password=secret"]
)
def test_an_address_does_not_show_its_secrets(url: str) -> None:
    assert "secret" not in repr(read_address(url))
