"""Servers of sockets on loopback, and scripts of odd ones, for the tests of sockets."""

import base64
import hashlib
import ssl
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import trio
import trio.testing
from trio_websocket import ConnectionClosed, serve_websocket

from onebroker.brokers.requests import StreamAddress
from tests.support.patience import PATIENCE_SECONDS

SECONDS = PATIENCE_SECONDS / 2
CERTIFICATE = Path(__file__).parents[2] / "data" / "transport" / "loopback.pem"


async def echo(request):
    socket = await request.accept()
    while True:
        try:
            await socket.send_message(await socket.get_message())
        except ConnectionClosed:
            return


@asynccontextmanager
async def websocket_server(handler, *, tls=False):
    context = None
    if tls:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(CERTIFICATE)
    async with trio.open_nursery() as nursery:
        serve = partial(serve_websocket, handler, "127.0.0.1", 0, context, max_message_size=2**26)
        server = await nursery.start(serve)
        try:
            with trio.fail_after(PATIENCE_SECONDS):
                yield f"{'wss' if tls else 'ws'}://127.0.0.1:{server.port}"
        finally:
            nursery.cancel_scope.cancel()


def address(url, **headers):
    return StreamAddress(url=url.replace("http", "ws", 1), headers=headers)


UPGRADE = (
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {}\r\n\r\n"
)


async def accept(peer):
    """Open the socket by hand, so that the rest can be broken by hand."""
    received = await peer.request()
    key = received.headers["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
    digest = base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()  # what RFC 6455 asks for
    await peer.send(UPGRADE.format(digest).encode())


async def cancel_when_stuck(scope):
    """Cancel when nobody can do anything more."""
    await trio.testing.wait_all_tasks_blocked(0.05)
    scope.cancel()
