"""Sockets over real connections: messages, and every way one ends."""

import pytest
import trio
import trio.testing
from trio_websocket import ConnectionClosed

from onebroker.brokers.requests import CallKind, NotSent, WireRequest
from onebroker.brokers.transport.interface import StreamClosed
from onebroker.brokers.transport.network import open_transport
from onebroker.config.clock import Clock
from tests.brokers.transport.socket_servers import SECONDS, accept, address, cancel_when_stuck, echo, websocket_server


async def closed(stream):
    """Receive until the socket is closed, and return how it was."""
    with pytest.raises(StreamClosed) as caught:
        await stream.receive()
    return caught.value


@pytest.mark.parametrize("tls", [False, True])
async def test_text_and_binary_messages_go_both_ways_whole(network, tls):
    frames = ["", "hello ₹", b"", b"\x00\xff" * 10, b"x" * 3_000_000]
    async with websocket_server(echo, tls=tls) as url:
        stream = await network.connect(address(url), SECONDS)
        for frame in frames:
            await stream.send(frame)
            assert await stream.receive() == frame
        await stream.aclose()


async def test_a_message_sent_in_pieces_arrives_whole(network):
    async def handler(request):
        socket = await request.accept()
        raw = socket._stream
        await raw.send_all(b"\x02\x02ab\x89\x01p\x00\x02cd\x80\x01e")  # a ping in between

        await socket.get_message()

    async with websocket_server(handler) as url:
        stream = await network.connect(address(url), SECONDS)
        assert await stream.receive() == b"abcde"
        await stream.aclose()


async def test_the_path_the_query_and_the_headers_reach_the_broker(network):
    seen = {}

    async def handler(request):
        seen["path"], seen["headers"] = request.path, dict(request.headers)
        await (await request.accept()).send_message("hello")

    async with websocket_server(handler) as url:
        stream = await network.connect(address(url + "/feed/v1?token=a%2Fb&x", Authorization="Bearer t"), SECONDS)
        assert await stream.receive() == "hello"
        await stream.aclose()
    assert seen["path"] == "/feed/v1?token=a%2Fb&x"
    assert seen["headers"][b"authorization"] == b"Bearer t"


async def test_pings_are_answered_without_anybody_receiving(network):
    answered = trio.Event()

    async def handler(request):
        socket = await request.accept()
        await socket.ping(b"are you there")
        answered.set()

    async with websocket_server(handler) as url:
        stream = await network.connect(address(url), SECONDS)
        await answered.wait()
        await stream.aclose()


async def test_the_brokers_close_comes_after_the_messages_before_it_with_code_and_reason(network):
    async def handler(request):
        socket = await request.accept()
        await socket.send_message("last")
        await socket.aclose(4001, "token expired")

    async with websocket_server(handler) as url:
        stream = await network.connect(address(url), SECONDS)
        assert await stream.receive() == "last"
        ending = await closed(stream)
        assert (ending.code, ending.reason) == (4001, "token expired")
        with pytest.raises(StreamClosed):
            await stream.send("more")
        await stream.aclose()


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
async def test_a_broken_connection_closes_the_stream_and_no_other(serving, network, script, tls):
    async with serving(script, tls=tls) as server, websocket_server(echo) as healthy:
        other = await network.connect(address(healthy), SECONDS)
        stream = await network.connect(address(server.url()), SECONDS)
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
    async with websocket_server(handler) as url, opening as network:
        stream = await network.connect(address(url), SECONDS)
        assert (await closed(stream)).code == 1009


async def test_closing_twice_is_allowed_and_says_goodbye_to_the_broker(network):
    codes = []

    async def handler(request):
        socket = await request.accept()
        with pytest.raises(ConnectionClosed):
            await socket.get_message()
        codes.append(socket.closed.code)

    async with websocket_server(handler) as url:
        stream = await network.connect(address(url), SECONDS)
        await stream.aclose()
        await stream.aclose()
        await closed(stream)
        with pytest.raises(StreamClosed):
            await stream.send("more")
    assert codes == [1000]


async def test_a_broker_that_ignores_our_goodbye_holds_nobody_up(serving, network, quiet_clock):
    async def script(peer):
        await accept(peer)
        await trio.sleep_forever()

    async with serving(script) as server:
        stream = await network.connect(address(server.url()), SECONDS)
        began = trio.current_time()
        await stream.aclose()
        assert trio.current_time() - began < 4
        await closed(stream)


async def test_a_send_cancelled_half_way_closes_the_stream(serving, network):
    async def script(peer):
        await accept(peer)
        await trio.sleep_forever()

    async with serving(script) as server:
        stream = await network.connect(address(server.url()), SECONDS)
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(cancel_when_stuck, scope)
                await stream.send(b"x" * 50_000_000)
        assert scope.cancelled_caught
        await closed(stream)


async def test_closing_the_transport_closes_streams_requests_and_itself_but_not_the_caller(client_tls):
    async with websocket_server(echo) as url, open_transport(Clock(), ssl_context=client_tls) as network:
        stream = await network.connect(address(url), SECONDS)
        await network.aclose()
        await closed(stream)
        with pytest.raises(NotSent):
            await network.connect(address(url), SECONDS)
        with pytest.raises(NotSent):
            await network.send(WireRequest(kind=CallKind.READ, method="GET", url="http://127.0.0.1:9/"), SECONDS)


async def test_a_stream_that_opens_while_the_transport_closes_is_closed_too(serving, network):
    closing = trio.Event()
    streams = []

    async def script(peer):
        await closing.wait()
        await accept(peer)
        await peer.wait_hang_up()

    async def connect(server):
        streams.append(await network.connect(address(server.url()), SECONDS))

    async with serving(script) as server:
        async with trio.open_nursery() as opening:
            opening.start_soon(connect, server)
            while not server.connections:
                await trio.testing.wait_all_tasks_blocked(0.01)
            await network.aclose()
            closing.set()
        await closed(streams[0])
        await server.until(lambda: server.finished == 1)


async def test_leaving_the_transport_closes_open_streams(client_tls):
    async with websocket_server(echo) as url:
        async with open_transport(Clock(), ssl_context=client_tls) as network:
            stream = await network.connect(address(url), SECONDS)
        await closed(stream)
