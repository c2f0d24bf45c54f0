"""Connections that asks opens, with TLS: the only module that imports it. Its request loop is never used.

That loop repeats a request after a broken answer or a redirect, and turns an odd cookie in a good answer into an error. For an order this
would mean a second send, or a lost outcome.
"""

import ssl
from importlib import import_module
from typing import Any

import asks
import trio
from anyio import EndOfStream
from anyio.abc import SocketAttribute
from anyio.streams.tls import TLSAttribute

from onebroker.brokers.transport.connections import Connection, Connector, has_unread
from onebroker.brokers.transport.egress import Egress


class _NeverRaised(Exception):
    pass


# asks 3.0.0 needs anyio 3. Its trio backend (normally loaded at the first connection) derives from a name that current
# trio no longer has. A class that nothing raises is right: trio raises the built-in groups, which pass through unchanged.
vars(trio).setdefault("MultiError", _NeverRaised)
import_module("anyio._backends._trio")  # now, because loading it blocks the loop for some milliseconds


class _AsksConnection:
    """See `connections.Connection`. asks returns a stream of anyio."""

    def __init__(self, stream: Any) -> None:
        self.idle_since = 0.0
        self._stream = stream

    async def send(self, data: bytes) -> None:
        await self._stream.send(data)

    async def receive(self) -> bytes:
        try:
            received: bytes = await self._stream.receive()
        except EndOfStream:
            return b""
        return received

    async def aclose(self) -> None:
        await self._stream.aclose()

    def is_dead(self) -> bool:
        return has_unread(
            self._stream.extra(SocketAttribute.raw_socket).fileno(),
            self._stream.extra(TLSAttribute.ssl_object, None),
            getattr(self._stream, "_read_bio", None),
        )


class _Session(asks.Session):  # type: ignore[misc]  # asks has no types
    """What opens the connections to one server."""

    def __init__(self, context: ssl.SSLContext | None, egress: Egress) -> None:
        super().__init__(ssl_context=context, persist_cookies=None)
        self.source_address = egress.local_address

    async def open(self, server: str) -> Connection:
        return _AsksConnection(await self._make_connection(server))


def asks_connector(context: ssl.SSLContext | None, egress: Egress) -> Connector:
    """Return what opens connections to one server with asks; see `connections.ConnectorFor`."""
    return _Session(context, egress).open
