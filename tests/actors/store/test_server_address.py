"""Addresses: every URL form reaches its server, a wrong one or a Cluster is refused with a sentence, no secret is shown."""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import cast

import pytest
import redis
import trio

from onebroker.actors.store.embedded import EmbeddedServer
from onebroker.actors.store.interface import StoreError
from onebroker.actors.store.redis import RedisStore
from onebroker.actors.store.server_address import (
    CLUSTER_REFUSED,
    EVERY_WRITE,
    SCHEMA_VERSION,
    StoreRefused,
    probe,
    read_address,
)
from tests.support.patience import PATIENCE_SECONDS
from tests.support.real_servers import real_server

FreePort = Callable[[], int]


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
    with real_server(tmp_path / "server", port, "requirepass secret"):
        assert ping(f"redis://:secret@127.0.0.1:{port}/0")
        with pytest.raises(redis.RedisError) as refusal:
            ping(f"redis://:wrongword@127.0.0.1:{port}/0")
        assert "wrongword" not in str(refusal.value)


def test_a_sentinel_url_finds_the_present_master(tmp_path: Path, free_port: FreePort) -> None:
    master, sentinel = free_port(), free_port()
    with ExitStack() as stack:
        stack.enter_context(real_server(tmp_path / "master", master, ""))
        watched = f"sentinel monitor orders 127.0.0.1 {master} 1"
        stack.enter_context(real_server(tmp_path / "sentinel", sentinel, watched, "--sentinel"))
        url = f"redis+sentinel://127.0.0.1:{free_port()},127.0.0.1:{sentinel}/orders"
        assert read_address(url).fails_over
        client = read_address(url).resolve()()
        assert client.info("server")["tcp_port"] == master
        client.close()
        with pytest.raises(redis.RedisError):
            read_address(f"redis+sentinel://127.0.0.1:{sentinel}/unknown").resolve()


async def test_a_cluster_is_refused_with_a_sentence(tmp_path: Path, free_port: FreePort) -> None:
    port = free_port()
    with ExitStack() as stack, trio.fail_after(PATIENCE_SECONDS):
        stack.enter_context(
            real_server(tmp_path / "server", port, f"cluster-enabled yes\ncluster-config-file {port}.conf")
        )
        with pytest.raises(StoreRefused) as refusal:
            await RedisStore(read_address(f"redis://127.0.0.1:{port}")).check()
    assert str(refusal.value) == CLUSTER_REFUSED
    assert "Cluster" in CLUSTER_REFUSED


async def test_a_replica_and_a_server_that_is_not_there_cannot_be_used_now(tmp_path: Path, free_port: FreePort) -> None:
    port = free_port()
    with ExitStack() as stack, trio.fail_after(PATIENCE_SECONDS):
        stack.enter_context(real_server(tmp_path / "server", port, f"replicaof 127.0.0.1 {free_port()}"))
        with pytest.raises(StoreError, match="read-only replica"):
            await RedisStore(read_address(f"redis://127.0.0.1:{port}")).check()
    with trio.fail_after(PATIENCE_SECONDS), pytest.raises(StoreError):
        await RedisStore(read_address(f"redis://127.0.0.1:{port}")).check()


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        (
            "redis://nowhere.invalid",
            r"^no connection \((Name or service not known|Temporary failure in name resolution|.* not known)\)$",
        ),
        ("redis+sentinel://nowhere.invalid/orders", r"^no connection \(.*(not known|resolution)\)$"),
        ("redis+sentinel://127.0.0.1:{port},127.0.0.1:{port}/orders", r"^no connection \(Connection refused\)$"),
    ],
)
async def test_a_server_that_cannot_be_reached_is_told_in_words(url: str, reason: str, free_port: FreePort) -> None:
    with pytest.raises(StoreError, match=reason):
        await RedisStore(read_address(url.format(port=free_port()))).check()


