"""The stream over real sockets: the handshake, close codes, clients that leave, dawdle, flood or do not read, and the shutdown."""

import contextlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest
import trio
import trio.testing
from trio_websocket import (
    ConnectionClosed,
    WebSocketConnection,
    connect_websocket_url,
    open_websocket_url,
)
from wsproto.events import Ping
from wsproto.extensions import PerMessageDeflate

from onebroker.actors.token.messages import Disconnect
from onebroker.http.lane.fast_lane import FastLane
from onebroker.http.listener import connection, websockets
from onebroker.http.listener.accept_loop import serve
from tests.support.patience import PATIENCE_SECONDS

MORE = 64 * 1024 * 1024
SOON = connection.WRITE_SECONDS / 2
"""Of the mocked clock, which goes on only when nobody has anything to do: what ends within it has waited for no client."""


class Served:
    def __init__(self, address: str, shutdown: trio.Event) -> None:
        self.port = int(address.rsplit(":", 1)[1])
        self.url = f"ws://127.0.0.1:{self.port}/stream"
        self.shutdown = shutdown
        self.stopped = trio.Event()


@asynccontextmanager
async def serving(live, graceful_seconds: float = 2.0) -> AsyncIterator[Served]:
    shutdown = trio.Event()
    async with trio.open_nursery() as nursery:
        run = partial(
            serve, live.app, "127.0.0.1", 0, shutdown_event=shutdown, graceful_seconds=graceful_seconds, lane=FastLane(live.services)
        )  # fmt: skip
        served: list[Served] = []

        async def run_marked(*, task_status) -> None:
            await run(task_status=task_status)
            served[0].stopped.set()

        async def end_streams() -> None:
            await shutdown.wait()
            live.services.live.stopping.set()

        served.append(Served((await nursery.start(run_marked))[0], shutdown))
        nursery.start_soon(end_streams)
        yield served[0]
        shutdown.set()


@asynccontextmanager
async def connected(url: str, **options: Any) -> AsyncIterator[WebSocketConnection]:
    """A client; the library leaves its socket open when the server closes first."""
    async with open_websocket_url(url, **options) as socket:
        try:
            yield socket
        finally:
            await socket.aclose()
            await socket._stream.aclose()


def headers(live) -> list[tuple[str, str]]:
    return [("access-token", live.token)]


async def hear(socket: WebSocketConnection) -> Any:
    return json.loads(await socket.get_message())


async def how_closed(socket: WebSocketConnection) -> tuple[int, str | None]:
    """Read to the end and return the close's code and reason."""
    with contextlib.suppress(ConnectionClosed):
        while True:
            await socket.get_message()
    assert socket.closed is not None
    return socket.closed.code, socket.closed.reason


async def test_quotes_move_over_a_socket_with_the_token_in_the_header(live):
    live.tick("INFY", 100.0)
    async with serving(live) as served, connected(served.url, extra_headers=headers(live)) as socket:
        assert (await hear(socket))["type"] == "started"
        name = [{"instrument_id": live.shares["INFY"].instrument_id}]
        await socket.send_message(json.dumps({"subscribe": "quotes", "instruments": name}))
        assert (await hear(socket))["type"] == "subscribed"
        assert (await hear(socket))["quotes"][0]["last_price"] == 100.0
        await trio.sleep(0.2)
        live.tick("INFY", 101.0)
        assert (await hear(socket))["quotes"][0]["last_price"] == 101.0


async def test_close_codes_and_reasons_reach_the_client(live):
    async with serving(live) as served:
        async with connected(served.url, extra_headers=[("access-token", "wrong")]) as socket:
            assert await how_closed(socket) == (4401, "Invalid access token")
        async with connected(f"{served.url}?access-token={live.token}") as socket:
            await socket.send_message("{}")
            assert await how_closed(socket) == (4401, "Access token is required")
        async with connected(served.url) as socket:
            await socket.send_message(json.dumps({"access-token": live.token}))
            assert (await hear(socket))["type"] == "started"
            await live.services.token_actor.ask(lambda reply: Disconnect(token=live.token.encode(), reply=reply), 5)
            assert await how_closed(socket) == (4401, "Invalid access token")


