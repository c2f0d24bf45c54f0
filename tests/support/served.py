"""An application behind the real listener, on a free port of the loopback: for tests that need sockets."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import trio
from quart_trio import QuartTrio

from onebroker.http.listener import accept_loop
from onebroker.http.listener.connection_limits import Connections, Peer
from onebroker.http.listener.lane_connection import Lane
from onebroker.http.route import Answer, Handler, Method, Route, TokenRule


def route(path: str, handler: Handler, method: Method = "GET") -> Route:
    return Route(
        method=method,
        path=path,
        handler=handler,
        token=TokenRule.OPEN,
        tag="test",
        operation_id="do_thing",
        summary="A thing",
        answers=(Answer(status=200, doc="A thing"),),
    )


class Served:
    """A served application and the event that stops it."""

    def __init__(self, addresses: list[str], shutdown: trio.Event, connections: Connections) -> None:
        self.addresses = addresses
        self.port = int(addresses[0].rsplit(":", 1)[1])
        self.shutdown = shutdown
        self.stopped = trio.Event()
        self.connections = connections
        self.clients: list[trio.SocketStream] = []

    async def open(self) -> trio.SocketStream:
        """Return a client's connection, closed at the end of the test at the latest."""
        stream = await trio.open_tcp_stream("127.0.0.1", self.port)
        self.clients.append(stream)
        return stream


class KnowsNothing:
    """A lane that leaves every request to the application."""

    def answer(self, head: bytes, peer: Peer, here: str) -> bytes | None:
        return None


usual_lane: Lane | None = None
"""The lane of a listener for which a test names none."""


@asynccontextmanager
async def listening(app: QuartTrio, *, connections: Connections | None = None, **options: Any) -> AsyncIterator[Served]:
    shutdown = trio.Event()
    options.setdefault("lane", usual_lane)
    kept = connections or Connections()
    async with trio.open_nursery() as nursery:
        run = partial(accept_loop.serve, app, "127.0.0.1", 0, shutdown_event=shutdown, connections=kept, **options)
        served: list[Served] = []

        async def run_marked(*, task_status: trio.TaskStatus[list[str]]) -> None:
            await run(task_status=task_status)
            served[0].stopped.set()

        served.append(Served(await nursery.start(run_marked), shutdown, kept))
        try:
            yield served[0]
        finally:
            for client in served[0].clients:
                client.socket.close()
        shutdown.set()
