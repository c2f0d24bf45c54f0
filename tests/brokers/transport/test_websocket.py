"""Sockets over real connections: opening, redirects, refusals, messages, and every way one ends."""

import base64
import gzip
import hashlib
import ssl
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path

import pytest
import trio
import trio.testing
from trio_websocket import ConnectionClosed, serve_websocket

from onebroker.brokers.requests import CallKind, NotSent, OutcomeUnknown, StreamAddress, WireRequest
from onebroker.brokers.transport.interface import StreamClosed, StreamRefusedHandshake
from onebroker.brokers.transport.network import open_transport
from onebroker.config.clock import Clock
from tests.support.patience import PATIENCE_SECONDS

SECONDS = PATIENCE_SECONDS / 2
CERTIFICATE = Path(__file__).parents[2] / "data" / "transport" / "loopback.pem"


async def echo(request):
    socket = await request.accept()
    while True:
        try:
            await socket.send_message(await socket.get_message())
        except ConnectionClosed:
            return


@asynccontextmanager
async def websocket_server(handler, *, tls=False):
    context = None
    if tls:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(CERTIFICATE)
    async with trio.open_nursery() as nursery:
        serve = partial(serve_websocket, handler, "127.0.0.1", 0, context, max_message_size=2**26)
        server = await nursery.start(serve)
        try:
            with trio.fail_after(PATIENCE_SECONDS):
                yield f"{'wss' if tls else 'ws'}://127.0.0.1:{server.port}"
        finally:
            nursery.cancel_scope.cancel()


@pytest.fixture
async def transport(client_tls):
    async with open_transport(Clock(), ssl_context=client_tls) as opened:
        yield opened


def address(url, **headers):
    return StreamAddress(url=url.replace("http", "ws", 1), headers=headers)


async def closed(stream):
    """Receive until the socket is closed, and return how it was."""
    with pytest.raises(StreamClosed) as caught:
        await stream.receive()
    return caught.value


# --- messages ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tls", [False, True])
async def test_text_and_binary_messages_go_both_ways_whole(transport, tls):
    frames = ["", "hello ₹", b"", b"\x00\xff" * 10, b"x" * 3_000_000]
    async with websocket_server(echo, tls=tls) as url:
        stream = await transport.connect(address(url), SECONDS)
        for frame in frames:
            await stream.send(frame)
            assert await stream.receive() == frame
        await stream.aclose()


async def test_a_message_sent_in_pieces_arrives_whole(transport):
    async def handler(request):
        socket = await request.accept()
        raw = socket._stream
        await raw.send_all(b"\x02\x02ab\x89\x01p\x00\x02cd\x80\x01e")  # a ping in between

        await socket.get_message()

    async with websocket_server(handler) as url:
        stream = await transport.connect(address(url), SECONDS)
        assert await stream.receive() == b"abcde"
        await stream.aclose()


async def test_the_path_the_query_and_the_headers_reach_the_broker(transport):
    seen = {}

    async def handler(request):
        seen["path"], seen["headers"] = request.path, dict(request.headers)
        await (await request.accept()).send_message("hello")

    async with websocket_server(handler) as url:
        stream = await transport.connect(address(url + "/feed/v1?token=a%2Fb&x", Authorization="Bearer t"), SECONDS)
        assert await stream.receive() == "hello"
        await stream.aclose()
    assert seen["path"] == "/feed/v1?token=a%2Fb&x"
    assert seen["headers"][b"authorization"] == b"Bearer t"


async def test_pings_are_answered_without_anybody_receiving(transport):
    answered = trio.Event()

    async def handler(request):
        socket = await request.accept()
        await socket.ping(b"are you there")
        answered.set()

    async with websocket_server(handler) as url:
        stream = await transport.connect(address(url), SECONDS)
        await answered.wait()
        await stream.aclose()


# --- how it ends -------------------------------------------------------------------------------------------------------