async def test_the_shutdown_closes_with_1001_and_ends_soon(live, quiet_clock):
    async with (
        serving(live, graceful_seconds=60) as served,
        connected(served.url, extra_headers=headers(live)) as socket,
    ):
        await hear(socket)
        served.shutdown.set()
        assert await how_closed(socket) == (1001, "the service is stopping")
        with trio.fail_after(SOON):
            await served.stopped.wait()


async def test_the_shutdown_does_not_wait_for_a_client_that_reads_nothing(live, quiet_clock):
    async with serving(live) as served, raw(served, live) as stream:
        live.publish("funds", {"summary": "x" * MORE})
        await stream.send_all(frame({"subscribe": "documents", "documents": ["funds"]}))
        await trio.testing.wait_all_tasks_blocked(0.05)
        served.shutdown.set()
        with trio.fail_after(SOON):
            await served.stopped.wait()


async def test_a_message_too_long_is_closed_with_1009_and_the_stream_is_let_go(live):
    async with serving(live) as served, connected(served.url, extra_headers=headers(live)) as socket:
        await hear(socket)
        await socket.send_message(json.dumps({"id": "x" * (websockets.MOST_MESSAGE_BYTES + 1)}))
        assert (await how_closed(socket))[0] == 1009
        await until(lambda: live.services.live.streams.figures().connections == 0)


FIRST, TEXT, PING, CLOSE = 0x80, 1, 9, 8


def bare_frame(opcode, payload, *, masked=True, reserved=0, final=True) -> bytes:
    """A client's frame as RFC 6455 section 5.2 has it, masked with zeros, or one that it forbids."""
    head = bytes([(FIRST if final else 0) | reserved | opcode, (0x80 if masked else 0) | len(payload)])
    return head + (bytes(4) if masked else b"") + payload


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        (bare_frame(TEXT, b"{}", masked=False), 1002),
        (bare_frame(TEXT, b"{}", reserved=0x40), 1002),
        (bare_frame(3, b""), 1002),
        (bare_frame(PING, b"", final=False), 1002),
        (bare_frame(0, b"goes on with nothing"), 1002),
        (bare_frame(CLOSE, b"x"), 1002),
        (bare_frame(TEXT, b"\xff\xfe"), 1007),
        (bare_frame(TEXT, b"\xe2\x82", final=False) + bare_frame(0, b"x"), 1007),
    ],
)  # fmt: skip
async def test_a_violation_of_the_protocol_is_closed_with_its_code(live, sent, code, quiet_clock):
    async with serving(live) as served, raw(served, live) as stream:
        await stream.send_all(sent + bytes(100_000))  # whatever follows is not looked at
        heard = b""
        with trio.fail_after(SOON):
            while received := await stream.receive_some(4096):
                heard += received
        assert heard[:1] == b"\x88"
        assert int.from_bytes(heard[2:4]) == code
        await until(lambda: live.services.live.streams.figures().connections == 0)


async def test_compression_is_never_agreed_to(live):
    async with serving(live) as served:
        offered = [("sec-websocket-extensions", PerMessageDeflate().name)]
        async with connected(served.url, extra_headers=[*headers(live), *offered]) as socket:
            assert "sec-websocket-extensions" not in {name.lower().decode() for name, _ in socket.handshake_headers}
            assert (await hear(socket))["type"] == "started"


async def test_a_plain_request_hears_what_the_path_is(live):
    response = await live.app.test_client().get("/stream", headers={"access-token": live.token})
    assert (response.status_code, response.headers["Upgrade"]) == (426, "websocket")
    assert (await response.get_json())["error"] == "/stream is a WebSocket: connect to it with one"
    assert (await live.app.test_client().get("/stream")).status_code == 401


