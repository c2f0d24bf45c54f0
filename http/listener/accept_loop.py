"""The listener: hypercorn's trio connections under our own accept loop, so that we choose the bounds for starting,
stopping and slow clients.

- The port is bound before anything is served: a busy port is a `ListenError` with a sentence, not a log line.
- Bytes leave in pieces. A client that takes no bytes for `WRITE_SECONDS` is cut off, however long the whole answer
  takes.
- Connections are bounded in number (`http.listener.connection_limits`) and must begin with a request within `FIRST_HEAD_SECONDS`. They
  speak HTTP/1.1 only (`http.listener.http11`).
- Shutdown: no new connections are taken, idle connections close, requests in progress get `graceful_seconds`. Then
  everything is cut, including a half-sent request and a client that does not read.

hypercorn is pinned exactly, because `TCPServer` and `WorkerContext` are used as its own worker uses them.
"""

import errno
import logging
import ssl
from pathlib import Path
from typing import Any, cast

import attrs
import trio
from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.config import Config
from hypercorn.events import Closed, Event, RawData, Updated
from hypercorn.trio.task_group import TaskGroup
from hypercorn.trio.tcp_server import TCPServer
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import ConnectionState
from hypercorn.utils import parse_socket_addr
from quart_trio import QuartTrio

from onebroker.http.listener import websockets
from onebroker.http.listener.connection_limits import STATE_KEY, Connections, Peer
from onebroker.http.listener.fault_isolation import contained
from onebroker.http.listener.http11 import Http11

KEEP_ALIVE_SECONDS = 75.0
"""Seconds that a connection may be idle: longer than the pause between two calls of a client that polls once a minute."""

FIRST_HEAD_SECONDS = 10.0
"""Seconds that a new connection may take for its TLS handshake, and again for the head of its first request."""
WRITE_SECONDS = 30.0
CLOSE_SECONDS = 2.0
READ_BYTES = 64 * 1024
WRITE_PIECE_BYTES = 64 * 1024
MOST_PIECE_BYTES = 512 * 1024
"""A piece may grow to this size while the client takes each piece within QUICK_SECONDS. Every piece waits for its turn
of the loop, so a long answer in many pieces would be old when it arrives."""
QUICK_SECONDS = 1.0
ACCEPT_PAUSE_SECONDS = 0.1
"""Pause before the next try when the system has no file or memory for a connection."""

_GONE = (trio.BrokenResourceError, trio.ClosedResourceError, trio.BusyResourceError)
"""Errors of a stream whose client has left, or that another task closes."""
_NO_ROOM = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}
_log = logging.getLogger("onebroker.http.server")

Stream = trio.SocketStream | trio.SSLStream[trio.SocketStream]
Listener = trio.SocketListener | trio.SSLListener[trio.SocketStream]


class ListenError(Exception):
    """The service cannot listen; the text says at which address and why."""


@attrs.frozen
class TlsFiles:
    certificate: Path
    key: Path