async def test_the_brokers_close_comes_after_the_messages_before_it_with_code_and_reason(transport):
    async def handler(request):
        socket = await request.accept()
        await socket.send_message("last")
        await socket.aclose(4001, "token expired")

    async with websocket_server(handler) as url:
        stream = await transport.connect(address(url), SECONDS)
        assert await stream.receive() == "last"
        ending = await closed(stream)
        assert (ending.code, ending.reason) == (4001, "token expired")
        with pytest.raises(StreamClosed):
            await stream.send("more")
        await stream.aclose()


UPGRADE = (
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {}\r\n\r\n"
)


async def accept(peer):
    """Open the socket by hand, so that the rest can be broken by hand."""
    received = await peer.request()
    key = received.headers["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
    digest = base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()  # what RFC 6455 asks for
    await peer.send(UPGRADE.format(digest).encode())


async def _hang_up(peer):
    await accept(peer)


async def _reset(peer):
    await accept(peer)
    await peer.stream.receive_some()
    peer.reset()


async def _half_a_frame(peer):
    await accept(peer)
    await peer.send(b"\x82\x7e\x10\x00abc")


async def _no_frame(peer):
    await accept(peer)
    await peer.send(b"\xff\xff\xff\xff\xff\xff")
    await peer.stream.receive_some()


async def _bad_text(peer):
    await accept(peer)
    await peer.send(b"\x81\x02\xc3\x28")
    await peer.stream.receive_some()


@pytest.mark.parametrize("tls", [False, True])
@pytest.mark.parametrize("script", [_hang_up, _reset, _half_a_frame, _no_frame, _bad_text])
async def test_a_broken_connection_closes_the_stream_and_no_other(serving, transport, script, tls):
    async with serving(script, tls=tls) as server, websocket_server(echo) as healthy:
        other = await transport.connect(address(healthy), SECONDS)
        stream = await transport.connect(address(server.url()), SECONDS)
        if script is _reset:
            await stream.send(b"x")
        ending = await closed(stream)
        assert ending.code in {1002, 1006, 1007}
        await server.until(lambda: server.finished == 1)
        await stream.aclose()
        await other.send("still here")
        assert await other.receive() == "still here"
        await other.aclose()


async def test_a_message_over_the_limit_closes_the_stream(client_tls):
    async def handler(request):
        socket = await request.accept()
        await socket.send_message(b"x" * 101)
        with pytest.raises(ConnectionClosed):
            await socket.get_message()

    opening = open_transport(Clock(), ssl_context=client_tls, most_message_bytes=100)
    async with websocket_server(handler) as url, opening as transport:
        stream = await transport.connect(address(url), SECONDS)
        assert (await closed(stream)).code == 1009


async def test_closing_twice_is_allowed_and_says_goodbye_to_the_broker(transport):
    codes = []

    async def handler(request):
        socket = await request.accept()
        with pytest.raises(ConnectionClosed):
            await socket.get_message()
        codes.append(socket.closed.code)

    async with websocket_server(handler) as url:
        stream = await transport.connect(address(url), SECONDS)
        await stream.aclose()
        await stream.aclose()
        await closed(stream)
        with pytest.raises(StreamClosed):
            await stream.send("more")
    assert codes == [1000]


async def test_a_broker_that_ignores_our_goodbye_holds_nobody_up(serving, transport, quiet_clock):
    async def script(peer):
        await accept(peer)
        await trio.sleep_forever()

    async with serving(script) as server:
        stream = await transport.connect(address(server.url()), SECONDS)
        began = trio.current_time()
        await stream.aclose()
        assert trio.current_time() - began < 4
        await closed(stream)


async def cancel_when_stuck(scope):
    """Cancel when nobody can do anything more."""
    await trio.testing.wait_all_tasks_blocked(0.05)
    scope.cancel()


async def test_a_send_cancelled_half_way_closes_the_stream(serving, transport):
    async def script(peer):
        await accept(peer)
        await trio.sleep_forever()

    async with serving(script) as server:
        stream = await transport.connect(address(server.url()), SECONDS)
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(cancel_when_stuck, scope)
                await stream.send(b"x" * 50_000_000)
        assert scope.cancelled_caught
        await closed(stream)


async def test_closing_the_transport_closes_streams_requests_and_itself_but_not_the_caller(client_tls):
    async with websocket_server(echo) as url, open_transport(Clock(), ssl_context=client_tls) as transport:
        stream = await transport.connect(address(url), SECONDS)
        await transport.aclose()
        await closed(stream)
        with pytest.raises(NotSent):
            await transport.connect(address(url), SECONDS)
        with pytest.raises(NotSent):
            await transport.send(WireRequest(kind=CallKind.READ, method="GET", url="http://127.0.0.1:9/"), SECONDS)


async def test_a_stream_that_opens_while_the_transport_closes_is_closed_too(serving, transport):
    closing = trio.Event()
    streams = []

    async def script(peer):
        await closing.wait()
        await accept(peer)
        await peer.wait_hang_up()

    async def connect(server):
        streams.append(await transport.connect(address(server.url()), SECONDS))

    async with serving(script) as server:
        async with trio.open_nursery() as opening:
            opening.start_soon(connect, server)
            while not server.connections:
                await trio.testing.wait_all_tasks_blocked(0.01)
            await transport.aclose()
            closing.set()
        await closed(streams[0])
        await server.until(lambda: server.finished == 1)


async def test_leaving_the_transport_closes_open_streams(client_tls):
    async with websocket_server(echo) as url:
        async with open_transport(Clock(), ssl_context=client_tls) as transport:
            stream = await transport.connect(address(url), SECONDS)
        await closed(stream)


# --- refusals ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rest",
    [
        b"Content-Length: 9\r\n\r\nbad token",
        b"Transfer-Encoding: chunked\r\n\r\n3\r\nbad\r\n6\r\n token\r\n0\r\n\r\n",
        b"\r\nbad token",  # ends with the connection
        b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(b"bad token", mtime=0),
    ],
)
async def test_a_refusal_shows_its_status_and_its_body(serving, transport, rest):
    async def script(peer):
        await peer.request()
        await peer.send(b"HTTP/1.1 403 Forbidden\r\n" + rest)

    async with serving(script) as server:
        with pytest.raises(StreamRefusedHandshake) as caught:
            await transport.connect(address(server.url("/?token=s3cret")), SECONDS)
        assert (caught.value.status, caught.value.body) == (403, b"bad token")
        assert "s3cret" not in str(caught.value)
        assert len(server.requests) == 1


