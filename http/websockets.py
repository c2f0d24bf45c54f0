"""hypercorn's WebSocket, with what it leaves open: pings that are missed, a close that reaches the client, no compression.

- A client that answers no ping for `SILENT_SECONDS` is gone, and its connection ends.
- After a close of ours the client has `LINGER_SECONDS` to take it; what it still sends is thrown away meanwhile.
- Compression is never agreed to: a document of megabytes would hold up the whole process while it is packed.

hypercorn is pinned exactly; `install` puts this class in the place of its own, and tests/http/test_websockets.py fails when
the names move.
"""

from collections.abc import Awaitable, Callable
from typing import Any

import trio
from hypercorn.protocol import h11 as hypercorn_h11
from hypercorn.protocol.events import Body, Data, Event, Request, StreamClosed
from hypercorn.protocol.ws_stream import ASGIWebsocketState, WSStream
from hypercorn.typing import ASGISendEvent, WebsocketAcceptEvent
from wsproto.connection import ConnectionState
from wsproto.events import CloseConnection, Ping
from wsproto.frame_protocol import CloseReason
from wsproto.utilities import ProtocolError

PING_SECONDS = 20.0
SILENT_SECONDS = 60.0
LINGER_SECONDS = 2.0
MOST_MESSAGE_BYTES = 256 * 1024
"""A longer message of a client closes its connection with 1009."""

Put = Callable[[Any], Awaitable[None]]


class WebSocket(WSStream):
    """One WebSocket connection as hypercorn's protocol drives it."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._heard_at = trio.current_time()
        self._gone = trio.Event()
        """Set when the client has taken our close, or its connection is over."""
        self._deaf = False
        """Whether the application is over: nobody takes messages any more."""
        self._told = False
        self._putting: set[trio.CancelScope] = set()

    async def handle(self, event: Event) -> None:
        self._heard_at = trio.current_time()
        if isinstance(event, StreamClosed):
            self._gone.set()
        if self._deaf and isinstance(event, Body | Data):
            self._look_for_close(event.data)
            return
        try:
            await super().handle(event)
        except ProtocolError:  # frames that are none
            await self.send(StreamClosed(stream_id=self.stream_id))
        if isinstance(event, Request) and self.app_put is not None:
            self.app_put = self._put_until_over(self.app_put)

    def _put_until_over(self, put: Put) -> Put:
        """An application that is over takes nothing: whoever waits for it goes on."""

        async def put_until_over(message: Any) -> None:
            with trio.CancelScope() as scope:
                self._putting.add(scope)
                try:
                    if not self._deaf:
                        await put(message)
                finally:
                    self._putting.discard(scope)

        return put_until_over

    def _look_for_close(self, data: bytes) -> None:
        try:
            self.connection.receive_data(data)
            if any(isinstance(event, CloseConnection) for event in self.connection.events()):
                self._gone.set()
        except ProtocolError:
            self._gone.set()

    async def app_send(self, message: ASGISendEvent | None) -> None:
        if message is None:
            self._deaf = True
            for scope in self._putting:
                scope.cancel()
            if hasattr(self, "connection") and self.connection.state is ConnectionState.LOCAL_CLOSING:
                with trio.move_on_after(LINGER_SECONDS):
                    await self._gone.wait()
        await super().app_send(message)

    async def _handle_events(self) -> None:
        await super()._handle_events()
        closing = self.connection.state is ConnectionState.LOCAL_CLOSING
        if closing and self.state is ASGIWebsocketState.CONNECTED and not self._told:
            # Closed by the protocol itself (a message too long): the application hears of it now, not when the client leaves.
            self._told = True
            self.task_group.spawn(self._end_application)

    async def _end_application(self) -> None:
        if self.app_put is not None:
            await self.app_put({"type": "websocket.disconnect", "code": CloseReason.MESSAGE_TOO_BIG.value})

    async def _accept(self, message: WebsocketAcceptEvent) -> None:
        self.handshake.extensions = None
        await super()._accept(message)

    async def _send_pings(self) -> None:
        while True:
            with trio.move_on_after(PING_SECONDS):
                await self._gone.wait()
                return
            if trio.current_time() - self._heard_at > SILENT_SECONDS:
                await self.send(StreamClosed(stream_id=self.stream_id))
                return
            await self._send_wsproto_event(Ping())


def install() -> None:
    """Have hypercorn make `WebSocket`s."""
    hypercorn_h11.WSStream = WebSocket  # type: ignore[attr-defined]
