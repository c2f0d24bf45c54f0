"""The listener: hypercorn's trio connections under our own accept loop, so that we choose the bounds for starting,
stopping and slow clients.

- The port is bound before anything is served: a busy port is a `ListenError` with a sentence, not a log line.
- Connections are bounded in number (`http.listener.connection_limits`) and in time (`http.listener.connection`). They speak HTTP/1.1 only
  (`http.listener.http11`).
- A lane (`http.lane`), where there is one, answers whole requests that it knows (`http.listener.lane_connection`).
- Shutdown: no new connections are taken, idle connections close, requests in progress get `graceful_seconds`. Then
  everything is cut, including a half-sent request and a client that does not read.

hypercorn is pinned exactly, because `TCPServer` and `WorkerContext` are used as its own worker uses them.
"""

import errno
import logging
import ssl
from pathlib import Path

import attrs
import trio
from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.config import Config
from hypercorn.trio.worker_context import WorkerContext
from quart_trio import QuartTrio

from onebroker.http.listener import websockets
from onebroker.http.listener.connection import FIRST_HEAD_SECONDS, Connection, Stream, plain
from onebroker.http.listener.connection_limits import Connections, Peer
from onebroker.http.listener.fault_isolation import contained
from onebroker.http.listener.lane_connection import Lane, LaneConnection

ACCEPT_PAUSE_SECONDS = 0.1
"""Pause before the next try when the system has no file or memory for a connection."""

_NO_ROOM = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}
_log = logging.getLogger("onebroker.http.server")

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
    lane: Lane | None = None,
    tls: TlsFiles | None = None,
    graceful_seconds: float = 5.0,
    task_status: trio.TaskStatus[list[str]] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serve `app` until `shutdown_event`; `task_status` gets the addresses (`http://127.0.0.1:8000`) once they answer.

    `port` 0 takes any free port; `connections` counts and bounds the connections (None: with its default bounds). Without a `lane` the
    application answers everything.
    Returns within about `graceful_seconds` of the event. Raises ListenError.
    """
    bound = await _listen(host, port, tls)
    websockets.install()
    server = _Server(app, connections or Connections(), lane)
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

    def __init__(self, app: QuartTrio, connections: Connections, lane: Lane | None) -> None:
        self._lane = lane
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
        socket = plain(stream).socket
        try:
            with self.connections.holding(str(socket.getpeername()[0]), socket.close) as peer:
                if peer is not None:
                    connection = self._connection(peer, stream)
                    await contained(connection.run, "a connection")
        except OSError:
            pass  # the client left before the connection was looked at
        finally:
            socket.close()  # also when a shutdown cancels the orderly close

    def _connection(self, peer: Peer, stream: Stream) -> Connection:
        if self._lane is None:
            return Connection(self._app, self._config, self.context, peer, stream)
        return LaneConnection(self._app, self._config, self.context, peer, stream, self._lane)
