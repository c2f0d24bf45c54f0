"""Sockets over real connections: the opening, refusals, redirects, and what is left behind."""

import gzip
from contextlib import suppress
from pathlib import Path

import pytest
import trio
import trio.testing

from onebroker.brokers.requests import CallKind, NotSent, OutcomeUnknown, StreamAddress, WireRequest
from onebroker.brokers.transport.interface import StreamRefusedHandshake
from onebroker.brokers.transport.network import open_transport
from onebroker.config.clock import Clock
from tests.brokers.transport.socket_servers import (
    SECONDS,
    UPGRADE,
    accept,
    address,
    cancel_when_stuck,
    echo,
    websocket_server,
)
from tests.support.patience import PATIENCE_SECONDS


@pytest.mark.parametrize(
    "rest",
    [
        b"Content-Length: 9\r\n\r\nbad token",
        b"Transfer-Encoding: chunked\r\n\r\n3\r\nbad\r\n6\r\n token\r\n0\r\n\r\n",
        b"\r\nbad token",  # ends with the connection
        b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(b"bad token", mtime=0),
    ],
)
async def test_a_refusal_shows_its_status_and_its_body(serving, network, rest):
    async def script(peer):
        await peer.request()
        await peer.send(b"HTTP/1.1 403 Forbidden\r\n" + rest)

    async with serving(script) as server:
        with pytest.raises(StreamRefusedHandshake) as caught:
            await network.connect(address(server.url("/?token=s3cret")), SECONDS)
        assert (caught.value.status, caught.value.body) == (403, b"bad token")
        assert "s3cret" not in str(caught.value)
        assert len(server.requests) == 1


async def test_an_ordinary_page_instead_of_a_socket_is_a_refusal(serving, ordinary, network):
    async with serving(ordinary) as server:
        with pytest.raises(StreamRefusedHandshake) as caught:
            await network.connect(address(server.url()), SECONDS)
        assert (caught.value.status, caught.value.body) == (200, b"ok")


async def _close_at_once(peer):
    pass


async def _close_after_reading(peer):
    await peer.request()


async def _half_a_head(peer):
    await peer.request()
    await peer.send(b"HTTP/1.1 403 Forb")


async def _half_a_body(peer):
    await peer.request()
    await peer.send(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 100\r\n\r\nhalf")


async def _garbage(peer):
    await peer.request()
    await peer.send(b"\x00\x01\r\n\r\n")
    await peer.wait_hang_up()


async def _wrong_key(peer):
    await peer.request()
    await peer.send(UPGRADE.format("wrong").encode())
    await peer.wait_hang_up()


async def _endless(peer):
    await peer.request()
    await peer.send(b"HTTP/1.1 403 Forbidden\r\n\r\n")
    while True:
        await peer.send(b"x" * 65536)


async def _never_answers(peer):
    await peer.request()
    await peer.wait_hang_up()


@pytest.mark.parametrize("tls", [False, True])
@pytest.mark.parametrize(
    "script",
    [
        _close_at_once,
        _close_after_reading,
        _half_a_head,
        _half_a_body,
        _garbage,
        _wrong_key,
        _endless,
        _never_answers,
    ],
)
async def test_a_broken_handshake_is_no_connection(serving, network, script, tls, quiet_clock):
    async with serving(script, tls=tls) as server:
        with pytest.raises(NotSent):
            await network.connect(address(server.url("/?token=s3cret")), 0.5)
        await server.until(lambda: server.finished == 1)  # our end was closed
        assert server.connections == 1


async def test_a_refused_port_and_a_bad_address_are_no_connection(network):
    with trio.fail_after(PATIENCE_SECONDS), trio.socket.socket() as unused:
        await unused.bind(("127.0.0.1", 0))
        for url in (f"ws://127.0.0.1:{unused.getsockname()[1]}/", "ftp://127.0.0.1/", "ws:///", "ws://127.0.0.1:x/"):
            with pytest.raises(NotSent):
                await network.connect(StreamAddress(url=url), SECONDS)


async def test_a_certificate_nobody_vouches_for_is_no_connection():
    async with websocket_server(echo, tls=True) as url, open_transport(Clock()) as strict:
        with pytest.raises(NotSent):
            await strict.connect(address(url), SECONDS)


async def test_a_cancelled_opening_closes_its_connection(serving, network):
    async with serving(_never_answers) as server:
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(cancel_when_stuck, scope)
                await network.connect(address(server.url()), SECONDS)
        assert scope.cancelled_caught
        await server.until(lambda: server.finished == 1)


def redirect_to(location, status="302 Found"):
    async def script(peer):
        await peer.request()
        await peer.answer(b"", status, (f"Location: {location}",))

    return script


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "307 Temporary"])
async def test_a_redirected_handshake_is_followed_and_tokens_stay_with_their_server(serving, network, status):
    seen = {}

    async def handler(request):
        seen["path"], seen["headers"] = request.path, dict(request.headers)
        await echo(request)

    async with websocket_server(handler) as url:
        location = url.replace("ws", "http") + "/one-time?code=1"
        async with serving(redirect_to(location, status)) as server:
            asked = address(server.url("/feed"), Authorization="Bearer t", Accept="*/*")
            stream = await network.connect(asked, SECONDS)
            await stream.send("hello")
            assert await stream.receive() == "hello"
            await stream.aclose()
            assert server.requests[0].headers["authorization"] == "Bearer t"
    assert seen["path"] == "/one-time?code=1"
    assert b"authorization" not in seen["headers"]
    assert seen["headers"][b"accept"] == b"*/*"


