"""Sockets to brokers over trio-websocket. Each open socket is one task of a nursery that the caller owns.

trio-websocket lets a caller wait when the broker hangs up during the opening handshake. It also loses the status of a
refusal whose body ends with the connection. So `_Wire` records the bytes received during the handshake, and a failed
handshake is judged by those bytes.
"""

import logging
import ssl
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final
from urllib.parse import urljoin, urlsplit

import attrs
import trio
from trio_websocket import ConnectionClosed, HandshakeError, WebSocketConnection, wrap_client_stream
from wsproto.utilities import ProtocolError

from onebroker.brokers.requests import BrokerError, CallKind, NotSent, StreamAddress, WireRequest, WireResponse
from onebroker.brokers.transport.egress import ANY_EGRESS, Egress
from onebroker.brokers.transport.http_exchange import Exchange
from onebroker.brokers.transport.interface import FrameStream, StreamClosed, StreamRefusedHandshake

MOST_HOPS: Final = 3
"""Redirects followed while opening (Upstox answers 302 with a one-time address)."""

REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})

MOST_MESSAGE_BYTES: Final = 16 * 1024 * 1024
MOST_REFUSAL_BYTES: Final = 1024 * 1024
"""Answers to a handshake are small; a larger one is not an answer."""

RECEIVE_BYTES: Final = 64 * 1024
QUEUED_MESSAGES: Final = 64
"""Whole messages read ahead of the receiver; beyond that, TCP makes the broker wait."""

CLOSE_SECONDS: Final = 2.0
ABNORMAL: Final = 1006
"""RFC 6455 section 7.4.1: closed without a close frame."""

KEPT_ACROSS_SERVERS: Final = frozenset({"accept", "origin", "user-agent"})
"""Headers that are also sent when a redirect leads to another server; all others may be tokens."""

SCHEMES: Final = {"http": "ws", "https": "wss", "ws": "ws", "wss": "wss"}

logger = logging.getLogger(__name__)


class _Wire(trio.abc.Stream):
    """The connection under a socket. During the handshake it keeps the received bytes and reports when no more will come."""

    def __init__(self, stream: trio.abc.Stream, on_end: Callable[[], None]) -> None:
        self._stream = stream
        self._on_end: Callable[[], None] | None = on_end
        self.received = bytearray()

    def handshake_done(self) -> None:
        self._on_end = None
        self.received.clear()

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        await self._stream.send_all(data)

    async def wait_send_all_might_not_block(self) -> None:
        await self._stream.wait_send_all_might_not_block()

    async def receive_some(self, max_bytes: int | None = None) -> bytes | bytearray:
        try:
            data = await self._stream.receive_some(max_bytes)
        except trio.BrokenResourceError:
            self._end()
            raise
        if self._on_end is not None:
            self.received += data
            if not data or len(self.received) > MOST_REFUSAL_BYTES:
                self._end()
        return data

    async def aclose(self) -> None:
        await self._stream.aclose()

    def _end(self) -> None:
        if self._on_end is not None:
            self._on_end()


class WebSocketStream:
    """One open socket; see `interface.FrameStream`."""

    def __init__(self, connection: WebSocketConnection, cut: Callable[[], None]) -> None:
        self._connection = connection
        self._cut = cut

    async def send(self, frame: bytes | str) -> None:
        """Send one whole message; raise `StreamClosed`. A cancelled send closes the socket: half a message may be out,
        and nothing useful can follow it."""
        try:
            await self._connection.send_message(frame)
        except ConnectionClosed as error:
            raise _closed(error) from error
        except ProtocolError as error:
            raise StreamClosed(ABNORMAL, "") from error
        except trio.Cancelled:
            self._cut()
            raise

    async def receive(self) -> bytes | str:
        """Return the next whole message; raise `StreamClosed`."""
        try:
            return await self._connection.get_message()
        except ConnectionClosed as error:
            self._cut()  # after a broken frame the library would keep waiting for the broker to hang up
            raise _closed(error) from error

    async def ping(self, within_seconds: float) -> None:
        """Send a ping and wait for its pong; raise `StreamClosed`."""
        try:
            with trio.fail_after(within_seconds):
                await self._connection.ping()
        except ConnectionClosed as error:
            raise _closed(error) from error
        except trio.TooSlowError as error:
            self._cut()
            raise StreamClosed(ABNORMAL, "no pong came") from error

    async def aclose(self) -> None:
        """Send a close frame, then close."""
        try:
            with trio.move_on_after(CLOSE_SECONDS, shield=True):
                await self._connection.aclose()
        finally:
            self._cut()


@attrs.frozen(kw_only=True)
class _Opening:
    """One handshake to one server."""

    url: str = attrs.field(repr=False)
    headers: Mapping[str, str] = attrs.field(repr=False)
    most_message_bytes: int


