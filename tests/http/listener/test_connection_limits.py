"""Bounds on connections, over real sockets: strangers give way, callers with a token do not, and files are kept for the engine."""

import resource
from contextlib import suppress

import pytest
import trio
import trio.testing
from quart import Request
from quart.wrappers import Response

from onebroker.config.events import ClientRefused
from onebroker.http import render
from onebroker.http.app import build_app
from onebroker.http.listener import accept_loop, connection
from onebroker.http.listener.connection_limits import Connections, file_limit, open_files, proving, raise_file_limit
from onebroker.http.listener.refused_clients import Why
from tests.support.served import listening, route

pytestmark = pytest.mark.usefixtures("both_connections")

HEAD = "GET {} HTTP/1.1\r\nHost: 127.0.0.1\r\n{}\r\n"


async def ended(stream: trio.SocketStream) -> None:
    """Return when the service has closed the connection."""
    with suppress(trio.BrokenResourceError):
        while await stream.receive_some(1024):
            pass


async def answered(stream: trio.SocketStream, path: str, token: str = "") -> bytes:
    header = f"access-token: {token}\r\n" if token else ""
    await stream.send_all(HEAD.format(path, header).encode())
    head, _, body = (await stream.receive_some(64 * 1024)).partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
    while len(body) < length:
        body += await stream.receive_some(64 * 1024)
    return head


async def counted(connections: Connections, number: int) -> None:
    while connections.open != number:  # an accepted connection sets no event
        await trio.testing.wait_all_tasks_blocked(0.01)


@pytest.mark.parametrize("bound", ["of one address", "in all"])
async def test_the_oldest_stranger_gives_way_and_a_caller_with_the_token_never(house, token, bound: str):
    limits = {"most_strangers": 3} if bound == "of one address" else {"most": 4, "most_strangers": 100}
    bounds = Connections(**limits, clients=house.services.refused_clients)
    async with listening(house.app, connections=bounds) as served:
        proved = await served.open()
        assert b" 200 " in await answered(proved, "/api/session/status", token)
        strangers = []
        for number in range(1, 4):
            strangers.append(await served.open())
            await counted(bounds, 1 + number)
        newer = await served.open()
        await ended(strangers[0])
        await counted(bounds, 4)
        assert b" 200 " in await answered(proved, "/api/session/status", token)
        assert b" 200 " in await answered(newer, "/health")
        assert b" 200 " in await answered(strangers[1], "/health")
        assert bounds.figures().gave_way == 1
    assert house.heard == [ClientRefused(why=Why.GAVE_WAY.value, address="127.0.0.1", count=1)]


async def test_a_stranger_with_a_request_in_progress_gives_way_after_those_without(services):
    entered, released = trio.Event(), trio.Event()

    async def wait(request: Request, services) -> Response:
        entered.set()
        await released.wait()
        return render.json_answer({})

    bounds = Connections(most_strangers=2)
    async with listening(build_app(services, (route("/wait", wait),)), connections=bounds) as served:
        busy = await served.open()
        await busy.send_all(HEAD.format("/wait", "").encode())
        await entered.wait()
        idle = await served.open()
        await counted(bounds, 2)
        await served.open()
        await ended(idle)
        released.set()
        assert b" 200 " in await busy.receive_some(1024)


async def test_callers_with_the_token_take_no_room_of_strangers_and_are_bounded_too(house, token):
    bounds = Connections(most=3, most_strangers=1, clients=house.services.refused_clients)
    async with listening(house.app, connections=bounds) as served:
        callers = []
        for _ in range(3):
            callers.append(await served.open())
            assert b" 200 " in await answered(callers[-1], "/api/session/status", token)
        for _ in range(3):
            await ended(await served.open())
        for caller in callers:
            assert b" 200 " in await answered(caller, "/api/session/status", token)
        assert bounds.figures().refused == 3
    assert house.heard == [ClientRefused(why=Why.CONNECTIONS.value, address="127.0.0.1", count=1)]


async def test_a_wrong_token_makes_a_caller_a_stranger(house, token):
    bounds = Connections()
    async with listening(house.app, connections=bounds) as served:
        caller = await served.open()
        for given, proved in ((token, 1), ("wrong", 0), (token, 1)):
            await answered(caller, "/api/session/status", given)
            assert bounds.figures().proved == proved


async def test_no_connection_takes_the_files_that_the_engine_needs(house, token):
    """The process has room for two connections above the files kept back."""
    used = 500
    bounds = Connections(reserved_files=128, limit=lambda: used + 128 + 2, count_files=lambda: used + bounds.open)
    async with listening(house.app, connections=bounds) as served:
        first, second = await served.open(), await served.open()
        await counted(bounds, 2)
        await ended(await served.open())
        assert bounds.figures().free_files == 128
        await first.aclose()
        await counted(bounds, 1)
        third = await served.open()
        for stream in (second, third):
            assert b" 200 " in await answered(stream, "/api/session/status", token)


async def test_a_connection_begins_with_a_request_soon(house, mock_clock):
    async with listening(house.app) as served:
        silent, half = await served.open(), await served.open()
        await half.send_all(b"GET /health HT")
        await counted(served.connections, 2)
        await trio.testing.wait_all_tasks_blocked(0.05)
        mock_clock.jump(connection.FIRST_HEAD_SECONDS)
        await ended(silent)
        await ended(half)


async def test_a_system_without_files_is_a_line_a_minute_and_the_listener_goes_on(house, caplog, monkeypatch):
    refused = trio.Event()

    class Full(trio.abc.Listener[trio.SocketStream]):
        times = 0

        def __init__(self, listener: trio.SocketListener) -> None:
            self.socket = listener.socket
            self._listener = listener

        async def accept(self) -> trio.SocketStream:
            Full.times += 1
            if Full.times <= 3:
                raise OSError(24, "Too many open files")
            refused.set()
            return await self._listener.accept()

        async def aclose(self) -> None:
            await self._listener.aclose()

    async def listeners(port: int, host: str) -> list[Full]:
        return [Full(listener) for listener in await opened(port, host=host)]

    opened = trio.open_tcp_listeners
    monkeypatch.setattr(trio, "open_tcp_listeners", listeners)
    monkeypatch.setattr(accept_loop, "ACCEPT_PAUSE_SECONDS", 0.0)
    async with listening(house.app) as served:
        await refused.wait()
        assert b" 200 " in await answered(await served.open(), "/health")
    assert caplog.text.count("a connection could not be accepted: Too many open files") == 1
    assert "Traceback" not in caplog.text


def test_the_soft_limit_of_files_is_raised_to_the_hard_one():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(256, hard), hard))
        raise_file_limit()
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == hard
        assert file_limit() == hard
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_open_files_are_counted(tmp_path):
    before = open_files()
    with open(tmp_path / "one", "w"), open(tmp_path / "two", "w"):
        assert open_files() == before + 2


def test_a_scope_without_a_connection_proves_nothing():
    with proving({"state": {}}), proving({}):
        pass
