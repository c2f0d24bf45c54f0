"""The listener speaks HTTP/1.1 and nothing else, says what it must about odd requests, and logs no stack of a client that leaves."""

import gc
import logging
import socket
import struct
from contextlib import suppress

import h11
import pytest
import trio
import trio.testing
from quart import Request
from quart.wrappers import Response

from onebroker.http import render
from onebroker.http.app import build_app
from tests.support.served import listening, route

pytestmark = pytest.mark.usefixtures("both_connections")

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0"
HOST = b"Host: 127.0.0.1\r\n"


async def done(request: Request, services) -> Response:
    return render.json_answer({"done": True})


async def body(request: Request, services) -> Response:
    await request.get_data()
    return render.json_answer({"done": True})


@pytest.fixture
def app(services):
    return build_app(services, (route("/done", done), route("/body", body, "POST")))


async def exchanged(served, sent: bytes) -> bytes:
    """Send `sent` and return all that comes until the service closes the connection."""
    async with await served.open() as stream:
        await stream.send_all(sent)
        return b"".join([piece async for piece in stream])


@pytest.mark.parametrize("version", [b"2.0", b"3.0", b"0.9"])
async def test_another_major_version_is_refused_and_the_connection_closed(app, version: bytes):
    async with listening(app) as served:
        answer = await exchanged(served, b"GET /done HTTP/" + version + b"\r\n" + HOST + b"\r\n")
    assert answer.startswith(b"HTTP/1.1 505 ")
    assert answer.count(b"HTTP/1.1") == 1


async def test_the_preface_of_http_2_is_refused_and_the_connection_closed(app):
    async with listening(app) as served:
        answer = await exchanged(served, PREFACE)
    assert answer.startswith(b"HTTP/1.1 505 ")
    assert answer.count(b"HTTP/1.1") == 1


async def test_an_upgrade_to_http_2_is_answered_in_http_1(app):
    upgrade = b"Connection: close, Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n"
    async with listening(app) as served:
        answer = await exchanged(served, b"GET /done HTTP/1.1\r\n" + HOST + upgrade + b"\r\n")
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert answer.endswith(b'{"done":true}')


async def test_a_request_with_both_a_length_and_chunks_is_the_last_of_its_connection(app):
    both = b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
    second = b"GET /done HTTP/1.1\r\n" + HOST + b"\r\n"
    async with listening(app) as served:
        answer = await exchanged(served, b"POST /body HTTP/1.1\r\n" + HOST + both + second)
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b"connection: close" in answer.lower()
    assert answer.count(b"HTTP/1.1") == 1


@pytest.mark.parametrize("half", [b"Content-Length: 10\r\n\r\nabc", b"Transfer-Encoding: chunked\r\n\r\nnone\r\n"])
async def test_a_client_that_leaves_in_the_middle_of_a_body_is_logged_without_a_stack(services, half: bytes, caplog):
    """The application answers while the listener refuses the rest: at each of their steps one time."""
    caplog.set_level(logging.INFO)
    steps = iter(range(1000))

    async def early(request: Request, services) -> Response:
        for _ in range(next(steps) // 2):
            await trio.lowlevel.checkpoint()
        return render.json_answer({"done": True})

    async def leave(served, says_so: bool) -> None:
        async with await served.open() as stream:
            await stream.send_all(b"POST /early HTTP/1.1\r\n" + HOST + half)
            if says_so:
                await stream.send_eof()
                with suppress(trio.BrokenResourceError):
                    await stream.receive_some(1)

    app = build_app(services, (route("/early", early, "POST"),))
    async with listening(app) as served:
        async with trio.open_nursery() as clients:
            for number in range(60):
                clients.start_soon(leave, served, number % 3 > 0)
        while served.connections.open:  # the end of a connection sets no event
            await trio.testing.wait_all_tasks_blocked(0.01)
    assert not [record for record in caplog.records if record.exc_info or record.levelno > logging.INFO]


async def test_an_ended_connection_leaves_nothing_for_the_collector(app):
    def alive() -> int:
        return sum(isinstance(each, h11.Connection) for each in gc.get_objects())

    gc.collect()
    gc.disable()
    try:
        async with listening(app) as served:
            before = alive()
            for _ in range(20):
                await exchanged(served, b"GET /done HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n")
                async with await served.open() as stream:
                    await stream.send_all(b"GET /done HTTP/1.1\r\n" + HOST + b"\r\n")
                    await stream.receive_some(1024)
                async with await served.open():
                    pass
                async with await served.open() as stream:
                    stream.socket.setsockopt(
                        socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
                    )  # leaves by a reset
            while served.connections.open:
                await trio.testing.wait_all_tasks_blocked(0.01)
            assert alive() - before <= 1
    finally:
        gc.enable()
