"""The way to a broker's servers: one HTTP request with its answer, and sockets of whole messages. This module knows no
broker.

Code that talks to a broker holds a `Transport`; tests pass one that answers in-process.
"""

from typing import Protocol, runtime_checkable

import attrs

from onebroker.brokers.requests import BrokerError, StreamAddress, WireRequest, WireResponse
from onebroker.brokers.transport.egress import Egress


class StreamRefusedHandshake(BrokerError):
    """The broker answered a socket's opening with an HTTP status (such as 401, 403 or 429) instead of opening it."""

    def __init__(self, status: int, body: bytes) -> None:
        super().__init__(f"the stream was refused with HTTP {status}")
        self.status = status
        self.body = body
        """Decoded from its content encoding; empty when the answer had no body."""


class StreamClosed(BrokerError):
    """The socket is closed, by the broker, by us or by a cut connection; no more messages come."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(f"the stream is closed ({code} {reason})".replace(" )", ")"))
        self.code = code
        """RFC 6455 section 7.4.1; 1006 when the connection ended without a close frame."""
        self.reason = reason
        """The broker's own words, often empty."""


class FrameStream(Protocol):
    """One open socket. One task receives; any task may send. The broker's pings are answered inside."""

    async def send(self, frame: bytes | str) -> None:
        """Send one whole message: text for `str`, binary for `bytes`. Raise `StreamClosed` when it is closed."""

    async def receive(self) -> bytes | str:
        """Return the next whole message; wait for it without limit. Raise `StreamClosed` when no message can come."""

    async def ping(self, within_seconds: float) -> None:
        """Send a websocket ping and wait for its pong; raise `StreamClosed` when no pong comes in time."""

    async def aclose(self) -> None:
        """Close the socket within a few seconds; closing twice is allowed."""


class Transport(Protocol):
    """HTTP requests and sockets to brokers (`network.open_transport` makes the real one)."""

    async def send(self, request: WireRequest, timeout_seconds: float) -> WireResponse:
        """Send `request` once and return its whole answer, whatever its status; redirects are answers too.

        Nothing is ever repeated here. Raises `NotSent` (the broker cannot have seen the request), `OutcomeUnknown` (it
        may have), or what the request's `body_to` raised, and nothing else. `timeout_seconds` covers everything,
        including the wait for a free connection. `trio.Cancelled` passes through, and its connection is not used again.
        """

    async def connect(self, address: StreamAddress, timeout_seconds: float) -> FrameStream:
        """Open a socket within `timeout_seconds`; redirects of the handshake are followed.

        Raises `StreamRefusedHandshake` when the broker refused, `NotSent` when there is no connection.
        """

    async def aclose(self) -> None:
        """Close all pooled connections and open sockets; afterwards `send` and `connect` raise `NotSent`."""


@runtime_checkable
class RoutedTransport(Protocol):
    """A transport over the network that can say how its connections leave this machine."""

    @property
    def egress(self) -> Egress: ...

    async def local_addresses(self, url: str) -> tuple[str, ...]:
        """Return the local addresses from which connections to the URL's host leave, one per family. Sends nothing to the
        host.

        Raises `NotSent` when the host has no address, or none that the egress can reach.
        """


@runtime_checkable
class WarmTransport(Protocol):
    """A transport that can keep a connection ready for the next order message."""

    async def warm(self, url: str, timeout_seconds: float) -> None:
        """Have a connection to the URL's host on which an order message may leave now and for a moment longer: open one, without any
        request on it, if there is none.

        Raises `NotSent` when none could be opened.
        """


async def handed_on(request: WireRequest, response: WireResponse) -> WireResponse:
    """Return `response` as `Transport.send` promises it, for a body that was whole from the start: the body goes to
    `body_to`, if given."""
    if request.body_to is None:
        return response
    await request.body_to.take(response.body)
    return attrs.evolve(response, body=b"")