async def test_a_cut_connection_is_resumed_without_a_gap(live):
    live.tick("INFY", 100.0)
    async with serving(live) as served:
        async with trio.open_nursery() as nursery:
            socket = await connect_websocket_url(nursery, served.url, extra_headers=headers(live))
            started = await hear(socket)
            name = [{"instrument_id": live.shares["INFY"].instrument_id}]
            await socket.send_message(json.dumps({"subscribe": "quotes", "instruments": name}))
            await hear(socket)
            last = await hear(socket)
            await socket._stream.aclose()  # no close of the protocol: as a network that is gone
            nursery.cancel_scope.cancel()
        await until(lambda: live.services.live.streams.figures().waiting == 1)
        live.tick("INFY", 107.0)
        async with connected(served.url) as socket:
            first = {"access-token": live.token, "resume": last["seq"], "stream": started["stream"]}
            await socket.send_message(json.dumps(first))
            resumed = await hear(socket)
            assert (resumed["type"], resumed["seq"]) == ("resumed", last["seq"] + 1)
            moved = await hear(socket)
            assert (moved["seq"], moved["quotes"][0]["last_price"]) == (last["seq"] + 2, 107.0)


async def test_a_client_that_reads_nothing_holds_up_nobody(live, quiet_clock):
    async with serving(live) as served, raw(served, live) as stream:
        live.publish("funds", {"summary": "x" * MORE})
        await stream.send_all(frame({"subscribe": "documents", "documents": ["funds"]}))
        live.tick("INFY", 100.0)
        async with connected(served.url, extra_headers=headers(live)) as socket:
            name = [{"instrument_id": live.shares["INFY"].instrument_id}]
            await socket.send_message(json.dumps({"subscribe": "quotes", "instruments": name}))
            with trio.fail_after(SOON):
                while (await hear(socket))["type"] != "quotes":
                    pass
            assert live.services.live.streams.figures().connections == 2


async def test_a_client_that_reads_nothing_is_cut_off(live, monkeypatch):
    monkeypatch.setattr(connection, "WRITE_SECONDS", 0.5)
    async with serving(live) as served, raw(served, live) as stream:
        live.publish("funds", {"summary": "x" * MORE})
        await stream.send_all(frame({"subscribe": "documents", "documents": ["funds"]}))
        await until(lambda: live.services.live.streams.figures().connections == 0)
        assert live.services.live.streams.figures().waiting == 1


async def test_a_slow_client_gets_the_newest_not_a_queue_of_what_was(live, quiet_clock):
    async with serving(live) as served, raw(served, live) as stream:
        name = [{"instrument_id": live.shares["INFY"].instrument_id}]
        await stream.send_all(frame({"subscribe": "quotes", "mode": "depth", "instruments": name}))
        for number in range(1, 2000):
            live.tick("INFY", float(number))
            if number % 20 == 0:
                await trio.lowlevel.checkpoint()
        received = bytearray()
        with trio.fail_after(SOON):
            while b'"last_price":1999.0' not in received:
                received += await stream.receive_some(65536)
        assert received.count(b'"type":"quotes"') < 50


async def pass_time(mock_clock, seconds: float) -> None:
    """Let the mocked clock go on, so that each ping comes and is answered: what goes over a socket takes no time of that clock."""
    ends = trio.current_time() + seconds
    while trio.current_time() < ends:
        mock_clock.jump(websockets.PING_SECONDS)
        await trio.testing.wait_all_tasks_blocked(0.05)


async def test_a_client_that_answers_no_ping_is_let_go(live, mock_clock):
    async with (
        serving(live) as served,
        raw(served, live) as stream,
        connected(served.url, extra_headers=headers(live)) as answering,
    ):
        await hear(answering)
        await pass_time(mock_clock, websockets.SILENT_SECONDS + 2 * websockets.PING_SECONDS)
        received = b""
        while piece := await stream.receive_some(65536):
            received += piece
        assert b"\x89\x00" in received  # pings came, and nobody answered
        await answering.send_message("{}")
        assert (await hear(answering))["type"] == "error"


