"""The real transport: requests over `rest.py`, sockets over `websocket.py`, one nursery for the sockets' tasks.

An error names the broker to the caller; the host that failed is named in the log only.
"""

import logging
import ssl
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Final, Literal, TypeAlias
from urllib.parse import urlsplit

import trio

from onebroker.brokers.requests import NotSent, OutcomeUnknown, StreamAddress, WireRequest, WireResponse
from onebroker.brokers.transport.connections import ConnectorFor
from onebroker.brokers.transport.egress import ANY_EGRESS, Egress, local_addresses
from onebroker.brokers.transport.interface import FrameStream, Transport
from onebroker.brokers.transport.pool import RestLimits
from onebroker.brokers.transport.rest import RestTransport
from onebroker.brokers.transport.websocket import MOST_MESSAGE_BYTES, StreamOpener
from onebroker.config.clock import Clock

REPEAT_SECONDS: Final = 60.0
"""The same failure at the same host is logged once in this time, because reads go on while a host is away."""

OpenedBy: TypeAlias = Literal["asks", "trio"]
"""The library that opens the connections of requests."""

_log = logging.getLogger("onebroker.transport")


def connectors(opened_by: OpenedBy) -> ConnectorFor:
    """Return what makes the connectors. The other library is not imported: it need not work any more."""
    if opened_by == "trio":
        from onebroker.brokers.transport.trio_connections import trio_connector

        return trio_connector
    from onebroker.brokers.transport.asks_connections import asks_connector

    return asks_connector


class _FailureLog:
    """Logs the host of each failure, without repeating itself."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last: dict[tuple[str, str], float] = {}
        """Host and reason -> when it was logged, monotonic seconds."""

    def note(self, host: str, text: str) -> None:
        now = self._clock.monotonic()
        self._last = {key: at for key, at in self._last.items() if now - at < REPEAT_SECONDS}
        if (host, text) not in self._last:
            self._last[host, text] = now
            _log.warning("%s (%s)", text, host)


class NetworkTransport:
    """See `interface.Transport`, `RoutedTransport` and `WarmTransport` there. Made by `open_transport`."""

    def __init__(self, rest: RestTransport, streams: StreamOpener, name: str, egress: Egress, clock: Clock) -> None:
        self.egress = egress
        self._rest = rest
        self._streams = streams
        self._name = name
        self._failures = _FailureLog(clock)

    async def send(self, request: WireRequest, timeout_seconds: float) -> WireResponse:
        """Send one request once; raise `NotSent` or `OutcomeUnknown`."""
        with self._named(request.url):
            return await self._rest.send(request, timeout_seconds)

    async def warm(self, url: str, timeout_seconds: float) -> None:
        """See `interface.WarmTransport`."""
        with self._named(url):
            await self._rest.warm(url, timeout_seconds)

    async def connect(self, address: StreamAddress, timeout_seconds: float) -> FrameStream:
        """Open a socket; raise `StreamRefusedHandshake` or `NotSent`."""
        with self._named(address.url):
            return await self._streams.connect(address, timeout_seconds)

    async def local_addresses(self, url: str) -> tuple[str, ...]:
        """See `interface.RoutedTransport`."""
        with self._named(url):
            return await local_addresses(self.egress, urlsplit(url).hostname or "")

    async def aclose(self) -> None:
        """Close pooled connections and open sockets; nothing can be sent afterwards."""
        self._streams.close()
        await self._rest.aclose()

    @contextmanager
    def _named(self, url: str) -> Iterator[None]:
        try:
            yield
        except (NotSent, OutcomeUnknown) as error:
            bound = (
                isinstance(error, NotSent)
                and self.egress.local_address is not None
                and str(self.egress) not in str(error)
            )
            text = f"{self._name}: {error}{f' (by {self.egress})' if bound else ''}"
            self._failures.note(_host_of(url), text)
            raise type(error)(text) from error


@asynccontextmanager
async def open_transport(
    clock: Clock,
    *,
    name: str = "the broker",
    egress: Egress = ANY_EGRESS,
    ssl_context: ssl.SSLContext | None = None,
    limits: RestLimits | None = None,
    most_message_bytes: int = MOST_MESSAGE_BYTES,
    opened_by: OpenedBy = "asks",
) -> AsyncIterator[Transport]:
    """Open a transport for the length of the block; leaving the block closes everything that the transport opened.

    Errors name `name` as the party that failed. `opened_by` = what opens the connections of requests (`service.transport`). `ssl_context` None = the machine's trusted authorities, names verified.
    The sockets' tasks run in a nursery here, so an exception raised in the block leaves it in an exception group.
    """
    async with open_transports(
        clock,
        {name: egress},
        ssl_context=ssl_context,
        limits=limits,
        most_message_bytes=most_message_bytes,
        opened_by=opened_by,
    ) as transports:
        yield transports[name]


@asynccontextmanager
async def open_transports(
    clock: Clock,
    egresses: Mapping[str, Egress],
    *,
    ssl_context: ssl.SSLContext | None = None,
    limits: RestLimits | None = None,
    most_message_bytes: int = MOST_MESSAGE_BYTES,
    opened_by: OpenedBy = "asks",
) -> AsyncIterator[Mapping[str, Transport]]:
    """Open one transport for each broker (by code), each with its own egress; otherwise like `open_transport`."""
    connector_for = connectors(opened_by)
    context = ssl_context or ssl.create_default_context()
    async with trio.open_nursery() as nursery:
        transports = {
            name: NetworkTransport(
                RestTransport(clock, context, connector_for, limits, egress),
                StreamOpener(nursery, context, most_message_bytes, egress),
                name,
                egress,
                clock,
            )
            for name, egress in egresses.items()
        }
        try:
            yield transports
        finally:
            for transport in transports.values():
                await transport.aclose()
            nursery.cancel_scope.cancel()  # ends handshakes in progress


def _host_of(url: str) -> str:
    """Return only host and port: paths and queries may hold tokens."""
    try:
        return urlsplit(url).netloc.rpartition("@")[2] or "no host"
    except ValueError:
        return "no host"
