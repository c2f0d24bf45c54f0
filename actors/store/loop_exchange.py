"""A small pipeline over a unix socket on the loop itself, without a worker thread.

A thread costs two hand-overs of the interpreter for each batch, and each waits for a step of the loop to end. A pipeline of a few kilobytes to
a server on this machine is written and read in steps that do not block, so it needs no thread. redis-py opens the connection and knows the
errors; only the bytes go another way, through two names that redis-py keeps to itself. Where it no longer has them, the thread is used. Larger pipelines, and servers that are reached by TCP or TLS, keep the
thread (`lanes.py`).
"""

import socket
from collections.abc import Sequence
from typing import cast

import hiredis
import redis
import trio
from redis.connection import AbstractConnection, UnixDomainSocketConnection

from onebroker.actors.store.redis_commands import Command, command_bytes
from onebroker.actors.store.server_address import ANSWER_SECONDS

MOST_BYTES = 64 * 1024
"""A unix socket's buffer holds more than that (208 KB on Linux). At most one pipeline is under way, so this much is written without waiting."""
_READ_BYTES = 64 * 1024


def suits(connection: AbstractConnection, commands: Sequence[Command]) -> bool:
    """Whether the pipeline can go this way over the connection."""
    is_open = getattr(connection, "_sock", None) is not None and hasattr(connection, "_parser")
    is_local = isinstance(connection, UnixDomainSocketConnection)
    return is_open and is_local and sum(map(command_bytes, commands)) <= MOST_BYTES


async def exchange(connection: AbstractConnection, commands: Sequence[Command]) -> list[object]:
    """Send `commands` and return the server's bare answers, with a redis.ResponseError in the place of a refused command.

    Once begun it ends also while being cancelled: at most `ANSWER_SECONDS` after the last byte. Nothing else may use the connection meanwhile, and
    no answer may be outstanding. Raises redis.RedisError or OSError; then the connection must be closed.
    """
    sock = cast("socket.socket", connection._sock)  # redis-py keeps it to itself
    reader = hiredis.Reader(protocolError=redis.InvalidResponse, replyError=connection._parser.parse_error)
    packed = b"".join(connection.pack_commands(commands))  # type: ignore[no-untyped-call]  # redis-py
    answers: list[object] = []
    with trio.CancelScope(shield=True):
        sock.sendall(packed)
        while len(answers) < len(commands):
            reader.feed(await _received(sock))
            while (answer := reader.gets()) is not False:
                answers.append(answer)
    for answer in answers:
        if isinstance(answer, redis.ConnectionError):  # the server answers so while it loads its data, for example
            raise answer
    return answers


async def _received(sock: socket.socket) -> bytes:
    with trio.move_on_after(ANSWER_SECONDS) as silence:
        await trio.lowlevel.wait_readable(sock)
    if silence.cancelled_caught:
        raise redis.TimeoutError("no answer in time")
    data = sock.recv(_READ_BYTES)
    if not data:
        raise redis.ConnectionError("the server closed the connection")
    return data
