"""The way out: sources and families that a setting fixes, on real sockets whose other end says where they came from."""

import logging
import socket

import pytest
import trio
from trio_websocket import serve_websocket

from onebroker.brokers.requests import CallKind, NotSent, StreamAddress, WireRequest
from onebroker.brokers.transport.egress import Egress
from onebroker.brokers.transport.network import open_transport
from onebroker.config.clock import Clock
from tests.support.patience import PATIENCE_SECONDS

SECONDS = PATIENCE_SECONDS / 2
NOT_OURS = "203.0.113.9"
"""Of a network for documentation: no machine has it (RFC 5737)."""


def read(url):
    return WireRequest(kind=CallKind.READ, method="GET", url=url)


async def says_its_source(peer):
    await peer.request()
    await peer.answer(peer.socket.socket.getpeername()[0].encode())


@pytest.mark.parametrize("tls", [False, True])
@pytest.mark.parametrize(
    ("egress", "source"),
    [
        (Egress(), b"127.0.0.1"),
        (Egress(family="ipv4"), b"127.0.0.1"),
        (Egress(source_address="127.0.0.2"), b"127.0.0.2"),
        (Egress(family="ipv4", source_address="127.0.0.3"), b"127.0.0.3"),
    ],
)
async def test_a_request_leaves_by_the_address_of_its_egress(serving, client_tls, tls, egress, source, opened_by):
    async with (
        serving(says_its_source, tls=tls) as server,
        open_transport(Clock(), opened_by=opened_by, egress=egress, ssl_context=client_tls) as out,
    ):
        assert (await out.send(read(server.url()), SECONDS)).body == source


@pytest.mark.parametrize(
    ("egress", "source"), [(Egress(), "127.0.0.1"), (Egress(source_address="127.0.0.2"), "127.0.0.2")]
)
async def test_a_socket_leaves_by_the_address_of_its_egress(nursery, egress, source):
    sources = []

    async def hear(request):
        sources.append(str(request.remote.address))
        await request.accept()

    server = await nursery.start(serve_websocket, hear, "127.0.0.1", 0, None)
    async with open_transport(Clock(), egress=egress) as out:
        stream = await out.connect(StreamAddress(url=f"ws://127.0.0.1:{server.port}/"), SECONDS)
        await stream.aclose()
    assert sources == [source]


@pytest.mark.parametrize(
    ("egress", "why"),
    [
        (Egress(family="ipv6"), "another: its address is of another family than the settings allow (IPv6 only)"),
        (
            Egress(source_address="::1"),
            "another: its address is of another family than the settings allow (source address ::1)",
        ),
        (
            Egress(source_address=NOT_OURS),
            f"another: no connection can leave by source address {NOT_OURS}: Cannot assign requested address",
        ),
    ],
)
async def test_what_cannot_leave_so_is_not_sent_another_way(serving, ordinary, egress, why, opened_by):
    async with (
        serving(ordinary) as server,
        open_transport(Clock(), opened_by=opened_by, name="another", egress=egress) as out,
    ):
        with pytest.raises(NotSent) as refused:
            await out.send(read(server.url()), SECONDS)
        assert str(refused.value) == why
        with pytest.raises(NotSent) as refused:
            await out.connect(StreamAddress(url=f"ws://127.0.0.1:{server.port}/"), SECONDS)
        assert str(refused.value) == why
    assert server.connections == 0


@pytest.mark.parametrize(
    ("family", "reached"), [("ipv4", ["127.0.0.1"]), ("ipv6", ["::1"]), ("any", ["127.0.0.1", "::1"])]
)
async def test_of_a_host_with_both_families_only_the_wanted_one_is_connected_to(nursery, family, reached, opened_by):
    """`any` may use either; both answer, and which connects first is the system's choice."""
    if not socket.has_ipv6:
        pytest.skip("this machine has no IPv6")
    both = [(socket.AF_INET6, "::1"), (socket.AF_INET, "127.0.0.1")]
    first = await trio.open_tcp_listeners(0, host="127.0.0.1")
    port = first[0].socket.getsockname()[1]
    try:
        second = await trio.open_tcp_listeners(port, host="::1")
    except OSError:
        await first[0].aclose()
        pytest.skip("this machine has no ::1")

    async def answer(stream):
        body = stream.socket.getsockname()[0].encode()
        await stream.receive_some()
        await stream.send_all(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))

    class TwoFamilies(trio.abc.HostnameResolver):
        async def getaddrinfo(self, host, port, family=0, type=0, proto=0, flags=0):
            return [
                (kind, socket.SOCK_STREAM, 6, "", (address, port) if kind == socket.AF_INET else (address, port, 0, 0))
                for kind, address in both
                if family in (0, kind)
            ]

        async def getnameinfo(self, sockaddr, flags):
            raise NotImplementedError

    nursery.start_soon(trio.serve_listeners, answer, [*first, *second])
    trio.socket.set_custom_hostname_resolver(TwoFamilies())
    try:
        async with open_transport(Clock(), opened_by=opened_by, egress=Egress(family=family)) as out:
            answered = await out.send(read(f"http://broker.test:{port}/"), SECONDS)
            assert answered.body.decode() in reached
            assert sorted(await out.local_addresses("http://broker.test/")) == reached
    finally:
        trio.socket.set_custom_hostname_resolver(None)


async def test_the_local_address_of_a_connection_is_told_without_one(serving, ordinary):
    async with serving(ordinary) as server:
        for egress, expected in ((Egress(), "127.0.0.1"), (Egress(source_address="127.0.0.2"), "127.0.0.2")):
            async with open_transport(Clock(), egress=egress) as out:
                assert await out.local_addresses(server.url()) == (expected,)
        async with open_transport(Clock(), egress=Egress(family="ipv6")) as out:
            with pytest.raises(NotSent, match="another family"):
                await out.local_addresses(server.url())
    assert server.connections == 0


async def test_a_connection_that_fails_names_what_the_settings_bind_it_to(opened_by):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # nobody listens
        async with open_transport(Clock(), opened_by=opened_by, name="zerodha", egress=Egress(family="ipv4")) as out:
            with pytest.raises(NotSent) as refused:
                await out.send(read(f"http://127.0.0.1:{taken.getsockname()[1]}/"), SECONDS)
    assert str(refused.value) == "zerodha: no connection (by IPv4 only)"


async def test_what_failed_is_said_of_the_broker_and_its_host_stands_in_the_log_once(caplog, opened_by):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # nobody listens
        port = taken.getsockname()[1]
        async with open_transport(Clock(), opened_by=opened_by, name="zerodha") as out:
            with caplog.at_level(logging.WARNING, logger="onebroker.transport"):
                for _ in range(3):
                    with pytest.raises(NotSent) as refused:
                        await out.send(read(f"http://127.0.0.1:{port}/orders?token=s3cret"), SECONDS)
                    assert str(refused.value) == "zerodha: no connection"
                with pytest.raises(NotSent) as refused:
                    await out.connect(StreamAddress(url=f"ws://127.0.0.1:{port}/?token=s3cret"), SECONDS)
                assert str(refused.value) == "zerodha: the stream could not be opened (OSError)"
    assert [record.getMessage() for record in caplog.records] == [
        f"zerodha: no connection (127.0.0.1:{port})",
        f"zerodha: the stream could not be opened (OSError) (127.0.0.1:{port})",
    ]
