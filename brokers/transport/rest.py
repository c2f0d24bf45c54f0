"""HTTP requests to brokers over asks: the only module that imports it. Each request leaves at most once.

asks opens connections, does TLS and keeps the pool. We do not use its request loop. That loop repeats a request after a
broken answer or a redirect, and turns an odd cookie in a good answer into an error. For an order this would mean a second
send, or a lost outcome. `answers.Exchange` builds the request's bytes and reads the answer instead.

The rule of architecture 12: once a usable connection is in hand, the request counts as *reached*. Any failure before that
is `NotSent`, any failure after it is `OutcomeUnknown`; the type of the exception decides nothing.
"""

import io
import math
import select
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from typing import Protocol
from urllib.parse import SplitResult, urlsplit

import asks
import attrs
import trio
from anyio import EndOfStream
from anyio.abc import SocketAttribute
from anyio.streams.tls import TLSAttribute

from onebroker.brokers.requests import (
    BodySink,
    BrokerError,
    CallKind,
    NotSent,
    OutcomeUnknown,
    WireRequest,
    WireResponse,
)
from onebroker.brokers.transport.egress import ANY_EGRESS, Egress
from onebroker.brokers.transport.http_exchange import BrokenAnswer, Exchange
from onebroker.config.clock import Clock


class _NeverRaised(Exception):
    pass


# asks 3.0.0 needs anyio 3. Its trio backend (normally loaded at the first connection) derives from a name that current
# trio no longer has. A class that nothing raises is right: trio raises the built-in groups, which pass through unchanged.
vars(trio).setdefault("MultiError", _NeverRaised)
import_module("anyio._backends._trio")  # now, because loading it blocks the loop for some milliseconds

ORDER_IDLE_SECONDS = 5.0
"""An order message never uses a connection that has been idle for longer (order-engine 2.7). A connection that was opened and never used is
idle since then."""
WARM_SECONDS = 1.5
"""A connection counts as warm while an order message could still use it for this long. `warm` is asked every second."""
CLOSE_SECONDS = 2.0


@attrs.frozen(kw_only=True)
class RestLimits:
    """Limits for one server (scheme, host, port)."""

    connections: int = 16
    """Most sockets open at once, including idle ones."""
    order_connections: int = 8
    """How many of these only order messages may use, so that slow reads never delay an order."""
    waiting: int = 256
    """Most requests that wait for a connection, counted separately for orders and others; one more is refused at once."""
    answer_bytes: int = 16 * 1024 * 1024
    """Largest decoded body of an answer that is decoded on the loop: a book of 10,000 orders is 10 MB."""
    file_bytes: int = 256 * 1024 * 1024
    """Largest decoded instrument file; real files are tens of megabytes, and go to the disk."""

    def __attrs_post_init__(self) -> None:
        if not 0 < self.order_connections < self.connections:
            raise ValueError("order_connections must be above 0 and below connections")


class _Connection(Protocol):
    """What we use of an asks connection: an anyio stream. asks sets `host` and `port` on it, we set the rest."""

    idle_since: float

    async def send(self, item: bytes) -> None: ...

    async def receive(self) -> bytes: ...

    async def aclose(self) -> None: ...

    def extra(self, attribute: object, default: object = ...) -> object: ...