async def serve(
    app: QuartTrio,
    host: str,
    port: int,
    *,
    shutdown_event: trio.Event,
    connections: Connections | None = None,
    tls: TlsFiles | None = None,
    graceful_seconds: float = 5.0,
    task_status: trio.TaskStatus[list[str]] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serve `app` until `shutdown_event`; `task_status` gets the addresses (`http://127.0.0.1:8000`) once they answer.

    `port` 0 takes any free port; `connections` counts and bounds the connections (None: with its default bounds).
    Returns within about `graceful_seconds` of the event. Raises ListenError.
    """
    bound = await _listen(host, port, tls)
    websockets.install()
    server = _Server(app, connections or Connections())
    async with trio.open_nursery() as handlers:
        try:
            async with trio.open_nursery() as accepting:
                for listener in bound.listeners:
                    accepting.start_soon(server.accept, listener, handlers)
                task_status.started(bound.addresses)
                await shutdown_event.wait()
                accepting.cancel_scope.cancel()
            await server.context.terminated.set()
            with trio.move_on_after(graceful_seconds):
                await server.connections.wait_none()
        finally:
            # hypercorn shields its writes: only closing the socket under them ends them at once.
            server.connections.cut_all()
        handlers.cancel_scope.cancel()


# Listening


@attrs.frozen
class _Bound:
    listeners: list[Listener]
    addresses: list[str]


async def _listen(host: str, port: int, tls: TlsFiles | None) -> _Bound:
    context = tls_context(tls) if tls is not None else None
    try:
        plain = await trio.open_tcp_listeners(port, host=host)
    except OSError as error:
        raise ListenError(f"cannot listen on port {port} of {host}: {error.strerror or error}") from error
    if context is None:
        return _Bound(list(plain), [_address("http", listener) for listener in plain])
    secure: list[Listener] = [trio.SSLListener(listener, context, https_compatible=True) for listener in plain]
    return _Bound(secure, [_address("https", listener) for listener in plain])


def tls_context(tls: TlsFiles) -> ssl.SSLContext:
    """Return the context of a listener with TLS. Raises ListenError for files that cannot be used."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])  # HTTP/2 measured no gain (architecture 12)
    try:
        context.load_cert_chain(tls.certificate, tls.key)
    except (OSError, ssl.SSLError) as error:
        raise ListenError(f"the TLS files {tls.certificate} and {tls.key} cannot be used: {error}") from error
    return context


def _address(scheme: str, listener: trio.SocketListener) -> str:
    host, port = listener.socket.getsockname()[:2]
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


def _hypercorn_config() -> Config:
    config = Config()
    config.accesslog = None  # architecture 12: the access log costs 7-9 %, and request lines are private
    config.errorlog = _log
    config.include_server_header = False
    config.ssl_handshake_timeout = FIRST_HEAD_SECONDS
    config.websocket_max_message_size = websockets.MOST_MESSAGE_BYTES
    config.websocket_ping_interval = websockets.PING_SECONDS
    return config


# Connections


class _Server:
    """What the connections of one listener share."""

    def __init__(self, app: QuartTrio, connections: Connections) -> None:
        self._app = ASGIWrapper(app)
        self._config = _hypercorn_config()
        self.context = WorkerContext(None)
        self.connections = connections

    async def accept(self, listener: Listener, handlers: trio.Nursery) -> None:
        """Take connections until cancelled. A connection for which the system has no file stays in the system's queue."""
        async with listener:
            while True:
                try:
                    stream = await listener.accept()
                except OSError as error:
                    if error.errno not in _NO_ROOM:
                        raise
                    self.connections.no_room.note(f"a connection could not be accepted: {error.strerror}")
                    await trio.sleep(ACCEPT_PAUSE_SECONDS)
                else:
                    handlers.start_soon(self._handle, stream)

    async def _handle(self, stream: Stream) -> None:
        plain = _plain(stream)
        try:
            with self.connections.holding(str(plain.socket.getpeername()[0]), plain.socket.close) as peer:
                if peer is not None:
                    connection = Connection(self._app, self._config, self.context, peer, stream)
                    await contained(connection.run, "a connection")
        except OSError:
            pass  # the client left before the connection was looked at
        finally:
            plain.socket.close()  # also when a shutdown cancels the orderly close


def _let_go(error: Exception) -> None:
    """Drop the traceback of the system error behind a stream's error.

    On Python 3.13 the error and its frames refer to each other. They would keep the whole connection until the garbage
    collector runs.
    """
    if error.__context__ is not None:
        error.__context__.__traceback__ = None


def _plain(stream: Stream) -> trio.SocketStream:
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
            await self._converse(_plain(self.stream).socket)
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
            await self.protocol.handle(RawData(data))
            if not data:
                break
        await self.protocol.handle(Closed())
        # Otherwise the idle timer would keep the connection of a client that has left, and its file, until the timer
        # ends.
        self._ended = True
        await self.idle_task.stop()

    async def _received(self) -> bytes | None:
        """Return what the client has sent, empty at its end; None if the client is gone."""
        try:
            return bytes(await self.stream.receive_some(READ_BYTES))
        except _GONE as error:
            _let_go(error)
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

    async def _write(self, data: bytes) -> None:
        """Send `data`. Shielded, because a client would read half of one answer and the next answer as a single answer."""
        async with self.send_lock:
            try:
                await self._write_pieces(memoryview(data))
            except _GONE as error:
                # Busy: the connection is being closed, because the other half of the protocol has refused the client's
                # bytes.
                _let_go(error)
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
            except _GONE as error:
                _let_go(error)
        await self.stream.aclose()

    def cut(self) -> None:
        """Close the socket now; a task that waits for it finds it closed."""
        _plain(self.stream).socket.close()