class StreamOpener:
    """Opens sockets; their tasks run in `nursery`, and end with it."""

    def __init__(
        self,
        nursery: trio.Nursery,
        ssl_context: ssl.SSLContext,
        most_message_bytes: int = MOST_MESSAGE_BYTES,
        egress: Egress = ANY_EGRESS,
    ) -> None:
        self._nursery = nursery
        self._ssl_context = ssl_context
        self._most_message_bytes = most_message_bytes
        self._egress = egress
        self._open: set[trio.CancelScope] = set()
        self._closed = False

    async def connect(self, address: StreamAddress, timeout_seconds: float) -> FrameStream:
        """Open a socket; raise `StreamRefusedHandshake` or `NotSent`."""
        if self._closed:
            raise NotSent("the service is stopping")
        try:
            with trio.fail_after(timeout_seconds):
                return await self._follow(address)
        except BrokerError:
            raise
        except trio.TooSlowError as error:
            raise NotSent(f"the stream did not open within {timeout_seconds:g} s") from error
        except Exception as error:
            raise NotSent(f"the stream could not be opened ({type(error).__name__})") from error

    def close(self) -> None:
        """Cut every open socket and open no more."""
        self._closed = True
        for life in tuple(self._open):
            life.cancel()

    async def _follow(self, address: StreamAddress) -> FrameStream:
        opening = _Opening(url=address.url, headers=address.headers, most_message_bytes=self._most_message_bytes)
        for _ in range(MOST_HOPS + 1):
            result = await self._nursery.start(partial(self._hold, opening))
            if isinstance(result, WebSocketStream):
                return result
            answer: WireResponse = result
            if answer.status not in REDIRECTS or "location" not in answer.headers:
                break
            opening = _redirected(opening, answer.headers["location"])
        raise StreamRefusedHandshake(answer.status, answer.body)

    async def _hold(self, opening: _Opening, *, task_status: trio.TaskStatus[WebSocketStream | WireResponse]) -> None:
        """Hold one connection: start with the open socket or the broker's HTTP answer, end when the connection is closed."""
        handshake = trio.CancelScope()
        wire = _Wire(await _dial(opening.url, self._ssl_context, self._egress), handshake.cancel)
        opened = False
        try:
            async with trio.open_nursery() as life:
                with handshake:
                    connection = await _shake_hands(life, wire, opening)
                    opened = True
                    wire.handshake_done()
                    self._open.add(life.cancel_scope)
                    task_status.started(WebSocketStream(connection, life.cancel_scope.cancel))
                if self._closed or not opened:
                    life.cancel_scope.cancel()
        except* HandshakeError:
            pass  # refused; the broker's answer is in the wire's bytes
        except* Exception:
            # Not a websocket, or it broke in a way that the library did not foresee. The receiver learns this from the
            # closed message queue; the other sockets must not be affected.
            logger.debug("a stream's reader failed", exc_info=True)
        finally:
            self._open.discard(life.cancel_scope)
            await trio.aclose_forcefully(wire)
        if not opened:
            task_status.started(_http_answer(bytes(wire.received)))


async def _dial(url: str, ssl_context: ssl.SSLContext, egress: Egress) -> trio.abc.Stream:
    parts = urlsplit(url)
    host = parts.hostname
    if parts.scheme not in {"ws", "wss"} or not host:
        raise ValueError("the address is not a websocket one")
    egress.require(host)
    port = parts.port or (80 if parts.scheme == "ws" else 443)
    connection = await trio.open_tcp_stream(host, port, local_address=egress.local_address)
    if parts.scheme == "ws":
        return connection
    stream = trio.SSLStream(connection, ssl_context, server_hostname=host, https_compatible=True)
    try:
        await stream.do_handshake()
    except BaseException:
        await trio.aclose_forcefully(stream)
        raise
    return stream


async def _shake_hands(life: trio.Nursery, wire: _Wire, opening: _Opening) -> WebSocketConnection:
    parts = urlsplit(opening.url)
    return await wrap_client_stream(
        life,
        wire,  # type: ignore[arg-type]  # any trio Stream will do, as its documentation says
        parts.netloc.rpartition("@")[2],
        (parts.path or "/") + (f"?{parts.query}" if parts.query else ""),
        extra_headers=[(name.encode("ascii"), value.encode("latin-1")) for name, value in opening.headers.items()],
        message_queue_size=QUEUED_MESSAGES,
        max_message_size=opening.most_message_bytes,
        receive_buffer_size=RECEIVE_BYTES,
    )


def _redirected(opening: _Opening, location: str) -> _Opening:
    """Return the next handshake; raise `NotSent` when it would leave TLS."""
    old = urlsplit(opening.url)
    url = urljoin(opening.url.replace("ws", "http", 1), location)
    new = urlsplit(url)
    scheme = SCHEMES.get(new.scheme, "")
    if not scheme or (old.scheme == "wss" and scheme != "wss"):
        raise NotSent("the stream was redirected to an address that is not a safe websocket one")
    same_server = (old.scheme, old.hostname, old.port) == (scheme, new.hostname, new.port)
    headers = {
        name: value for name, value in opening.headers.items() if same_server or name.lower() in KEPT_ACROSS_SERVERS
    }
    return attrs.evolve(opening, url=new._replace(scheme=scheme, fragment="").geturl(), headers=headers)


def _http_answer(received: bytes) -> WireResponse:
    """Read the HTTP answer to a handshake, up to the end of the connection; raise `BrokenAnswer`."""
    exchange = Exchange(MOST_REFUSAL_BYTES)
    handshake = WireRequest(kind=CallKind.LOGIN, method="GET", url="http://stream/")
    exchange.request_bytes(handshake, urlsplit(handshake.url))
    body = b"".join(exchange.receive(received))
    if not exchange.whole:
        body += b"".join(exchange.receive(b""))
    return exchange.answer(body)


def _closed(error: ConnectionClosed) -> StreamClosed:
    if error.reason is None:
        return StreamClosed(ABNORMAL, "")
    return StreamClosed(error.reason.code, error.reason.reason or "")
