"""hypercorn's WebSocket, with what hypercorn leaves open: missed pings, a close that reaches the client, no
compression. It also sends the close codes for what a client must not send: 1002 for invalid frames, 1007 for text that
is not UTF-8, 1009 for too much.

- A client that answers no ping for `SILENT_SECONDS` counts as gone, and its connection ends.
- After we close, the client has `LINGER_SECONDS` to receive the close; what it still sends is thrown away.
- Compression is never accepted: packing a document of megabytes would block the whole process.

hypercorn is pinned exactly. `install` replaces hypercorn's class with this one, and
tests/http/live/test_sockets.py fails if the names move.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import trio
from hypercorn.protocol import h11 as hypercorn_h11
from hypercorn.protocol.events import Body, Data, Event, Request, StreamClosed
from hypercorn.protocol.ws_stream import FrameTooLargeError, WSStream
from hypercorn.typing import ASGISendEvent, WebsocketAcceptEvent
from wsproto.connection import ConnectionState
from wsproto.events import CloseConnection, Message, Ping
from wsproto.frame_protocol import CloseReason
from wsproto.utilities import ProtocolError

PING_SECONDS = 20.0
SILENT_SECONDS = 60.0
LINGER_SECONDS = 2.0
MOST_MESSAGE_BYTES = 256 * 1024
"""A longer message from a client closes its connection with 1009."""

Put = Callable[[Any], Awaitable[None]]


class WebSocket(WSStream):
    """One WebSocket connection as hypercorn's protocol drives it."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._heard_at = trio.current_time()
        self._gone = trio.Event()
        """Set when the client has received our close, or when its connection is over."""
        self._deaf = False
        """Whether the application has ended: no task takes messages any more."""
        self._failed = False
        """Whether the connection was closed because of what the client sent."""
        self._unreadable = False
        """Whether the frames can no longer be told apart."""
        self._putting: set[trio.CancelScope] = set()

    async def handle(self, event: Event) -> None:
        self._heard_at = trio.current_time()
        if isinstance(event, StreamClosed):
            self._gone.set()
        if isinstance(event, Body | Data) and (self._deaf or self._failed):
            if not self._unreadable:
                self._look_for_close(event.data)
            return
        try:
            await super().handle(event)
        except ProtocolError:  # bytes after the client's own close
            await self.send(StreamClosed(stream_id=self.stream_id))
        if isinstance(event, Request) and self.app_put is not None:
            self.app_put = self._put_until_over(self.app_put)

    def _put_until_over(self, put: Put) -> Put:
        """Wrap `put`: an application that has ended takes nothing, and a task that waits to put a message goes on."""

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
        """Works as hypercorn's method, except for frames that RFC 6455 forbids. wsproto reports them as a close that
        the client did not send, and hypercorn then cuts the connection."""
        for event in self.connection.events():
            match event:
                case Message():
                    try:
                        self.buffer.extend(event)
                    except FrameTooLargeError:
                        await self._fail(CloseReason.MESSAGE_TOO_BIG)
                        return
                    if event.message_finished and self.app_put is not None:
                        await self.app_put(self.buffer.to_message())
                        self.buffer.clear()
                case Ping():
                    await self._send_wsproto_event(event.response())
                case CloseConnection() if self.connection.state is ConnectionState.OPEN:
                    self._unreadable = True
                    await self._fail(event.code)
                    return
                case CloseConnection():
                    if self.connection.state is ConnectionState.REMOTE_CLOSING:
                        await self._send_wsproto_event(event.response())
                    await self.send(StreamClosed(stream_id=self.stream_id))

    async def _fail(self, code: int) -> None:
        """Close because of what the client sent. The application learns of it now, not only when the client leaves."""
        await self._send_wsproto_event(CloseConnection(code=code))
        self._failed = True
        self.task_group.spawn(partial(self._end_application, int(code)))

    async def _end_application(self, code: int) -> None:
        if self.app_put is not None:
            await self.app_put({"type": "websocket.disconnect", "code": code})

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
    """Make hypercorn create our `WebSocket`."""
    hypercorn_h11.WSStream = WebSocket  # type: ignore[attr-defined]
