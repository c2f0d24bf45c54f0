"""A small HTTP/1.1 and WebSocket server for one `Site` on one loopback port, whose connections can be refused or cut.

h11 and wsproto speak the protocols. A stock web server cannot cut the connection of an accepted order, redirect a handshake, or let a port refuse for
a while.
"""

import contextlib
import errno
from typing import Protocol
from urllib.parse import parse_qsl, unquote

import attrs
import h11
import trio
import wsproto
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Ping,
    RejectConnection,
    RejectData,
    Request,
    TextMessage,
)

from onebroker.brokers.requests import WireResponse
from onebroker.brokers.simulator.dialects.dialect import DialectRequest
from onebroker.brokers.simulator.host.gateway import Answer, Closing, Frame, Outbox

LOOPBACK = "127.0.0.1"
BIND_SECONDS = 10.0
_RETRY_SECONDS = 0.1
_RECEIVE_BYTES = 65_536
_LARGEST_BODY = 4_000_000
_CLOSE_SECONDS = 2.0


class Site(Protocol):
    """What the server serves; `Gateway` is one."""

    @property
    def refusing(self) -> bool: ...

    def refuse_once(self) -> bool: ...

    async def handle(self, request: DialectRequest) -> Answer: ...

    def answer_lost(self, answer: Answer) -> None: ...

    def open_socket(self, request: DialectRequest) -> Outbox | WireResponse: ...

    def received(self, outbox: Outbox, message: bytes | str) -> None: ...

    def closed(self, outbox: Outbox) -> None: ...


class Server:
    """Listens for one site. Callers call `review` whenever the site's faults may have changed."""

    def __init__(self, site: Site, port: int, *, or_another: bool = False) -> None:
        """`or_another`: if the port stays taken at the start, the server takes a free one instead."""
        self._site, self.port, self._or_another = site, port, or_another
        self._changed = trio.Event()
        self._open = False

    @property
    def base(self) -> str:
        return f"http://{LOOPBACK}:{self.port}"

    def review(self) -> None:
        """Open or close the port if the site's `refusing` has changed."""
        if self._open is self._shut:
            self._changed.set()

    @property
    def _shut(self) -> bool:
        return self._site.refusing

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Serve until cancelled. Port 0 takes a free port. Raises OSError when the port stays taken for BIND_SECONDS."""
        listeners = await self._listen_first()
        self.port = int(listeners[0].socket.getsockname()[1])
        task_status.started()
        while True:
            await self._serve_while_open(listeners)
            while self._shut:
                self._changed = trio.Event()
                await self._changed.wait()
            listeners = await self._listen()

    async def _listen_first(self) -> list[trio.SocketListener]:
        try:
            return await self._listen()
        except OSError as error:
            if not self._or_another or error.errno != errno.EADDRINUSE:
                raise
            self.port = 0
            return await self._listen()

    async def _listen(self) -> list[trio.SocketListener]:
        """Bind the port. The port of a simulator that has just ended may need a moment to become free."""
        with trio.move_on_after(BIND_SECONDS):
            while True:
                try:
                    return await trio.open_tcp_listeners(self.port, host=LOOPBACK)
                except OSError as error:
                    if error.errno != errno.EADDRINUSE:
                        raise
                    await trio.sleep(_RETRY_SECONDS)
        return await trio.open_tcp_listeners(self.port, host=LOOPBACK)

    async def _serve_while_open(self, listeners: list[trio.SocketListener]) -> None:
        async with trio.open_nursery() as nursery:
            self._open, self._changed = True, trio.Event()
            nursery.start_soon(trio.serve_listeners, self._connection, listeners)
            while self._open:
                await self._changed.wait()
                self._changed = trio.Event()
                self._open = not self._shut
            nursery.cancel_scope.cancel()  # cancels the listener and every connection

    async def _connection(self, stream: trio.SocketStream) -> None:
        if self._site.refuse_once():
            return
        try:
            await _Connection(stream, self._site, self.base, _source_of(stream)).run()
        except (trio.BrokenResourceError, trio.ClosedResourceError, h11.RemoteProtocolError):
            pass  # the client went away or does not speak HTTP
        finally:
            await trio.aclose_forcefully(stream)


@attrs.define
class _Connection:
    """One client's connection: requests one after another, or a socket for the rest of the connection."""

    stream: trio.SocketStream
    site: Site
    base: str
    source: str
    http: h11.Connection = attrs.field(init=False, factory=lambda: h11.Connection(h11.SERVER))

    async def run(self) -> None:
        while (head := await self._head()) is not None:
            if _wants_socket(head):
                await self._socket(head)
                return
            answer = await self.site.handle(_request(head, await self._body(), self.base, self.source))
            if answer.response is None:
                return
            try:
                await self._respond(head, answer.response)
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                self.site.answer_lost(answer)
                raise
            if self.http.our_state is not h11.DONE or self.http.their_state is not h11.DONE:
                return
            self.http.start_next_cycle()

    async def _head(self) -> h11.Request | None:
        event = await self._event()
        return event if isinstance(event, h11.Request) else None

    async def _event(self) -> h11.Event | type[h11.PAUSED]:
        while (event := self.http.next_event()) is h11.NEED_DATA:
            if self.http.they_are_waiting_for_100_continue:
                await self._send(h11.InformationalResponse(status_code=100, headers=[]))
            self.http.receive_data(await self.stream.receive_some(_RECEIVE_BYTES))
        return event  # type: ignore[return-value]  # NEED_DATA is gone

    async def _body(self) -> bytes:
        parts = bytearray()
        while isinstance(event := await self._event(), h11.Data):
            parts += event.data
            if len(parts) > _LARGEST_BODY:
                raise h11.RemoteProtocolError("the body is too large")
        return bytes(parts)

    async def _respond(self, head: h11.Request, response: WireResponse) -> None:
        headers = {"content-type": "application/json", **response.headers, "content-length": str(len(response.body))}
        status = h11.Response(status_code=response.status, headers=list(headers.items()))
        data = self.http.send(status) or b""
        if head.method != b"HEAD":
            data += self.http.send(h11.Data(data=response.body)) or b""
        await self.stream.send_all(data + (self.http.send(h11.EndOfMessage()) or b""))

    async def _send(self, event: h11.Event) -> None:
        await self.stream.send_all(self.http.send(event) or b"")

    async def _socket(self, head: h11.Request) -> None:
        wire = wsproto.WSConnection(wsproto.ConnectionType.SERVER)
        wire.initiate_upgrade_connection(list(head.headers), head.target.decode("ascii"))
        asked = next(event for event in wire.events() if isinstance(event, Request))
        opened = self.site.open_socket(_request(head, b"", self.base, self.source))
        if isinstance(opened, WireResponse):
            said = {**opened.headers, "content-length": str(len(opened.body))}
            names = [(name.encode(), value.encode()) for name, value in said.items()]
            refused = RejectConnection(status_code=opened.status, headers=names, has_body=True)
            await self.stream.send_all(wire.send(refused) + wire.send(RejectData(data=opened.body)))
            return
        try:
            accepted = AcceptConnection(subprotocol=next(iter(asked.subprotocols), None))
            await self.stream.send_all(wire.send(accepted))
            if early := self.http.trailing_data[0]:
                wire.receive_data(early)
            await _OpenSocket(self.stream, wire, self.site, opened).run()
        finally:
            self.site.closed(opened)