async def test_a_flood_after_the_close_ends_with_the_connection(live):
    async with serving(live) as served, raw(served, live) as stream:
        flood = frame({"subscribe": "orders"}) * 200
        with trio.move_on_after(PATIENCE_SECONDS / 2):  # of real time: who floods lets no mocked clock go on
            await live.services.token_actor.ask(lambda reply: Disconnect(token=live.token.encode(), reply=reply), 5)
            while True:
                try:
                    await stream.send_all(flood)
                except trio.BrokenResourceError:
                    break
        await until(lambda: live.services.live.streams.figures().connections == 0)
        served.shutdown.set()
        await served.stopped.wait()


@pytest.mark.parametrize("garbage", [b"\xff" * 64, b"\x81\x05hello", b"\xc1\x80\x00\x00\x00\x00"])
async def test_frames_that_are_none_cost_their_connection_and_no_other(live, garbage, quiet_clock):
    async with serving(live) as served:
        async with connected(served.url, extra_headers=headers(live)) as socket:
            await hear(socket)
            async with raw(served, live) as stream:
                await stream.send_all(garbage)
                with trio.fail_after(SOON), contextlib.suppress(trio.BrokenResourceError):
                    while await stream.receive_some(65536):
                        pass
            await socket.send_message("{}")
            assert (await hear(socket))["type"] == "error"
        await until(lambda: live.services.live.streams.figures().connections == 0)


async def test_a_quiet_stream_outlives_the_time_that_an_idle_connection_has(live, mock_clock):
    async with serving(live) as served, connected(served.url, extra_headers=headers(live)) as socket:
        await hear(socket)
        await pass_time(mock_clock, 5 * connection.KEEP_ALIVE_SECONDS)
        await socket.send_message("{}")
        assert (await hear(socket))["type"] == "error"


async def test_another_path_is_no_socket(live, quiet_clock):
    async with serving(live) as served:
        async with await trio.open_tcp_stream("127.0.0.1", served.port) as stream:
            await stream.send_all(upgrade(live).replace(b"/stream", b"/streams"))
            answer = bytearray()
            async for piece in stream:
                answer += piece
        assert answer.startswith(b"HTTP/1.1 404 ")
        with trio.fail_after(SOON):
            served.shutdown.set()
            await served.stopped.wait()


def test_hypercorn_makes_our_sockets_and_has_what_they_lean_on():
    websockets.install()
    assert websockets.hypercorn_h11.WSStream is websockets.WebSocket
    for name in ("handle", "app_send", "_handle_events", "_accept", "_send_pings", "_send_wsproto_event"):
        assert callable(getattr(websockets.WSStream, name))
    assert Ping is websockets.Ping


# A client without a library: it reads only when a test does, and answers no ping.


@asynccontextmanager
async def raw(served: Served, live) -> AsyncIterator[trio.SocketStream]:
    async with await trio.open_tcp_stream("127.0.0.1", served.port) as stream:
        await begin(stream, live)
        yield stream


async def begin(stream: trio.SocketStream, live) -> None:
    await stream.send_all(upgrade(live))
    answer = b""
    while b"\r\n\r\n" not in answer or b"started" not in answer:
        answer += await stream.receive_some(4096)
    assert b" 101 " in answer


def upgrade(live) -> bytes:
    return (
        b"GET /stream HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nAccess-Token: " + live.token.encode() + b"\r\n\r\n"
    )


def frame(message: object) -> bytes:
    """A text frame, masked with zeros."""
    body = json.dumps(message).encode()
    length = bytes([0x80 | len(body)]) if len(body) < 126 else b"\xfe" + len(body).to_bytes(2, "big")
    return b"\x81" + length + bytes(4) + body


async def until(condition) -> None:
    while not condition():  # the test's deadline ends a vain wait
        await trio.sleep(0.01)
