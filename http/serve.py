"""The listener: hypercorn's trio connections under our own accepting loop, so that starting, stopping and slow clients have
bounds that we choose.

- The port is bound before anything is served: a busy one is a `ListenError` with a sentence, not a log line.
- Bytes leave in pieces; a client that takes none for `WRITE_SECONDS` is cut off, however long the whole answer takes.
- Shutdown: no new connections, idle ones close, requests in progress get `graceful_seconds`, then everything is cut, also
  the half-sent request and the client that does not read.

hypercorn is pinned exactly: `TCPServer` and `WorkerContext` are used as its own worker uses them.
"""

import logging
import ssl
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import attrs
import trio
from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.config import Config
from hypercorn.events import Closed, Event, RawData, Updated
from hypercorn.trio.tcp_server import TCPServer
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import ConnectionState
from quart_trio import QuartTrio

from onebroker.http import websockets
from onebroker.http.contained import contained

KEEP_ALIVE_SECONDS = 75.0
"""How long a connection may be idle: longer than the pause between two calls of a client that polls once a minute."""

WRITE_SECONDS = 30.0
CLOSE_SECONDS = 2.0
WRITE_PIECE_BYTES = 64 * 1024
MOST_PIECE_BYTES = 512 * 1024
"""A piece may grow to this while the client takes each within QUICK_SECONDS: every piece waits for its turn of the loop, and a long
answer in many pieces grows old on its way."""
QUICK_SECONDS = 1.0

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
    tls: TlsFiles | None = None,
    graceful_seconds: float = 5.0,
    task_status: trio.TaskStatus[list[str]] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serve `app` until `shutdown_event`; `task_status` gets the addresses (`http://127.0.0.1:8000`) once they answer.

    `port` 0 takes any free one. Returns within about `graceful_seconds` of the event. Raises ListenError.
    """
    bound = await _listen(host, port, tls)
    websockets.install()
    config, context, connections = _hypercorn_config(), WorkerContext(None), _Connections()

    async def handle(stream: Stream) -> None:
        # hypercorn's hint names the TLS stream alone; it takes both.
        either = cast("trio.SSLStream[trio.SocketStream]", stream)
        connection = Connection(ASGIWrapper(app), config, context, ConnectionState({}), either)
        with connections.holding(connection):
            await contained(connection.run, "a connection")

    async with trio.open_nursery() as handlers:
        try:
            async with trio.open_nursery() as accepting:
                accepting.start_soon(_accept, handle, bound.listeners, handlers)
                task_status.started(bound.addresses)
                await shutdown_event.wait()
                accepting.cancel_scope.cancel()
            await context.terminated.set()
            with trio.move_on_after(graceful_seconds):
                await connections.wait_none()
        finally:
            # Writes are shielded (hypercorn): only closing the socket under them ends them at once.
            connections.cut_all()
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


async def _accept(
    handle: Callable[[Stream], Awaitable[None]], listeners: list[Listener], handlers: trio.Nursery
) -> None:
    await trio.serve_listeners(handle, listeners, handler_nursery=handlers)


def _address(scheme: str, listener: trio.SocketListener) -> str:
    host, port = listener.socket.getsockname()[:2]
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


def _hypercorn_config() -> Config:
    config = Config()
    config.accesslog = None  # architecture 12: it costs 7-9 %, and lines of requests are nobody's business
    config.errorlog = _log
    config.include_server_header = False
    config.keep_alive_timeout = KEEP_ALIVE_SECONDS
    config.websocket_max_message_size = websockets.MOST_MESSAGE_BYTES
    config.websocket_ping_interval = websockets.PING_SECONDS
    return config


# Connections


class Connection(TCPServer):
    """hypercorn's connection, with a bound on how long a client may take no bytes, and a way to cut it off."""

    _ended = False
    """Whether the client has said its last."""

    async def _read_data(self) -> None:
        await super()._read_data()
        # The idle timer would hold a connection whose client has left, and its file, until it runs out.
        self._ended = True
        await self.idle_task.stop()

    async def protocol_send(self, event: Event) -> None:
        if isinstance(event, RawData):
            await self._write(event.data)
            return
        if self._ended and isinstance(event, Updated):
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
            except (trio.BrokenResourceError, trio.ClosedResourceError):
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

    def cut(self) -> None:
        """Close the socket now; whoever waits for it finds it closed."""
        plain = self.stream.transport_stream if isinstance(self.stream, trio.SSLStream) else self.stream
        plain.socket.close()


class _Connections:
    """The connections that are open, so that a shutdown can wait for them and then cut them."""

    def __init__(self) -> None:
        self._open: set[Connection] = set()
        self._none = trio.Event()

    @contextmanager
    def holding(self, connection: Connection) -> Iterator[None]:
        self._open.add(connection)
        try:
            yield
        finally:
            self._open.discard(connection)
            if not self._open:
                self._none.set()

    async def wait_none(self) -> None:
        while self._open:
            self._none = trio.Event()
            await self._none.wait()

    def cut_all(self) -> None:
        for connection in self._open:
            connection.cut()
