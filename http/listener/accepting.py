"""The listener: hypercorn's trio connections under our own accepting loop, so that starting, stopping and slow clients have
bounds that we choose.

- The port is bound before anything is served: a busy one is a `ListenError` with a sentence, not a log line.
- Bytes leave in pieces; a client that takes none for `WRITE_SECONDS` is cut off, however long the whole answer takes.
- Connections are bounded in number (`http.connections`) and begin with a request within `FIRST_HEAD_SECONDS`. They speak HTTP/1.1
  only (`http.http11`).
- Shutdown: no new connections, idle ones close, requests in progress get `graceful_seconds`, then everything is cut, also
  the half-sent request and the client that does not read.

hypercorn is pinned exactly: `TCPServer` and `WorkerContext` are used as its own worker uses them.
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
from onebroker.http.listener.connections import STATE_KEY, Connections, Peer
from onebroker.http.listener.contained import contained
from onebroker.http.listener.http11 import Http11

KEEP_ALIVE_SECONDS = 75.0
"""How long a connection may be idle: longer than the pause between two calls of a client that polls once a minute."""

FIRST_HEAD_SECONDS = 10.0
"""How long a new connection may take for its TLS handshake, and then for the head of its first request."""
WRITE_SECONDS = 30.0
CLOSE_SECONDS = 2.0
READ_BYTES = 64 * 1024
WRITE_PIECE_BYTES = 64 * 1024
MOST_PIECE_BYTES = 512 * 1024
"""A piece may grow to this while the client takes each within QUICK_SECONDS: every piece waits for its turn of the loop, and a long
answer in many pieces grows old on its way."""
QUICK_SECONDS = 1.0
ACCEPT_PAUSE_SECONDS = 0.1
"""Before the next try when the system has no file or memory for a connection."""

_GONE = (trio.BrokenResourceError, trio.ClosedResourceError, trio.BusyResourceError)
"""A stream whose client has left, or that another task closes."""
_NO_ROOM = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}
_log = logging.getLogger("onebroker.http.server")

Stream = trio.SocketStream | trio.SSLStream[trio.SocketStream]
Listener = trio.SocketListener | trio.SSLListener[trio.SocketStream]


class ListenError(Exception):
    """The service cannot listen; the text says where and why."""


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

    `port` 0 takes any free one; `connections` counts and bounds them (None: with its own bounds). Returns within about
    `graceful_seconds` of the event. Raises ListenError.
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
            # Writes are shielded (hypercorn): only closing the socket under them ends them at once.
            server.connections.cut_all()
        handlers.cancel_scope.cancel()


# Listening


@attrs.frozen
class _Bound:
    listeners: list[Listener]
    addresses: list[str]


async def _listen(host: str, port: int, tls: TlsFiles | None) -> _Bound:
    context = _tls_context(tls) if tls is not None else None
    try:
        plain = await trio.open_tcp_listeners(port, host=host)
    except OSError as error:
        raise ListenError(f"cannot listen on port {port} of {host}: {error.strerror or error}") from error
    if context is None:
        return _Bound(list(plain), [_address("http", one) for one in plain])
    secure: list[Listener] = [trio.SSLListener(one, context, https_compatible=True) for one in plain]
    return _Bound(secure, [_address("https", one) for one in plain])


def _tls_context(tls: TlsFiles) -> ssl.SSLContext:
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
    config.accesslog = None  # architecture 12: it costs 7-9 %, and lines of requests are nobody's business
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
        """Take connections until cancelled; one that the system has no file for waits in its queue."""
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
            pass  # gone before it was looked at
        finally:
            plain.socket.close()  # also where a shutdown cancels its orderly end


def _let_go(error: Exception) -> None:
    """Part the system's error behind a stream's error from its frames.

    On Python 3.13 they hold each other, and with them the whole connection, until the collector comes.
    """
    if error.__context__ is not None:
        error.__context__.__traceback__ = None


def _plain(stream: Stream) -> trio.SocketStream:
    return stream.transport_stream if isinstance(stream, trio.SSLStream) else stream


class Connection(TCPServer):
    """hypercorn's connection over our protocol, with bounds on how long a client may send or take no bytes."""

    protocol: Any  # hypercorn has a wrapper here, which changes to HTTP/2

    def __init__(self, app: ASGIWrapper, config: Config, context: WorkerContext, peer: Peer, stream: Stream) -> None:
        # hypercorn's hint names the TLS stream alone; it takes both.
        either = cast("trio.SSLStream[trio.SocketStream]", stream)
        super().__init__(app, config, context, ConnectionState({STATE_KEY: peer}), either)
        self._peer = peer
        self._asked = False
        """Whether the head of a request has come."""
        self._ended = False
        """Whether the client has said its last."""

    async def run(self) -> None:
        try:
            if isinstance(self.stream, trio.SSLStream):
                with trio.fail_after(self.config.ssl_handshake_timeout):
                    await self.stream.do_handshake()
            await self._converse(_plain(self.stream).socket)
        except (OSError, trio.BrokenResourceError, trio.ClosedResourceError, trio.TooSlowError):
            pass  # gone, or no TLS
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
        # The idle timer would hold a connection whose client has left, and its file, until it runs out.
        self._ended = True
        await self.idle_task.stop()

    async def _received(self) -> bytes | None:
        """Return what the client has sent, nothing at its end; None when it is gone."""
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
        # Shielded: telling the application that its request is over cancels the very task that goes on here. A connection
        # answered with `Connection: close` would stay open, and a kept one would be idle for ever, also at a shutdown.
        with trio.move_on_after(CLOSE_SECONDS, shield=True):
            await super().protocol_send(event)

    async def _write(self, data: bytes) -> None:
        """Send `data`; shielded, because half of an answer followed by the next one would be read as one."""
        async with self.send_lock:
            try:
                await self._write_pieces(memoryview(data))
            except _GONE as error:
                # Busy: the connection is being closed, because the other half of the protocol has refused what came.
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
        if isinstance(self.stream, trio.SocketStream):  # TLS has a farewell of its own
            try:
                await self.stream.send_eof()
            except _GONE as error:
                _let_go(error)
        await self.stream.aclose()

    def cut(self) -> None:
        """Close the socket now; whoever waits for it finds it closed."""
        _plain(self.stream).socket.close()
