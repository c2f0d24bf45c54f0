"""HTTP requests to brokers. Each request leaves at most once.

`pool.py` keeps the connections, which `asks_connections.py` or `trio_connections.py` opens. `http_exchange.Exchange` builds the request's
bytes and reads the answer.

The rule of architecture 12: once a usable connection is in hand, the request counts as *reached*. Any failure before that
is `NotSent`, any failure after it is `OutcomeUnknown`; the type of the exception decides nothing.
"""

import io
import math
import ssl
from urllib.parse import SplitResult, urlsplit

import attrs
import trio

from onebroker.brokers.requests import (
    BodySink,
    BrokerError,
    CallKind,
    NotSent,
    OutcomeUnknown,
    WireRequest,
    WireResponse,
)
from onebroker.brokers.transport.connections import Connection, ConnectorFor, close_connection
from onebroker.brokers.transport.egress import ANY_EGRESS, Egress
from onebroker.brokers.transport.http_exchange import BrokenAnswer, Exchange
from onebroker.brokers.transport.pool import ORDER_IDLE_SECONDS, Pool, RestLimits
from onebroker.config.clock import Clock


@attrs.define
class _Progress:
    reached: bool = False


class RestTransport:
    """Sends requests; see `interface.Transport` for what `send` promises."""

    def __init__(
        self,
        clock: Clock,
        ssl_context: ssl.SSLContext,
        connector_for: ConnectorFor,
        limits: RestLimits | None = None,
        egress: Egress = ANY_EGRESS,
    ) -> None:
        self._clock = clock
        self._connector_for = connector_for
        self._ssl_context = ssl_context
        self._limits = limits or RestLimits()
        self._egress = egress
        self._pools: dict[str, Pool] = {}
        """Server -> its connections."""
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
        pool = self._pool(urlsplit(url))
        try:
            with trio.fail_after(timeout_seconds):
                await pool.warm()
        except BrokerError:
            raise
        except Exception as error:
            raise NotSent(_reason(error, timeout_seconds)) from error

    async def aclose(self) -> None:
        """Close the pooled connections; requests in progress end normally."""
        self._closed = True
        for pool in self._pools.values():
            await pool.close()

    async def _exchange(self, request: WireRequest, progress: _Progress) -> WireResponse:
        address = urlsplit(request.url)
        limits = self._limits
        exchange = Exchange(limits.file_bytes if request.kind is CallKind.FILE else limits.answer_bytes)
        data = exchange.request_bytes(request, address)
        pool = self._pool(address)
        most_idle_seconds = ORDER_IDLE_SECONDS if request.kind is CallKind.ORDER else math.inf
        async with pool.place(request.kind):
            connection = await pool.take(most_idle_seconds)
            progress.reached = True
            if request.on_departure is not None:
                request.on_departure()
            try:
                answer = await _converse(connection, exchange, data, request.body_to)
            finally:
                # Also when cancelled: a connection with half an exchange on it is never used again.
                if exchange.reusable:
                    await pool.give_back(connection)
                else:
                    await close_connection(connection)
        return answer

    def _pool(self, address: SplitResult) -> Pool:
        if self._closed:
            raise NotSent("the service is stopping")
        if address.scheme not in {"http", "https"} or not address.hostname:
            raise ValueError("the address is not an http one")
        server = f"{address.scheme}://{address.netloc.rpartition('@')[2].lower()}"
        pool = self._pools.get(server)
        if pool is None:
            context = self._ssl_context if address.scheme == "https" else None
            connect = self._connector_for(context, self._egress)
            pool = self._pools[server] = Pool(server, connect, self._clock, self._limits, self._egress)
        return pool


class _Memory:
    """Takes a body that has no other sink."""

    def __init__(self) -> None:
        self.body = io.BytesIO()  # grows in place: joining the pieces of a large answer would block the loop

    async def take(self, piece: bytes) -> None:
        self.body.write(piece)


async def _converse(connection: Connection, exchange: Exchange, data: bytes, body_to: BodySink | None) -> WireResponse:
    await connection.send(data)
    memory = _Memory()
    sink = body_to or memory
    while not exchange.whole:
        for piece in exchange.receive(await connection.receive()):
            await sink.take(piece)
    return exchange.answer(memory.body.getvalue())


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
