"""A connection to a server as the pool sees it, whoever opened it: `asks_connections.py` or `trio_connections.py`."""

import select
import ssl
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeAlias

import trio

from onebroker.brokers.transport.egress import Egress

CLOSE_SECONDS = 2.0


class Connection(Protocol):
    """A stream of bytes to a server, with TLS where the address is an https one."""

    idle_since: float
    """Monotonic seconds; the pool sets it."""

    async def send(self, data: bytes) -> None:
        """Send all of `data`. Raises an error of trio, anyio or the system when the connection is broken."""

    async def receive(self) -> bytes:
        """Return the next bytes, or none at the end. Raises like `send`."""

    async def aclose(self) -> None: ...

    def is_dead(self) -> bool:
        """Whether the idle connection has anything to read: the peer's close, or unexpected bytes."""


Connector: TypeAlias = Callable[[str], Awaitable[Connection]]
"""Opens a connection to a server, given as `scheme://host` or `scheme://host:port`. Raises OSError, ssl.SSLError."""

ConnectorFor: TypeAlias = Callable[[ssl.SSLContext | None, Egress], Connector]
"""Makes the connector of one server; without a context the server is an http one."""


async def close_connection(connection: Connection) -> None:
    """Close without waiting long for the peer, also while being cancelled."""
    with trio.move_on_after(CLOSE_SECONDS, shield=True):
        await connection.aclose()


def has_unread(descriptor: int, ssl_object: ssl.SSLObject | None, arrived: ssl.MemoryBIO | None) -> bool:
    """Whether anything can be read: from the socket, or of TLS records that are already in memory. `arrived`: what came from the socket and
    was not decrypted yet. A closed socket counts as unread."""
    if descriptor < 0:
        return True
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    if poll.poll(0):
        return True
    # A TLS close that arrived together with the last answer is already in our memory, not in the socket.
    pending: Any = 0 if arrived is None else arrived.pending
    return ssl_object is not None and (ssl_object.pending() > 0 or pending > 0)
