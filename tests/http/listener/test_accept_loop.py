"""The listener over real sockets: answers, a busy port, TLS, clients that leave, dawdle or do not read, and the shutdown."""

import json
import logging
import ssl
from functools import partial
from pathlib import Path

import pytest
import trio
import trio.testing
from quart import Request
from quart.wrappers import Response

from onebroker.http import render
from onebroker.http.app import build_app
from onebroker.http.bodies.long_body_out import array_answer
from onebroker.http.listener import accept_loop, connection
from onebroker.http.listener.accept_loop import ListenError, TlsFiles
from tests.support.served import listening, route

pytestmark = pytest.mark.usefixtures("both_connections")

TLS = Path(__file__).parents[2] / "data" / "tls"
BIG = 64 * 1024 * 1024
SOON = connection.WRITE_SECONDS / 2
"""Of the mocked clock, which goes on only when nobody has anything to do: what ends within it has waited for no client."""


async def ask(stream, method: str, path: str, headers: str = "", body: str = "") -> tuple[int, dict[str, str], bytes]:
    """Send one request that closes the connection and return status, headers and body."""
    await stream.send_all(
        f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n{headers}\r\n{body}".encode()
    )
    raw = bytearray()
    async for piece in stream:
        raw += piece
    head, _, rest = bytes(raw).partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    return int(first.split()[1]), dict(line.lower().split(": ", 1) for line in lines), rest


async def test_a_session_over_a_real_socket(house):
    async with listening(house.app) as served:
        assert served.addresses == [f"http://127.0.0.1:{served.port}"]
        async with await served.open() as stream:
            credentials = "api-key: key-1\r\napi-secret: secret-1\r\n"
            status, headers, body = await ask(stream, "POST", "/api/session/connect", credentials)
            assert (status, headers["content-type"]) == (200, "application/json")
            assert "server" not in headers
        token = json.loads(body)["access-token"]
        async with await served.open() as stream:
            status, _, body = await ask(stream, "GET", "/api/session/status", f"Access-Token: {token}\r\n")
            assert (status, json.loads(body)["status"]) == (200, "connected")
        async with await served.open() as stream:
            status, headers, _ = await ask(stream, "GET", "/nothing")
            assert (status, headers["content-type"]) == (404, "text/html; charset=utf-8")


async def test_a_busy_port_is_an_error_with_a_sentence(house):
    async with listening(house.app) as served:
        with pytest.raises(ListenError, match=f"cannot listen on port {served.port} of 127.0.0.1: .*in use"):
            await accept_loop.serve(house.app, "127.0.0.1", served.port, shutdown_event=trio.Event())


async def test_tls_is_spoken_with_the_files_of_the_settings(house):
    tls = TlsFiles(TLS / "certificate.pem", TLS / "key.pem")
    context = ssl.create_default_context(cafile=str(TLS / "certificate.pem"))
    async with listening(house.app, tls=tls) as served:
        assert served.addresses == [f"https://127.0.0.1:{served.port}"]
        plain = await served.open()
        async with trio.SSLStream(plain, context, server_hostname="localhost", https_compatible=True) as stream:
            assert (await ask(stream, "GET", "/health"))[0] == 200
        async with await served.open() as garbage:  # not TLS: the listener goes on
            await garbage.send_all(b"GET /health HTTP/1.1\r\n\r\n")
        plain = await served.open()
        async with trio.SSLStream(plain, context, server_hostname="localhost", https_compatible=True) as stream:
            assert (await ask(stream, "GET", "/health"))[0] == 200


async def test_tls_files_that_cannot_be_used_are_an_error_with_a_sentence(house, tmp_path: Path):
    tls = TlsFiles(tmp_path / "none.pem", TLS / "key.pem")
    with pytest.raises(ListenError, match=r"none\.pem"):
        await accept_loop.serve(house.app, "127.0.0.1", 0, shutdown_event=trio.Event(), tls=tls)


@pytest.mark.parametrize(
    "garbage", [b"\x00\x01\x02\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET\r\n\r\n", b"\x16\x03\x01"]
)
async def test_garbage_costs_its_connection_and_no_other(house, garbage: bytes):
    async with listening(house.app) as served:
        async with await served.open() as stream:
            await stream.send_all(garbage)
            await stream.send_eof()
            async for _ in stream:
                pass
        async with await served.open() as stream:
            assert (await ask(stream, "GET", "/health"))[0] == 200


