"""One connection of a client: hypercorn's, over our protocol, with bounds on how long a client may send or take no bytes.

- Bytes leave in pieces. A client that takes no bytes for `WRITE_SECONDS` is cut off, however long the whole answer takes.
- A connection must begin with a request within `FIRST_HEAD_SECONDS`, and may then be idle for `KEEP_ALIVE_SECONDS`.
"""

import logging
from typing import Any, cast

import trio
from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.config import Config
from hypercorn.events import Closed, Event, RawData, Updated
from hypercorn.trio.task_group import TaskGroup
from hypercorn.trio.tcp_server import TCPServer
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import ConnectionState
from hypercorn.utils import parse_socket_addr

from onebroker.http.listener.connection_limits import STATE_KEY, Peer
from onebroker.http.listener.http11 import Http11

KEEP_ALIVE_SECONDS = 75.0
"""Seconds that a connection may be idle: longer than the pause between two calls of a client that polls once a minute."""

FIRST_HEAD_SECONDS = 10.0
"""Seconds that a new connection may take for its TLS handshake, and again for the head of its first request."""
WRITE_SECONDS = 30.0
CLOSE_SECONDS = 2.0
READ_BYTES = 64 * 1024
WRITE_PIECE_BYTES = 64 * 1024 + 64
"""A chunk of a long answer (`http.bodies.long_body_out`) with its framing leaves at once."""
MOST_PIECE_BYTES = 512 * 1024
"""A piece may grow to this size while the client takes each piece within QUICK_SECONDS. Every piece waits for its turn
of the loop, so a long answer in many pieces would be old when it arrives."""
QUICK_SECONDS = 1.0

GONE = (trio.BrokenResourceError, trio.ClosedResourceError, trio.BusyResourceError)
"""Errors of a stream whose client has left, or that another task closes."""
_log = logging.getLogger("onebroker.http.server")

Stream = trio.SocketStream | trio.SSLStream[trio.SocketStream]


def let_go(error: Exception) -> None:
    """Drop the traceback of the system error behind a stream's error.

    On Python 3.13 the error and its frames refer to each other. They would keep the whole connection until the garbage
    collector runs.
    """
    if error.__context__ is not None:
        error.__context__.__traceback__ = None


def plain(stream: Stream) -> trio.SocketStream:
    return stream.transport_stream if isinstance(stream, trio.SSLStream) else stream


class Connection(TCPServer):
    """hypercorn's connection over our protocol, with bounds on how long a client may send or take no bytes."""

    protocol: Any  # hypercorn has a wrapper here, which changes to HTTP/2

    def __init__(self, app: ASGIWrapper, config: Config, context: WorkerContext, peer: Peer, stream: Stream) -> None:
        # hypercorn's type hint names only the TLS stream; the code takes both kinds.
        either = cast("trio.SSLStream[trio.SocketStream]", stream)
        super().__init__(app, config, context, ConnectionState({STATE_KEY: peer}), either)
        self._peer = peer
        self._asked = False
        """Whether the head of a request has arrived."""
        self._ended = False
        """Whether the client has closed its side."""

    async def run(self) -> None:
        try:
            if isinstance(self.stream, trio.SSLStream):
                with trio.fail_after(self.config.ssl_handshake_timeout):
                    await self.stream.do_handshake()
            await self._converse(plain(self.stream).socket)
        except (OSError, trio.BrokenResourceError, trio.ClosedResourceError, trio.TooSlowError):
            pass  # the client has left, or it does not speak TLS
        finally:
            await self._close()

    async def _converse(self, socket: trio.socket.SocketType) -> None:
        client = parse_socket_addr(socket.family, socket.getpeername())
        server = parse_socket_addr(socket.family, socket.getsockname())
        secure = isinstance(self.stream, trio.SSLStream)
        async with TaskGroup() as task_group:
            self._task_group = task_group
            state = ConnectionState(self.state)
            self.protocol = Http11(
                self.app, self.config, self.context, task_group, state, secure, client, server, self.protocol_send
            )
            try:
                await self.idle_task.restart(task_group, self._idle_timeout)
                await self._read_data()
            finally:
                del self._task_group
        self.protocol.forget()

    async def _idle_timeout(self) -> None:
        with trio.move_on_after(KEEP_ALIVE_SECONDS if self._asked else FIRST_HEAD_SECONDS):
            await self.context.terminated.wait()
        with trio.CancelScope(shield=True):
            await self._initiate_server_close()

    async def _read_data(self) -> None:
        while (data := await self._received()) is not None:
            await self._take(data)
            if not data:
                break
        await self.protocol.handle(Closed())
        # Otherwise the idle timer would keep the connection of a client that has left, and its file, until the timer
        # ends.
        self._ended = True
        await self.idle_task.stop()

    async def _take(self, data: bytes) -> None:
        """Take what the client has sent; empty at its end."""
        await self.protocol.handle(RawData(data))

    async def _received(self) -> bytes | None:
        """Return what the client has sent, empty at its end; None if the client is gone."""
        try:
            return bytes(await self.stream.receive_some(READ_BYTES))
        except GONE as error:
            let_go(error)
            return None

    async def protocol_send(self, event: Event) -> None:
        if isinstance(event, RawData):
            await self._write(event.data)
            return
        if isinstance(event, Updated):
            self._asked = True
            self._peer.busy = not event.idle
            if self._ended:
                return
        # Shielded: telling the application that its request is over cancels the task that runs here. A connection
        # answered with `Connection: close` would stay open, and a kept connection would be idle for ever, even at a
        # shutdown.
        with trio.move_on_after(CLOSE_SECONDS, shield=True):
            await super().protocol_send(event)

    async def _write(self, data: bytes | memoryview) -> None:
        """Send `data`. Shielded, because a client would read half of one answer and the next answer as a single answer."""
        async with self.send_lock:
            try:
                await self._write_pieces(memoryview(data))
            except GONE as error:
                # Busy: the connection is being closed, because the other half of the protocol has refused the client's
                # bytes.
                let_go(error)
                await self.protocol.handle(Closed())
            except trio.TooSlowError:
                _log.info("a client took no bytes for %g s and was cut off", WRITE_SECONDS)
                self.cut()
                await self.protocol.handle(Closed())

    async def _write_pieces(self, data: memoryview) -> None:
        most = WRITE_PIECE_BYTES
        while data:
            with trio.fail_after(WRITE_SECONDS) as scope:
                scope.shield = True
                await self.stream.send_all(data[:most])
            quick = scope.deadline - trio.current_time() > WRITE_SECONDS - QUICK_SECONDS
            data = data[most:]
            most = min(2 * most, MOST_PIECE_BYTES) if quick else WRITE_PIECE_BYTES

    async def _close(self) -> None:
        if isinstance(self.stream, trio.SocketStream):  # TLS closes with a message of its own
            try:
                await self.stream.send_eof()
            except GONE as error:
                let_go(error)
        await self.stream.aclose()

    def cut(self) -> None:
        """Close the socket now; a task that waits for it finds it closed."""
        plain(self.stream).socket.close()
