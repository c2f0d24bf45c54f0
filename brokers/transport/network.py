"""The real transport: requests over `rest.py`, sockets over `websocket.py`, one nursery for the sockets' tasks."""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio

from onebroker.brokers.requests import StreamAddress, WireRequest, WireResponse
from onebroker.brokers.transport.interface import FrameStream, Transport
from onebroker.brokers.transport.rest import RestLimits, RestTransport
from onebroker.brokers.transport.websocket import MOST_MESSAGE_BYTES, StreamOpener
from onebroker.config.clock import Clock


class NetworkTransport:
    """See `interface.Transport`. Made by `open_transport`."""

    def __init__(self, rest: RestTransport, streams: StreamOpener) -> None:
        self._rest = rest
        self._streams = streams

    async def send(self, request: WireRequest, timeout_seconds: float) -> WireResponse:
        """Send one request once; raise `NotSent` or `OutcomeUnknown`."""
        return await self._rest.send(request, timeout_seconds)

    async def connect(self, address: StreamAddress, timeout_seconds: float) -> FrameStream:
        """Open a socket; raise `StreamRefusedHandshake` or `NotSent`."""
        return await self._streams.connect(address, timeout_seconds)

    async def aclose(self) -> None:
        """Close pooled connections and open sockets; nothing can be sent afterwards."""
        self._streams.close()
        await self._rest.aclose()


@asynccontextmanager
async def open_transport(
    clock: Clock,
    *,
    ssl_context: ssl.SSLContext | None = None,
    limits: RestLimits | None = None,
    most_message_bytes: int = MOST_MESSAGE_BYTES,
) -> AsyncIterator[Transport]:
    """Open a transport for the length of the block; leaving it closes everything it opened.

    `ssl_context` None = the machine's trusted authorities, names verified. The sockets' tasks run in a nursery here, so
    what the block raises leaves it in an exception group.
    """
    context = ssl_context or ssl.create_default_context()
    rest = RestTransport(clock, context, limits)
    async with trio.open_nursery() as nursery:
        transport = NetworkTransport(rest, StreamOpener(nursery, context, most_message_bytes))
        try:
            yield transport
        finally:
            await transport.aclose()
            nursery.cancel_scope.cancel()  # handshakes under way
