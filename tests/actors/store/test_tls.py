"""Servers behind TLS: commits go their way over connections that stay; who is not who the certificate says is refused with a sentence."""

import os
from pathlib import Path

import pytest
import trio

from onebroker.actors.store.interface import Set, StoreError
from onebroker.actors.store.redis import LANES, RedisStore, RedisStoreActor
from onebroker.actors.store.server_address import StoreRefused, read_address
from tests.actors.store.conftest import FreePort
from tests.support.real_servers import RealServer, real_server
from tests.support.tls_proxy import CERTIFICATE, tls_proxy

pytestmark = pytest.mark.demo

TRUSTED = f"ssl_ca_certs={CERTIFICATE}"


@pytest.fixture
def plain(tmp_path: Path, free_port: FreePort):
    with real_server(tmp_path / "server", free_port(), "appendonly yes\nappendfsync always") as server:
        yield server


async def test_commits_and_reads_go_over_tls_and_their_connections_stay(plain: RealServer) -> None:
    value = os.urandom(3_000_000)
    async with tls_proxy(plain.port) as proxy:
        store = RedisStore(read_address(f"rediss://127.0.0.1:{proxy.port}/0?{TRUSTED}"))
        async with trio.open_nursery() as nursery:
            await nursery.start(RedisStoreActor(store).run)
            for number in range(30):
                await store.commit(Set("k", b"%d" % number))
                await store.write(Set("l", b"%d" % number))
                assert (await store.get("k"), await store.get("l")) == (b"%d" % number, b"%d" % number)
            await store.commit(Set("large", value))
            assert await store.get("large") == value
            nursery.cancel_scope.cancel()
        assert proxy.connections == 1 + len(LANES), "one looked at the server, and each lane has its own"


async def test_a_certificate_that_nobody_trusted_signed_is_refused_with_a_sentence(plain: RealServer) -> None:
    async with tls_proxy(plain.port) as proxy:
        with pytest.raises(StoreError) as refusal:
            await RedisStore(read_address(f"rediss://127.0.0.1:{proxy.port}/0")).check()
    assert str(refusal.value) in (
        "the server's certificate is refused: self-signed certificate",
        "the server's certificate is refused: self signed certificate",
    )


async def test_a_certificate_for_another_host_is_refused_with_a_sentence(plain: RealServer) -> None:
    async with tls_proxy(plain.port, "127.0.0.2") as proxy:
        with pytest.raises(StoreError) as refusal:
            await RedisStore(read_address(f"rediss://127.0.0.2:{proxy.port}/0?{TRUSTED}")).check()
        assert str(refusal.value).startswith("the server's certificate is refused: IP address mismatch")
        url = f"rediss://127.0.0.2:{proxy.port}/0?{TRUSTED}&ssl_check_hostname=false"
        assert (await RedisStore(read_address(url)).check()).every_write


async def test_tls_to_a_server_without_it_and_a_plain_call_to_one_with_it_are_said(
    plain: RealServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CONNECT_SECONDS", "ANSWER_SECONDS"):  # a server without TLS waits for the end of the line
        monkeypatch.setattr(f"onebroker.actors.store.server_address.{name}", 0.2)
    with pytest.raises(StoreError, match=r"handshake|timed out|Timeout"):
        await RedisStore(read_address(f"rediss://127.0.0.1:{plain.port}/0?{TRUSTED}")).check()
    async with tls_proxy(plain.port) as proxy:
        with pytest.raises(StoreError, match=r"^no connection|closed"):
            await RedisStore(read_address(f"redis://127.0.0.1:{proxy.port}/0")).check()


async def test_servers_and_sentinels_are_both_reached_over_tls(
    plain: RealServer, tmp_path: Path, free_port: FreePort
) -> None:
    async with tls_proxy(plain.port) as server:
        watched = (
            f"sentinel monitor orders 127.0.0.1 {server.port} 1"  # names what clients reach; it asks in vain itself
        )
        with real_server(tmp_path / "sentinel", free_port(), watched, "--sentinel") as sentinel:
            async with tls_proxy(sentinel.port) as asked:
                url = f"rediss+sentinel://127.0.0.1:{asked.port}/orders"
                assert (await RedisStore(read_address(f"{url}?{TRUSTED}")).check()).every_write
                with pytest.raises(StoreError, match=r"^the server's certificate is refused: self"):
                    await RedisStore(read_address(url)).check()


@pytest.mark.parametrize("form", ["rediss://host/0", "rediss+sentinel://host/service"])
def test_a_file_of_certificates_that_is_not_there_is_refused_before_any_contact(form: str) -> None:
    with pytest.raises(StoreRefused, match="names a file in ssl_ca_certs that cannot be read"):
        read_address(f"{form}?ssl_ca_certs=/not/there.pem")