async def test_a_redirect_within_one_server_keeps_the_headers_and_may_be_relative(serving, network):
    async def arrive(peer):
        await accept(peer)
        await peer.stream.receive_some()  # the goodbye

    async with serving(redirect_to("../v3/feed"), arrive) as server:
        stream = await network.connect(address(server.url("/v2/feed"), Authorization="Bearer t"), SECONDS)
        await stream.aclose()
        first, second = server.requests
        assert (first.line, second.line) == ("GET /v2/feed HTTP/1.1", "GET /v3/feed HTTP/1.1")
        assert second.headers["authorization"] == "Bearer t"


async def test_three_redirects_are_followed_and_a_fourth_is_refused(serving, network):
    async def arrive(peer):
        await accept(peer)
        await peer.stream.receive_some()  # the goodbye

    onward = redirect_to("/next")
    async with serving(onward, onward, onward, arrive) as server:
        await (await network.connect(address(server.url()), SECONDS)).aclose()
        assert len(server.requests) == 4
    async with serving(onward) as server:
        with pytest.raises(StreamRefusedHandshake) as caught:
            await network.connect(address(server.url()), SECONDS)
        assert caught.value.status == 302
        assert len(server.requests) == 4


async def test_a_redirect_without_an_address_is_a_refusal(serving, network):
    async def script(peer):
        await peer.request()
        await peer.answer(b"nowhere", "302 Found")

    async with serving(script) as server:
        with pytest.raises(StreamRefusedHandshake) as caught:
            await network.connect(address(server.url()), SECONDS)
        assert (caught.value.status, caught.value.body) == (302, b"nowhere")


@pytest.mark.parametrize("location", ["ws://127.0.0.1:9/", "http://127.0.0.1:9/", "ftp://127.0.0.1/"])
async def test_a_redirect_out_of_tls_is_not_followed(serving, network, location):
    async with serving(redirect_to(location), tls=True) as server:
        with pytest.raises(NotSent, match="not a safe websocket one"):
            await network.connect(address(server.url()), SECONDS)
        assert len(server.requests) == 1


def open_descriptors():
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts descriptors where Linux lists them")
async def test_no_descriptor_is_left_behind_by_anything_that_fails(serving, ordinary, client_tls):
    async def refuse(peer):
        await peer.request()
        await peer.answer(b"no", "403 Forbidden")

    scripts = (_close_at_once, _half_a_body, _garbage, refuse, ordinary)
    before = open_descriptors()
    for tls in (False, True):
        async with (
            serving(*scripts * 6, tls=tls) as server,
            open_transport(Clock(), ssl_context=client_tls) as network,
        ):
            for _ in scripts * 3:
                with pytest.raises((NotSent, StreamRefusedHandshake)):
                    await network.connect(address(server.url()), SECONDS)
                with suppress(NotSent, OutcomeUnknown):
                    await network.send(WireRequest(kind=CallKind.ORDER, method="POST", url=server.url()), SECONDS)
            await server.until(lambda: server.connections - server.finished <= 1)  # one is pooled
        assert open_descriptors() <= before
