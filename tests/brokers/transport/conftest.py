"""A scripted server on loopback: real sockets, and every whole request counted. And what is tested: the
REST transport on a clock moved by hand (`transport`), sockets and requests together (`network`)."""

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import attrs
import pytest
import trio

from onebroker.brokers.transport.network import connectors, open_transport
from onebroker.brokers.transport.pool import RestLimits
from onebroker.brokers.transport.rest import RestTransport
from onebroker.config.clock import Clock
from tests.support.patience import PATIENCE_SECONDS

CERTIFICATE = Path(__file__).parents[2] / "data" / "transport" / "loopback.pem"


class HungUp(Exception):
    """The client closed the connection."""


@attrs.define
class Received:
    """One whole request as it arrived."""

    line: str
    headers: dict[str, str]
    body: bytes


@attrs.define
class Peer:
    """The server's end of one connection."""

    stream: trio.abc.Stream
    socket: trio.SocketStream
    server: "Server"
    number: int
    """Of the connection, from 0."""
    _buffer: bytearray = attrs.field(factory=bytearray)

    async def request(self) -> Received:
        """Read one whole request and count it."""
        while b"\r\n\r\n" not in self._buffer:
            await self._more()
        head, _, _ = bytes(self._buffer).partition(b"\r\n\r\n")
        line, *rows = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (row.partition(":") for row in rows)}
        length = len(head) + 4 + int(headers.get("content-length", 0))
        while len(self._buffer) < length:
            await self._more()
        body = bytes(self._buffer[len(head) + 4 : length])
        del self._buffer[:length]
        received = Received(line=line, headers=headers, body=body)
        self.server.requests.append(received)
        return received

    async def send(self, data: bytes) -> None:
        await self.stream.send_all(data)

    async def answer(
        self, body: bytes = b"ok", status: str = "200 OK", headers: tuple[str, ...] = (), length: int | None = None
    ) -> None:
        rows = [f"HTTP/1.1 {status}", f"Content-Length: {len(body) if length is None else length}", *headers]
        await self.send("\r\n".join(rows).encode("latin-1") + b"\r\n\r\n" + body)

    async def wait_hang_up(self) -> None:
        """Wait until the client closes; raises `HungUp`, which ends a script."""
        while True:
            await self._more()

    def reset(self) -> None:
        """Close with a TCP reset."""
        self.socket.setsockopt(trio.socket.SOL_SOCKET, trio.socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.socket.socket.close()

    async def _more(self) -> None:
        try:
            data = await self.stream.receive_some()
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            data = b""
        if not data:
            raise HungUp
        self._buffer += data


Script = Callable[[Peer], Awaitable[None]]


@attrs.define
class Server:
    """What the scripts served so far."""

    port: int
    scheme: str
    requests: list[Received] = attrs.field(factory=list)
    connections: int = 0
    finished: int = 0
    """Connections whose script has ended; the server's end is closed then."""
    most_at_once: int = 0
    changed: trio.Event = attrs.field(factory=trio.Event)

    def url(self, path: str = "/") -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}{path}"

    async def until(self, done: Callable[[], bool]) -> None:
        while not done():
            await self.changed.wait()

    def _notify(self) -> None:
        self.changed.set()
        self.changed = trio.Event()


async def answer_always(peer: Peer) -> None:
    """The script of an ordinary server."""
    while True:
        await peer.request()
        await peer.answer()


@asynccontextmanager
async def serving(*scripts: Script, tls: bool = False) -> AsyncIterator[Server]:
    """Serve connection n by script n; the last script serves all further ones. The block must end in time."""
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    server = Server(port=listeners[0].socket.getsockname()[1], scheme="https" if tls else "http")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(CERTIFICATE)

    async def serve(socket: trio.SocketStream) -> None:
        number = server.connections
        server.connections += 1
        server.most_at_once = max(server.most_at_once, server.connections - server.finished)
        server._notify()
        stream: trio.abc.Stream = socket
        if tls:
            stream = trio.SSLStream(socket, context, server_side=True, https_compatible=True)
        try:
            await scripts[min(number, len(scripts) - 1)](Peer(stream, socket, server, number))
        except (HungUp, trio.BrokenResourceError):
            pass
        finally:
            await trio.aclose_forcefully(stream)
            server.finished += 1
            server._notify()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.serve_listeners, serve, listeners)
        try:
            with trio.fail_after(PATIENCE_SECONDS):
                yield server
        finally:
            nursery.cancel_scope.cancel()


@pytest.fixture(name="serving")
def serving_fixture() -> Callable[..., object]:
    return serving


@pytest.fixture
def ordinary() -> Script:
    return answer_always


@pytest.fixture
def client_tls() -> ssl.SSLContext:
    """Trusts the test certificate and checks names, as the default context does."""
    return ssl.create_default_context(cafile=CERTIFICATE)


class MovableClock(Clock):
    """Stands still but for what the test adds: no connection is idle for long because the machine was slow."""

    def __init__(self):
        super().__init__()
        self.ahead = 0.0

    def monotonic(self):
        return self.ahead


@pytest.fixture
def clock():
    return MovableClock()


@pytest.fixture(params=["asks", "trio"])
def opened_by(request):
    """Each test of requests is one of both libraries that open connections."""
    return request.param


@pytest.fixture
def connector_for(opened_by):
    return connectors(opened_by)


@pytest.fixture
async def transport(clock, client_tls, connector_for):
    made = RestTransport(clock, client_tls, connector_for, RestLimits(connections=4, order_connections=2, waiting=200))
    try:
        yield made
    finally:
        await made.aclose()


@pytest.fixture
async def network(client_tls, opened_by):
    async with open_transport(Clock(), ssl_context=client_tls, opened_by=opened_by) as opened:
        yield opened