async def test_an_ordinary_page_instead_of_a_socket_is_a_refusal(serving, ordinary, transport):
    async with serving(ordinary) as server:
        with pytest.raises(StreamRefusedHandshake) as caught:
            await transport.connect(address(server.url()), SECONDS)
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
async def test_a_broken_handshake_is_no_connection(serving, transport, script, tls, quiet_clock):
    async with serving(script, tls=tls) as server:
        with pytest.raises(NotSent):
            await transport.connect(address(server.url("/?token=s3cret")), 0.5)
        await server.until(lambda: server.finished == 1)  # our end was closed
        assert server.connections == 1


async def test_a_refused_port_and_a_bad_address_are_no_connection(transport):
    with trio.fail_after(PATIENCE_SECONDS), trio.socket.socket() as unused:
        await unused.bind(("127.0.0.1", 0))
        for url in (f"ws://127.0.0.1:{unused.getsockname()[1]}/", "ftp://127.0.0.1/", "ws:///", "ws://127.0.0.1:x/"):
            with pytest.raises(NotSent):
                await transport.connect(StreamAddress(url=url), SECONDS)


async def test_a_certificate_nobody_vouches_for_is_no_connection():
    async with websocket_server(echo, tls=True) as url, open_transport(Clock()) as strict:
        with pytest.raises(NotSent):
            await strict.connect(address(url), SECONDS)


