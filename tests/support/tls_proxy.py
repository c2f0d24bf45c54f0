"""TLS in front of a server that has none: connections with the test's certificate, whose bytes go to a port of loopback."""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import trio

CERTIFICATES = Path(__file__).parent.parent / "data" / "tls"
CERTIFICATE = CERTIFICATES / "certificate.pem"
"""For localhost and 127.0.0.1; signed by itself, so it is trusted only where this file is."""
_RECEIVED_BYTES = 64 * 1024
_BROKEN = (trio.BrokenResourceError, trio.ClosedResourceError)


class TlsProxy:
    def __init__(self, server_port: int) -> None:
        self._server_port = server_port
        self.port = 0
        self.connections = 0
        """How many there have been."""

    async def serve(self, stream: trio.SSLStream[trio.SocketStream]) -> None:
        self.connections += 1
        server = await trio.open_tcp_stream("127.0.0.1", self._server_port)
        async with stream, server, trio.open_nursery() as nursery:
            nursery.start_soon(_copy, stream, server, nursery.cancel_scope)
            nursery.start_soon(_copy, server, stream, nursery.cancel_scope)


async def _copy(source: trio.abc.ReceiveStream, target: trio.abc.SendStream, both: trio.CancelScope) -> None:
    try:
        while data := await source.receive_some(_RECEIVED_BYTES):
            await target.send_all(data)
    except _BROKEN:  # a client that refuses the certificate, or goes away
        pass
    both.cancel()


@asynccontextmanager
async def tls_proxy(
    server_port: int, host: str = "127.0.0.1", *, certificate: Path = CERTIFICATE, key: Path = CERTIFICATES / "key.pem"
) -> AsyncIterator[TlsProxy]:
    """Listen for the block at a free port of `host`."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    proxy = TlsProxy(server_port)
    async with trio.open_nursery() as nursery:
        (tcp,) = await trio.open_tcp_listeners(0, host=host)
        proxy.port = tcp.socket.getsockname()[1]
        nursery.start_soon(trio.serve_listeners, proxy.serve, [trio.SSLListener(tcp, context, https_compatible=True)])
        yield proxy
        nursery.cancel_scope.cancel()