async def test_a_client_that_leaves_cancels_its_handler(services):
    entered, cancelled = trio.Event(), trio.Event()

    async def wait(request: Request, services) -> Response:
        entered.set()
        try:
            await trio.sleep_forever()
        finally:
            cancelled.set()

    async with listening(build_app(services, (route("/wait", wait),))) as served:
        async with await served.open() as stream:
            await stream.send_all(b"GET /wait HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            await entered.wait()
        await cancelled.wait()


async def test_a_client_that_leaves_a_stream_closes_its_source(services):
    closed = trio.Event()

    async def rows():
        try:
            while True:
                await trio.lowlevel.checkpoint()
                yield b"1" * 1000
        finally:
            closed.set()

    async def endless(request: Request, services) -> Response:
        return await array_answer(rows(), failures=())

    async with listening(build_app(services, (route("/rows", endless),))) as served:
        async with await served.open() as stream:
            await stream.send_all(b"GET /rows HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert await stream.receive_some(10)
        await closed.wait()


async def big(request: Request, services) -> Response:
    return render.encoded(b"x" * BIG)


async def test_a_client_that_takes_no_bytes_is_cut_off(services, monkeypatch: pytest.MonkeyPatch, caplog):
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(connection, "WRITE_SECONDS", 0.2)
    async with listening(build_app(services, (route("/big", big),))) as served, await served.open() as stream:
        await stream.send_all(b"GET /big HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        while "was cut off" not in caplog.text:  # a log line sets no event
            await trio.sleep(0.01)
        served.shutdown.set()
        await served.stopped.wait()


async def test_a_client_that_reads_slowly_gets_everything(services):
    async with listening(build_app(services, (route("/big", big),))) as served, await served.open() as stream:
        _, _, body = await ask(stream, "GET", "/big")
        assert len(body) == BIG


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"",  # connected, nothing sent
        b"GET /health HTTP/1.1\r\nHo",  # half a head
        b"POST /body HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\nhalf",
        b"GET /wait HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",  # a handler that never ends
        b"GET /big HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",  # an answer nobody reads
    ],
)
async def test_a_shutdown_is_bounded_whatever_a_client_does(services, request_bytes: bytes, quiet_clock):
    async def wait(request: Request, services) -> Response:
        await trio.sleep_forever()

    async def body(request: Request, services) -> Response:
        await request.get_data()
        return render.json_answer({})

    app = build_app(services, (route("/wait", wait), route("/body", body, "POST"), route("/big", big)))
    async with listening(app, graceful_seconds=0.2) as served, await served.open() as stream:
        await stream.send_all(request_bytes or b"\r\n")
        await trio.testing.wait_all_tasks_blocked(0.05)  # into the request; the bound holds wherever it has got to
        served.shutdown.set()
        with trio.fail_after(SOON):
            await served.stopped.wait()


async def fetched(stream, path: str) -> bytes:
    """Send one request that keeps the connection; return the first piece of the answer, which holds it all."""
    await stream.send_all(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
    return await stream.receive_some(64 * 1024)


async def done(request: Request, services) -> Response:
    return render.json_answer({"done": True})


async def test_a_connection_that_was_served_and_is_kept_does_not_hold_a_shutdown_up(services, quiet_clock):
    app = build_app(services, (route("/done", done),))
    async with listening(app, graceful_seconds=60) as served, await served.open() as stream:
        for _ in range(2):
            assert await fetched(stream, "/done")
        await trio.testing.wait_all_tasks_blocked(0.05)
        served.shutdown.set()
        with trio.fail_after(SOON):
            await served.stopped.wait()


async def test_a_connection_that_was_served_is_closed_when_it_was_idle_too_long(services, mock_clock):
    app = build_app(services, (route("/done", done),))
    async with listening(app) as served, await served.open() as stream:
        for _ in range(2):
            assert await fetched(stream, "/done")
            await trio.testing.wait_all_tasks_blocked(0.05)
            mock_clock.jump(connection.KEEP_ALIVE_SECONDS - 1)
            await trio.testing.wait_all_tasks_blocked(0.05)
        mock_clock.jump(1)
        while await stream.receive_some(1024):
            pass


async def test_a_cancelled_listener_stops_at_once_although_a_client_reads_nothing(services, quiet_clock):
    app = build_app(services, (route("/big", big),))
    with trio.fail_after(SOON):
        async with trio.open_nursery() as nursery:
            run = partial(accept_loop.serve, app, "127.0.0.1", 0, shutdown_event=trio.Event())
            addresses = await nursery.start(run)
            async with await trio.open_tcp_stream("127.0.0.1", int(addresses[0].rsplit(":", 1)[1])) as stream:
                await stream.send_all(b"GET /big HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
                assert await stream.receive_some(10)
                nursery.cancel_scope.cancel()


async def test_a_shutdown_lets_a_request_in_progress_finish_and_takes_no_new_one(services):
    entered, released = trio.Event(), trio.Event()

    async def slow(request: Request, services) -> Response:
        entered.set()
        await released.wait()
        return render.json_answer({"done": True})

    app = build_app(services, (route("/slow", slow),))
    async with listening(app, graceful_seconds=60) as served, await served.open() as stream:
        await stream.send_all(b"GET /slow HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        await entered.wait()
        served.shutdown.set()
        while True:
            try:
                await (await served.open()).aclose()
            except OSError:
                break
            await trio.sleep(0.01)
        released.set()
        raw = bytearray()
        async for piece in stream:
            raw += piece
        assert raw.endswith(b'{"done":true}')
        await served.stopped.wait()


@pytest.mark.parametrize("asks_first", [True, False])
async def test_a_client_that_leaves_a_kept_connection_leaves_no_file_open(services, asks_first: bool, mock_clock):
    def open_files() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    async with listening(build_app(services, (route("/done", done),))) as served:
        before = open_files()
        for _ in range(20):
            async with await served.open() as stream:
                if asks_first:
                    assert await fetched(stream, "/done")
        while open_files() > before:  # a closed file sets no event; and no time passes until it is closed
            await trio.testing.wait_all_tasks_blocked(0.01)


async def test_a_client_that_leaves_while_its_requests_wait_leaves_no_connection(services):
    async with listening(build_app(services, (route("/done", done),))) as served:
        for _ in range(20):
            async with await served.open() as stream:
                await stream.send_all(b"GET /done HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 3)
                await stream.receive_some(10)
        while served.connections.open:  # a closed connection sets no event
            await trio.sleep(0.01)


async def test_requests_leave_no_file_open(house):
    def open_files() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    async with listening(house.app) as served:
        for _ in range(5):
            async with await served.open() as stream:
                await ask(stream, "GET", "/health")
        before = open_files()
        for _ in range(100):
            async with await served.open() as stream:
                await ask(stream, "GET", "/api/session/status")
        while open_files() > before:  # a closed file sets no event
            await trio.sleep(0.01)
