"""Connections that trio opens, with TLS: the twin of `asks_connections.py`, for the day on which asks no longer works."""

import ssl
from urllib.parse import urlsplit

import trio

from onebroker.brokers.transport.connections import Connection, Connector, has_unread
from onebroker.brokers.transport.egress import Egress

RECEIVE_BYTES = 65_536
PORTS = {"http": 80, "https": 443}


class _TrioConnection:
    """See `connections.Connection`."""

    def __init__(self, stream: "trio.SocketStream | trio.SSLStream[trio.SocketStream]") -> None:
        self.idle_since = 0.0
        self._stream = stream

    async def send(self, data: bytes) -> None:
        await self._stream.send_all(data)

    async def receive(self) -> bytes:
        return bytes(await self._stream.receive_some(RECEIVE_BYTES))

    async def aclose(self) -> None:
        await self._stream.aclose()

    def is_dead(self) -> bool:
        if isinstance(self._stream, trio.SocketStream):
            return has_unread(self._stream.socket.fileno(), None, None)
        return has_unread(
            self._stream.transport_stream.socket.fileno(),
            getattr(self._stream, "_ssl_object", None),
            getattr(self._stream, "_incoming", None),
        )


def trio_connector(context: ssl.SSLContext | None, egress: Egress) -> Connector:
    """Return what opens connections to one server with trio; see `connections.ConnectorFor`."""

    async def connect(server: str) -> Connection:
        address = urlsplit(server)
        host, port = address.hostname or "", address.port or PORTS[address.scheme]
        socket = await trio.open_tcp_stream(host, port, local_address=egress.local_address)
        if context is None:
            return _TrioConnection(socket)
        return _TrioConnection(await _over_tls(socket, context, host))

    return connect


async def _over_tls(
    socket: trio.SocketStream, context: ssl.SSLContext, host: str
) -> "trio.SSLStream[trio.SocketStream]":
    """Shake hands. A connection that fails here is closed; a failure of TLS is raised as itself, not as a broken connection."""
    stream = trio.SSLStream(socket, context, server_hostname=host, https_compatible=True)
    try:
        await stream.do_handshake()
    except BaseException as error:
        await trio.aclose_forcefully(stream)
        if isinstance(error, trio.BrokenResourceError) and isinstance(error.__cause__, ssl.SSLError):
            raise error.__cause__ from None
        raise
    return stream
