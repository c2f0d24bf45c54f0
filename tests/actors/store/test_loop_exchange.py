"""A small pipeline on the loop itself: whole and cut answers, and every answer after which the connection must not be used again."""

import socket
from collections.abc import Iterator

import pytest
import redis
import trio
import trio.testing
from redis.connection import UnixDomainSocketConnection

from onebroker.actors.store.loop_exchange import exchange, suits


class Line:
    """A connection of redis-py over one end of a pair of sockets, and the server's end."""

    def __init__(self) -> None:
        ours, self.server = socket.socketpair()
        self.connection = UnixDomainSocketConnection(path="unused")
        self.connection._sock = ours

    def close(self) -> None:
        self.connection._sock.close()
        self.server.close()


@pytest.fixture
def line() -> Iterator[Line]:
    made = Line()
    yield made
    made.close()


COMMANDS = [("SET", "a", b"1"), ("GET", "a")]


async def test_answers_may_come_in_any_pieces(line: Line) -> None:
    async with trio.open_nursery() as nursery:
        got: list[object] = []

        async def ask() -> None:
            got.extend(await exchange(line.connection, COMMANDS))

        nursery.start_soon(ask)
        for piece in (b"+O", b"K\r\n$", b"1\r\n1\r", b"\n"):
            await trio.testing.wait_all_tasks_blocked()
            line.server.send(piece)
    assert got == [b"OK", b"1"]
    assert line.server.recv(1000).startswith(b"*3\r\n$3\r\nSET")


async def test_a_refused_command_is_an_answer(line: Line) -> None:
    line.server.send(b"-ERR no\r\n$1\r\n1\r\n")
    refused, read = await exchange(line.connection, COMMANDS)
    assert isinstance(refused, redis.ResponseError)
    assert read == b"1"


@pytest.mark.parametrize(
    "answer", [b"garbage\r\n", b"+OK\r\n\x00\x01\x02", b"-LOADING the data\r\n-LOADING the data\r\n"]
)
async def test_after_such_an_answer_the_connection_is_lost(line: Line, answer: bytes) -> None:
    line.server.send(answer)
    line.server.shutdown(socket.SHUT_WR)
    with pytest.raises(redis.RedisError):
        await exchange(line.connection, COMMANDS)


async def test_a_server_that_leaves_in_the_middle_is_lost(line: Line) -> None:
    line.server.send(b"+OK\r\n$1")
    line.server.shutdown(socket.SHUT_WR)
    with pytest.raises(redis.ConnectionError, match="closed"):
        await exchange(line.connection, COMMANDS)


async def test_a_server_that_says_nothing_is_lost(line: Line, autojump_clock: trio.testing.MockClock) -> None:
    with pytest.raises(redis.TimeoutError):
        await exchange(line.connection, COMMANDS)


def test_only_an_open_unix_connection_and_a_small_pipeline_suit(line: Line) -> None:
    assert suits(line.connection, COMMANDS)
    assert not suits(line.connection, [("SET", "a", b"x" * 70_000)])
    closed = UnixDomainSocketConnection(path="unused")
    assert not suits(closed, COMMANDS)
    assert not suits(redis.Connection(), COMMANDS)