class _Session(asks.Session):  # type: ignore[misc]  # asks has no types
    """The connections to one server: asks' pool, with our rules for taking connections out and putting them back."""

    def __init__(self, clock: Clock, ssl_context: ssl.SSLContext | None, limits: RestLimits, egress: Egress) -> None:
        super().__init__(ssl_context=ssl_context, connections=limits.connections, persist_cookies=None)
        self.source_address = egress.local_address
        self._egress = egress
        self._clock = clock
        self._limits = limits
        self._closed = False
        self._order_places = trio.CapacityLimiter(limits.order_connections)
        self._other_places = trio.CapacityLimiter(limits.connections - limits.order_connections)

    @asynccontextmanager
    async def place(self, kind: CallKind) -> AsyncIterator[None]:
        """Hold one of the places for a connection, first come first served; raise `NotSent` when too many requests wait."""
        places = self._order_places if kind is CallKind.ORDER else self._other_places
        if places.statistics().tasks_waiting >= self._limits.waiting:
            raise NotSent(f"{self._limits.waiting} requests are already waiting for a connection")
        async with places:
            yield

    async def _grab_connection(self, url: str, most_idle_seconds: float = math.inf) -> _Connection:
        """Return a usable connection: the last used one that is alive and not idle too long, else a new one."""
        now = self._clock.monotonic()
        for connection in [pooled for pooled in self._conn_pool if _is_dead(pooled)]:
            self._conn_pool.remove(connection)
            await close_connection(connection)
        for connection in self._conn_pool:  # the last used connection is first
            if now - connection.idle_since <= most_idle_seconds:
                self._conn_pool.remove(connection)
                return connection  # type: ignore[no-any-return]  # asks has no types
        in_use = self._order_places.borrowed_tokens + self._other_places.borrowed_tokens
        while self._conn_pool and in_use + len(self._conn_pool) > self._limits.connections:
            await close_connection(self._conn_pool.pop())
        self._egress.require(urlsplit(url).hostname or "")
        return await self._make_connection(url)  # type: ignore[no-any-return]  # asks has no types

    async def warm(self, url: str) -> None:
        """Have an idle connection that an order message can use for the next moment. One that is opened here replaces those that no order message
        may use any more."""
        if not self._has_warm():
            self._egress.require(urlsplit(url).hostname or "")
            opened = await self._make_connection(url)
            await self.return_to_pool(opened)
            await self._close_stale()

    def _has_warm(self) -> bool:
        """Whether such a connection is there, or enough order messages are under way that theirs come back."""
        fresh = self._clock.monotonic() - ORDER_IDLE_SECONDS + WARM_SECONDS
        in_use = self._order_places.borrowed_tokens + self._other_places.borrowed_tokens
        ready = any(pooled.idle_since >= fresh and not _is_dead(pooled) for pooled in self._conn_pool)
        return ready or in_use >= self._limits.connections

    async def _close_stale(self) -> None:
        oldest = self._clock.monotonic() - ORDER_IDLE_SECONDS
        for connection in [pooled for pooled in self._conn_pool if pooled.idle_since < oldest]:
            self._conn_pool.remove(connection)
            await close_connection(connection)

    async def return_to_pool(self, sock: _Connection) -> None:
        """Keep a connection for the next request."""
        if self._closed:
            await close_connection(sock)
            return
        sock.idle_since = self._clock.monotonic()
        self._conn_pool.appendleft(sock)

    async def close(self) -> None:
        """Close the idle connections now, and those in use when they come back."""
        self._closed = True
        while self._conn_pool:
            await close_connection(self._conn_pool.pop())


@attrs.define
class _Progress:
    reached: bool = False