async def test_a_service_that_no_sentinel_knows_is_told_in_words(tmp_path: Path, free_port: FreePort) -> None:
    with real_server(tmp_path / "sentinel", free_port(), "", "--sentinel") as sentinel:
        url = f"redis+sentinel://127.0.0.1:{free_port()},127.0.0.1:{sentinel.port}/orders"
        with pytest.raises(StoreError) as refusal:
            await RedisStore(read_address(url)).check()
    assert str(refusal.value) == "no sentinel knows a primary of the service that redis.url names"


@pytest.mark.parametrize(
    "url",
    [
        "http://user:secret@host",
        "redis://user:secret@host:port",
        "redis+sentinel://user:secret@/service",
        "redis+sentinel://user:secret@host:1",
        "redis+sentinel://user:secret@host:one/service",
        "redis+sentinel://user:secret@host:1/service/database",
        "redis://user:secret@host/0?decode_responses=1",
        "redis://user:secret@host/0?secret=1",
        "redis://user:secret@host/0?ssl_ca_certs=secret",
        "rediss://user:secret@host/0?socket_timeout=100",
        "unix:///path?ssl_ca_certs=secret",
        "redis+sentinel://user:secret@host/service?ssl_ca_certs=secret",
        "rediss+sentinel://user:secret@host/service?socket_timeout=100",
        "redis+sentinel://user:secret@host/service?nonsense",
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


@pytest.fixture
def rights(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them: a server of no binary is not asked."""
    monkeypatch.setattr("onebroker.actors.store.server_address._refuse_missing_rights", lambda client: None)


class FakeServer:
    """The answers of a server of some version, of which one's binary is not at hand."""

    def __init__(self, **info: object) -> None:
        self._info = {"role": "master", "aof_enabled": 1, "run_id": "r", **info}

    def info(self) -> dict[str, object]:
        return self._info

    def set(self, key: str, value: bytes, *, nx: bool) -> None:
        pass

    def get(self, key: str) -> bytes:
        return SCHEMA_VERSION

    def script_load(self, script: str) -> None:
        pass

    def config_get(self, name: str) -> dict[str, str]:
        return {name: "everysec"}

    def execute_command(self, *words: object) -> list[int]:
        return [0, 0]


@pytest.mark.usefixtures("rights")
@pytest.mark.parametrize(
    ("info", "every_write"),
    [
        ({"redis_version": "7.2.10"}, True),
        ({"redis_version": "7.4.2"}, False),
        ({"redis_version": "8.0.0"}, True),
        ({"redis_version": "8.10.1"}, True),
        ({"redis_version": "7.2.4", "valkey_version": "7.2.11"}, True),
        ({"redis_version": "7.2.4", "valkey_version": "8.0.0"}, False),
        ({"redis_version": "7.2.4", "valkey_version": "9.1.2"}, False),
        ({"redis_version": "7.2.4", "valkey_version": "10.0.0"}, False),
    ],
)
def test_the_word_of_a_server_about_its_disk_is_passed_on_where_it_is_true(
    info: dict[str, object], every_write: bool
) -> None:
    durability = probe(cast("redis.Redis", FakeServer(**info)), fails_over=False)
    assert (durability.every_write, durability.wait_for_disk) == (every_write, True)
    assert (durability.text == EVERY_WRITE) == every_write


@pytest.mark.usefixtures("rights")
@pytest.mark.parametrize(("fails_over", "replicas"), [(True, 0), (False, 1), (False, 0)])
def test_what_a_failover_can_lose_is_told_of_a_server_that_has_another_behind_it(
    fails_over: bool, replicas: int
) -> None:
    server = FakeServer(redis_version="8.0.0", connected_slaves=replicas)
    durability = probe(cast("redis.Redis", server), fails_over=fails_over)
    told = "; writes that no replica has yet are lost at a failover"
    assert durability.text == EVERY_WRITE + (told if fails_over or replicas else "")
