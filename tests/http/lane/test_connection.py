"""A connection with a lane: its timers, its end, a client that takes no bytes, TLS."""

import logging
import os
import socket
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import pytest
import trio
from hypercorn.config import Config

from onebroker.http.lane.fast_lane import FastLane
from onebroker.http.listener import connection
from onebroker.http.listener.accept_loop import TlsFiles
from onebroker.http.listener.connection_limits import Peer
from onebroker.http.services import Services
from tests.support.lane_twins import DOCUMENTS, Twin, Twins, World, document, head, open_twins, quiet

TLS = Path(__file__).parents[2] / "data" / "tls"
WRONG = head(DOCUMENTS["funds"], token="wrong")
GET, BIG = head(DOCUMENTS["funds"]), head(DOCUMENTS["positions"])
BIG_BYTES = 16 * 1024 * 1024
"""More than the system takes at once."""
HEAD_OF_BIG = (
    b"HTTP/1.1 200 \r\ncontent-type: application/json\r\ncontent-length: %d\r\ncache-control: no-store\r\n"
    b"x-content-type-options: nosniff\r\ndate: Fri, 20 Nov 2026 09:00:00 GMT\r\n\r\n"
)


async def opened(twin: Twin) -> trio.SocketStream:
    return await trio.open_tcp_stream("127.0.0.1", twin.port)