class RestTransport:
    """Sends requests; see `interface.Transport` for what `send` promises."""

    def __init__(
        self,
        clock: Clock,
        ssl_context: ssl.SSLContext,
        limits: RestLimits | None = None,
        egress: Egress = ANY_EGRESS,
    ) -> None:
        self._clock = clock
        self._ssl_context = ssl_context
        self._limits = limits or RestLimits()
        self._egress = egress
        self._sessions: dict[str, _Session] = {}
        self._closed = False

    async def send(self, request: WireRequest, timeout_seconds: float) -> WireResponse:
        """Send `request` once; raise `NotSent` or `OutcomeUnknown`, or what `request.body_to` raised."""
        progress = _Progress()
        try:
            with trio.fail_after(timeout_seconds):
                return await self._exchange(request, progress)
        except BrokerError:
            raise
        except Exception as error:
            raise (OutcomeUnknown if progress.reached else NotSent)(_reason(error, timeout_seconds)) from error

    async def warm(self, url: str, timeout_seconds: float) -> None:
        """See `interface.WarmTransport`."""
        session, server = self._session(urlsplit(url))
        try:
            with trio.fail_after(timeout_seconds):
                await session.warm(server)
        except BrokerError:
            raise
        except Exception as error:
            raise NotSent(_reason(error, timeout_seconds)) from error

    async def aclose(self) -> None:
        """Close the pooled connections; requests in progress end normally."""
        self._closed = True
        for session in self._sessions.values():
            await session.close()

    async def _exchange(self, request: WireRequest, progress: _Progress) -> WireResponse:
        address = urlsplit(request.url)
        limits = self._limits
        exchange = Exchange(limits.file_bytes if request.kind is CallKind.FILE else limits.answer_bytes)
        data = exchange.request_bytes(request, address)
        session, server = self._session(address)
        most_idle_seconds = ORDER_IDLE_SECONDS if request.kind is CallKind.ORDER else math.inf
        async with session.place(request.kind):
            connection = await session._grab_connection(server, most_idle_seconds)
            progress.reached = True
            if request.on_departure is not None:
                request.on_departure()
            try:
                answer = await _converse(connection, exchange, data, request.body_to)
            finally:
                # Also when cancelled: a connection with half an exchange on it is never used again.
                if exchange.reusable:
                    await session.return_to_pool(connection)
                else:
                    await close_connection(connection)
        return answer

    def _session(self, address: SplitResult) -> tuple[_Session, str]:
        if self._closed:
            raise NotSent("the service is stopping")
        if address.scheme not in {"http", "https"} or not address.hostname:
            raise ValueError("the address is not an http one")
        server = f"{address.scheme}://{address.netloc.rpartition('@')[2].lower()}"
        session = self._sessions.get(server)
        if session is None:
            context = self._ssl_context if address.scheme == "https" else None
            session = self._sessions[server] = _Session(self._clock, context, self._limits, self._egress)
        return session, server


class _Memory:
    """Takes a body that has no other sink."""

    def __init__(self) -> None:
        self.body = io.BytesIO()  # grows in place: joining the pieces of a large answer would block the loop

    async def take(self, piece: bytes) -> None:
        self.body.write(piece)


async def _converse(connection: _Connection, exchange: Exchange, data: bytes, body_to: BodySink | None) -> WireResponse:
    await connection.send(data)
    memory = _Memory()
    sink = body_to or memory
    while not exchange.whole:
        for piece in exchange.receive(await _received(connection)):
            await sink.take(piece)
    return exchange.answer(memory.body.getvalue())


async def _received(connection: _Connection) -> bytes:
    try:
        return await connection.receive()
    except EndOfStream:
        return b""


async def close_connection(connection: _Connection) -> None:
    """Close without waiting long for the peer, also while being cancelled."""
    with trio.move_on_after(CLOSE_SECONDS, shield=True):
        await connection.aclose()


def _is_dead(connection: _Connection) -> bool:
    """Whether an idle connection has anything to read: the peer's close, or unexpected bytes."""
    raw_socket = connection.extra(SocketAttribute.raw_socket)
    descriptor: int = raw_socket.fileno()  # type: ignore[attr-defined]  # a socket.socket
    if descriptor < 0:
        return True
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    if poll.poll(0):
        return True
    # A TLS close that arrived together with the last answer is already in our memory, not in the socket.
    ssl_object = connection.extra(TLSAttribute.ssl_object, None)
    unread = getattr(connection, "_read_bio", None)
    return ssl_object is not None and (ssl_object.pending() > 0 or (unread is not None and unread.pending > 0))  # type: ignore[attr-defined]  # an ssl.SSLObject


def _reason(error: Exception, timeout_seconds: float) -> str:
    match error:
        case trio.TooSlowError():
            return f"no answer within {timeout_seconds:g} s"
        case BrokenAnswer() | ValueError() if not isinstance(error, ssl.SSLError | UnicodeError):
            return str(error)
        case ssl.SSLError():
            return f"TLS failed ({error.reason or type(error).__name__})"
        case OSError():
            return "no connection"
        case _:
            return f"the connection broke ({type(error).__name__})"