async def test_a_cancelled_opening_closes_its_connection(serving, transport):
    async with serving(_never_answers) as server:
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(cancel_when_stuck, scope)
                await transport.connect(address(server.url()), SECONDS)
        assert scope.cancelled_caught
        await server.until(lambda: server.finished == 1)


# --- redirects ---------------------------------------------------------------------------------------------------------


def redirect_to(location, status="302 Found"):
    async def script(peer):
        await peer.request()
        await peer.answer(b"", status, (f"Location: {location}",))

    return script


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "307 Temporary"])
async def test_a_redirected_handshake_is_followed_and_tokens_stay_with_their_server(serving, transport, status):
    seen = {}

    async def handler(request):
        seen["path"], seen["headers"] = request.path, dict(request.headers)
        await echo(request)

    async with websocket_server(handler) as url:
        location = url.replace("ws", "http") + "/one-time?code=1"
        async with serving(redirect_to(location, status)) as server:
            asked = address(server.url("/feed"), Authorization="Bearer t", Accept="*/*")
            stream = await transport.connect(asked, SECONDS)
            await stream.send("hello")
            assert await stream.receive() == "hello"
            await stream.aclose()
            assert server.requests[0].headers["authorization"] == "Bearer t"
    assert seen["path"] == "/one-time?code=1"
    assert b"authorization" not in seen["headers"]
    assert seen["headers"][b"accept"] == b"*/*"


async def test_a_redirect_within_one_server_keeps_the_headers_and_may_be_relative(serving, transport):
    async def arrive(peer):
        await accept(peer)
        await peer.stream.receive_some()  # the goodbye

    async with serving(redirect_to("../v3/feed"), arrive) as server:
        stream = await transport.connect(address(server.url("/v2/feed"), Authorization="Bearer t"), SECONDS)
        await stream.aclose()
        first, second = server.requests
        assert (first.line, second.line) == ("GET /v2/feed HTTP/1.1", "GET /v3/feed HTTP/1.1")
        assert second.headers["authorization"] == "Bearer t"


async def test_three_redirects_are_followed_and_a_fourth_is_refused(serving, transport):
    async def arrive(peer):
        await accept(peer)
        await peer.stream.receive_some()  # the goodbye

    onward = redirect_to("/next")
    async with serving(onward, onward, onward, arrive) as server:
        await (await transport.connect(address(server.url()), SECONDS)).aclose()
        assert len(server.requests) == 4
    async with serving(onward) as server:
        with pytest.raises(StreamRefusedHandshake) as caught:
            await transport.connect(address(server.url()), SECONDS)
        assert caught.value.status == 302
        assert len(server.requests) == 4


async def test_a_redirect_without_an_address_is_a_refusal(serving, transport):
    async def script(peer):
        await peer.request()
        await peer.answer(b"nowhere", "302 Found")

    async with serving(script) as server:
        with pytest.raises(StreamRefusedHandshake) as caught:
            await transport.connect(address(server.url()), SECONDS)
        assert (caught.value.status, caught.value.body) == (302, b"nowhere")


@pytest.mark.parametrize("location", ["ws://127.0.0.1:9/", "http://127.0.0.1:9/", "ftp://127.0.0.1/"])
async def test_a_redirect_out_of_tls_is_not_followed(serving, transport, location):
    async with serving(redirect_to(location), tls=True) as server:
        with pytest.raises(NotSent, match="not a safe websocket one"):
            await transport.connect(address(server.url()), SECONDS)
        assert len(server.requests) == 1


# --- what is left behind -----------------------------------------------------------------------------------------------


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
            open_transport(Clock(), ssl_context=client_tls) as transport,
        ):
            for _ in scripts * 3:
                with pytest.raises((NotSent, StreamRefusedHandshake)):
                    await transport.connect(address(server.url()), SECONDS)
                with suppress(NotSent, OutcomeUnknown):
                    await transport.send(WireRequest(kind=CallKind.ORDER, method="POST", url=server.url()), SECONDS)
            await server.until(lambda: server.connections - server.finished <= 1)  # one is pooled
        assert open_descriptors() <= before