async def answered(stream: trio.abc.Stream) -> bytes:
    """Return one answer."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += await stream.receive_some()
    start, _, body = data.partition(b"\r\n\r\n")
    length = int(start.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
    pieces, missing = [body], length - len(body)
    while missing > 0:
        pieces.append(await stream.receive_some(1 << 20))
        missing -= len(pieces[-1])
    return start + b"".join(pieces)


async def is_open(twin: Twin) -> bool:
    await quiet()
    return twin.connections.open > 0


def big(world: World) -> None:
    world.documents["positions"].set(document("positions", world.now, positions_bytes=BIG_BYTES))


Play = Callable[[Twin], Awaitable[None]]


async def on_both(twins: Twins, play: Play) -> None:
    """Play the same with each listener: what holds without the lane holds with it."""
    for twin in (twins.stock, twins.fast):
        await play(twin)


# --- time -----------------------------------------------------------------------------------------------------------


async def test_an_idle_connection_is_closed_75_s_after_its_last_answer(twins: Twins, mock_clock):
    async def play(twin: Twin) -> None:
        async with await opened(twin) as stream:
            for _ in range(3):
                await stream.send_all(GET)
                assert await answered(stream)
                await quiet()
                mock_clock.jump(connection.KEEP_ALIVE_SECONDS - 1)
                assert await is_open(twin)
            mock_clock.jump(1)
            assert await stream.receive_some() == b""

    await on_both(twins, play)
    assert twins.fast.answered_by_lane() == 3


async def test_half_a_head_behind_an_answer_does_not_keep_the_connection(twins: Twins, mock_clock):
    async def play(twin: Twin) -> None:
        async with await opened(twin) as stream:
            await stream.send_all(GET)
            assert await answered(stream)
            for _ in range(2):
                await quiet()
                mock_clock.jump(connection.KEEP_ALIVE_SECONDS / 2 - 1)
                await stream.send_all(b"GET /")
            assert await is_open(twin)
            mock_clock.jump(2)
            assert not await is_open(twin)

    await on_both(twins, play)


async def test_the_first_head_must_come_within_10_s(twins: Twins, mock_clock):
    async def play(twin: Twin) -> None:
        async with await opened(twin) as silent, await opened(twin) as half, await opened(twin) as asking:
            await half.send_all(GET[:-1])
            await quiet()
            mock_clock.jump(connection.FIRST_HEAD_SECONDS - 1)
            await asking.send_all(GET)
            assert await answered(asking)
            await quiet()
            mock_clock.jump(1)
            assert await silent.receive_some() == b""
            with suppress(trio.BrokenResourceError):
                assert await half.receive_some() == b""
            mock_clock.jump(connection.KEEP_ALIVE_SECONDS - 2)
            await asking.send_all(GET)
            assert await answered(asking)

    await on_both(twins, play)


async def test_hot_and_cold_requests_feed_one_idle_timer(twins: Twins, mock_clock):
    async def play(twin: Twin) -> None:
        async with await opened(twin) as stream:
            for sent in (GET, head("/health"), GET, GET, head("/health")):
                await stream.send_all(sent)
                assert await answered(stream)
                await quiet()
                mock_clock.jump(connection.KEEP_ALIVE_SECONDS - 1)
            assert await is_open(twin)
            mock_clock.jump(1)
            assert not await is_open(twin)

    await on_both(twins, play)


# --- slow clients ---------------------------------------------------------------------------------------------------


async def test_a_client_that_takes_no_bytes_is_cut_off(twins: Twins, mock_clock, caplog):
    caplog.set_level(logging.INFO)
    big(twins.world)

    async def play(twin: Twin) -> None:
        async with await opened(twin) as stream:
            await stream.send_all(BIG)
            assert await is_open(twin)
            assert twin.connections.peers[-1].busy
            mock_clock.jump(connection.WRITE_SECONDS - 1)
            assert await is_open(twin)
            mock_clock.jump(1)
            assert not await is_open(twin)
        assert caplog.text.count("a client took no bytes for 30 s and was cut off") == 1
        caplog.clear()

    await on_both(twins, play)


async def test_many_requests_at_once_leave_the_loop_to_others_in_between(world: World):
    rounds = [0]
    seen = []

    async def count() -> None:
        while True:
            rounds[0] += 1
            await trio.lowlevel.checkpoint()

    class Watched(FastLane):
        def answer(self, head: bytes, peer: Peer, here: str) -> bytes | None:
            seen.append(rounds[0])
            return super().answer(head, peer, here)

    async with open_twins(world, Watched) as twins, await opened(twins.fast) as stream, trio.open_nursery() as nursery:
        nursery.start_soon(count)
        await stream.send_all(GET * 100)
        while len(seen) < 100:
            await trio.lowlevel.checkpoint()
        nursery.cancel_scope.cancel()
    assert len(set(seen)) >= 50  # trio throws dice for the order of two tasks that can run


async def test_a_client_that_reads_for_longer_than_the_idle_time_keeps_its_connection(twins: Twins, mock_clock):
    big(twins.world)

    async def play(twin: Twin) -> None:
        async with await opened(twin) as stream:
            await stream.send_all(BIG)
            for _ in range(5):
                await taken(stream, BIG_BYTES // 8)
                await quiet()
                mock_clock.jump(connection.KEEP_ALIVE_SECONDS / 3)
            body = twins.world.documents["positions"].value.body
            await taken(stream, len(HEAD_OF_BIG % len(body)) + len(body) - 5 * (BIG_BYTES // 8))
            assert await is_open(twin)
            assert not twin.connections.peers[-1].busy
            await stream.send_all(GET)
            assert (await answered(stream)).startswith(b"HTTP/1.1 200 ")
            await quiet()
            mock_clock.jump(connection.KEEP_ALIVE_SECONDS - 1)
            assert await is_open(twin)
            mock_clock.jump(1)
            assert not await is_open(twin)

    await on_both(twins, play)


async def taken(stream: trio.SocketStream, number: int) -> None:
    """Take so many bytes."""
    while number > 0:
        number -= len(await stream.receive_some(min(number, 1 << 20)))


# --- the end --------------------------------------------------------------------------------------------------------


async def test_a_shutdown_closes_idle_connections_at_once(world: World, mock_clock):
    async with open_twins(world, graceful_seconds=60) as twins:

        async def play(twin: Twin) -> None:
            async with await opened(twin) as stream:
                await stream.send_all(GET)
                assert await answered(stream)
                await quiet()
                twin.stop.set()
                assert await stream.receive_some() == b""
                await twin.stopped.wait()

        await on_both(twins, play)
    assert twins.fast.answered_by_lane() == 1


@pytest.mark.parametrize("behind", [GET, head("/echo", "Content-Length: 0", method="POST")])
async def test_a_shutdown_lets_an_answer_leave_and_takes_no_request_behind_it(world: World, mock_clock, behind: bytes):
    big(world)
    async with open_twins(
        world, graceful_seconds=60
    ) as twins:  # hypercorn's own path waits as long, for the request that it did not take

        async def play(twin: Twin) -> None:
            async with await opened(twin) as stream:
                await stream.send_all(BIG + behind)
                await quiet()
                twin.stop.set()
                await quiet()
                assert (await answered(stream)).startswith(b"HTTP/1.1 200 ")
                with suppress(trio.BrokenResourceError):  # bytes that nobody took
                    assert await stream.receive_some() == b""
                await twin.stopped.wait()
            assert world.posts == 0

        await on_both(twins, play)


async def test_a_shutdown_is_bounded_when_nobody_takes_the_answer(world: World, quiet_clock):
    big(world)
    async with open_twins(world, graceful_seconds=0.2) as twins:

        async def play(twin: Twin) -> None:
            async with await opened(twin) as stream:
                await stream.send_all(BIG)
                await quiet()
                twin.stop.set()
                with trio.fail_after(connection.WRITE_SECONDS / 2):
                    await twin.stopped.wait()

        await on_both(twins, play)


async def test_a_connection_cut_while_the_lane_answers_reaches_no_other_socket(world: World):
    """The next socket of the process gets the number of the closed one."""
    reused: list[socket.socket] = []

    class Cutting:
        def __init__(self, services: Services) -> None:
            self._lane = FastLane(services)

        def answer(self, head: bytes, peer: Peer, here: str) -> bytes | None:
            peer.cut()
            reused.extend(socket.socketpair())
            return self._lane.answer(head, peer, here)

    async with open_twins(world, Cutting) as twins:
        async with await opened(twins.fast) as stream:
            await stream.send_all(GET * 3)
            with suppress(trio.BrokenResourceError):
                assert await stream.receive_some() == b""
            assert not await is_open(twins.fast)
        assert reused
        for end in reused:
            with pytest.raises(BlockingIOError):
                end.recv(1, socket.MSG_DONTWAIT)
        for end in reused:
            end.close()


async def test_a_connection_whose_token_was_right_never_gives_way(world: World):
    async with open_twins(world, bounds={"most_strangers": 2}) as twins:

        async def play(twin: Twin) -> None:
            async with await opened(twin) as proved, await opened(twin) as wrong:
                for stream, sent in ((proved, GET), (wrong, WRONG)):
                    await stream.send_all(sent)
                    assert await answered(stream)
                async with await opened(twin), await opened(twin):
                    assert await wrong.receive_some() == b""
                    await proved.send_all(GET)
                    assert (await answered(proved)).startswith(b"HTTP/1.1 200 ")
                    await proved.send_all(WRONG)  # from now on it is a stranger again, and the oldest
                    assert await answered(proved)
                    async with await opened(twin):
                        assert await proved.receive_some() == b""
            assert not await is_open(twin)

        await on_both(twins, play)
    assert twins.fast.answered_by_lane() == 4


@pytest.mark.parametrize("sent", [GET, GET * 3, head("/health") * 3, head("/health") + GET])
async def test_a_client_that_leaves_leaves_nothing_open(twins: Twins, sent: bytes):
    async def play(twin: Twin) -> None:
        await quiet()
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(20):
            async with await opened(twin) as stream:
                await stream.send_all(sent)
                await stream.receive_some(10)
        assert not await is_open(twin)
        assert len(os.listdir("/proc/self/fd")) == before

    await on_both(twins, play)


# --- TLS ------------------------------------------------------------------------------------------------------------


async def test_the_lane_answers_inside_tls(world: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Config, "keep_alive_max_requests", 8)
    context = ssl.create_default_context(cafile=str(TLS / "certificate.pem"))
    heard = []
    async with open_twins(world, tls=TlsFiles(TLS / "certificate.pem", TLS / "key.pem")) as twins:

        async def play(twin: Twin) -> None:
            plain = await opened(twin)
            async with trio.SSLStream(plain, context, server_hostname="localhost", https_compatible=True) as stream:
                for sent in (GET, BIG, head("/health"), BIG * 2, GET[:20], GET[20:] + GET + GET):
                    await stream.send_all(sent)
                    await quiet()
                data = b""
                while piece := await stream.receive_some():
                    data += piece
                heard.append(b"\r\n".join(line for line in data.split(b"\r\n") if not line.startswith(b"date: ")))

        await on_both(twins, play)
    assert heard[0] == heard[1]
    assert heard[1].count(b"HTTP/1.1 200 ") == 8
    assert twins.fast.answered_by_lane() == 4