@attrs.define
class _OpenSocket:
    """One open socket: a task that reads, and a task that writes the frames that the dialect queued."""

    stream: trio.SocketStream
    wire: wsproto.WSConnection
    site: Site
    outbox: Outbox
    sending: trio.Lock = attrs.field(init=False, factory=trio.Lock)

    async def run(self) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._write, nursery.cancel_scope)
            with contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError):  # reset by the client
                await self._read()
            nursery.cancel_scope.cancel()

    async def _read(self) -> None:
        parts: list[str | bytes | bytearray] = []
        while True:
            for event in self.wire.events():
                if isinstance(event, (TextMessage, BytesMessage)):
                    parts.append(event.data)
                    if event.message_finished:
                        self.site.received(self.outbox, _joined(parts))
                        parts = []
                elif isinstance(event, Ping):
                    await self._send(event.response())
                elif isinstance(event, CloseConnection):
                    await self._send(event.response())
                    return
            data = await self.stream.receive_some(_RECEIVE_BYTES)
            if not data:
                return
            try:
                self.wire.receive_data(data)
            except wsproto.utilities.RemoteProtocolError:
                return

    async def _write(self, scope: trio.CancelScope) -> None:
        frames: trio.MemoryReceiveChannel[Frame] = self.outbox.frames
        try:
            async for frame in frames:
                if isinstance(frame, Closing):
                    await self._send(CloseConnection(code=frame.code, reason=frame.reason))
                    await trio.sleep(_CLOSE_SECONDS)  # the client answers the close, and that ends the reader first
                else:
                    await self._send(TextMessage(frame) if isinstance(frame, str) else BytesMessage(frame))
        except (trio.ClosedResourceError, trio.BrokenResourceError):
            pass  # cut off for not reading, or the client is gone
        scope.cancel()

    async def _send(self, event: wsproto.events.Event) -> None:
        async with self.sending:
            try:
                data = self.wire.send(event)
            except wsproto.utilities.LocalProtocolError:
                return  # the closing handshake is under way: nothing more is sent
            await self.stream.send_all(data)


def _source_of(stream: trio.SocketStream) -> str:
    try:
        address: str = stream.socket.getpeername()[0]
    except OSError:
        return ""  # the client is gone already
    return address


def _joined(parts: list[str | bytes | bytearray]) -> str | bytes:
    if isinstance(parts[0], str):
        return "".join(part for part in parts if isinstance(part, str))
    return b"".join(bytes(part) for part in parts if not isinstance(part, str))


def _wants_socket(head: h11.Request) -> bool:
    return any(name == b"upgrade" and value.lower() == b"websocket" for name, value in head.headers)


def _request(head: h11.Request, body: bytes, base: str, source: str) -> DialectRequest:
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in head.headers}
    return dialect_request(head.method.decode("ascii"), base, head.target.decode("latin-1"), headers, body, source)


def dialect_request(
    method: str, base: str, target: str, headers: dict[str, str], body: bytes, source: str = ""
) -> DialectRequest:
    """Return a request in the form that a dialect reads. `target` is path and query as on the wire; header names are lower-case."""
    path, _, query = target.partition("?")
    return DialectRequest(
        method=method,
        base=base,
        path=unquote(path),
        query=tuple(parse_qsl(query, keep_blank_values=True)),
        headers=headers,
        body=body,
        source=source,
    )
