"""A small HTTP server on loopback with scripted answers, and a stream that it cuts: for the sockets of the client, which have no script inside.

    with ScriptedServer() as server:
        server.say("GET", "/api/orders/halt", (503, {"error": "starting"}), (200, {"halted": False}))

Each request takes the next entry of its method and path; the last entry stays. CUT closes the connection without an answer.
"""

import base64
import hashlib
import socketserver
import sys
import threading
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import urlsplit

import msgspec
from wsproto.connection import Connection, ConnectionType
from wsproto.events import CloseConnection, Ping, TextMessage

CUT = "cut"
_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_READ = 64 * 1024


class FakeStream:
    """The service's side of `/stream`: `length` messages after a subscription, `after` of them on each connection; then it is cut.

    As the service does: a resume goes on after the last message that the client has, does not repeat a lost answer, and ends the connection
    that had the stream.
    """

    def __init__(self, length: int = 12, after: int = 100, *, forgets: bool = False) -> None:
        self.length, self.after, self.forgets = length, after, forgets
        self.connections = 0
        self.pongs = 0
        self._lock = threading.Lock()
        self._sent: list[dict[str, Any]] = []

    def talk(self, connection: "Talk") -> None:
        first = connection.hear()
        if first is None or first.get("access-token") != "token":
            connection.close(4401)
            return
        with self._lock:
            self.connections += 1
            mine = self.connections
        self._begin(connection, mine, first)
        if not self._is_subscribed():
            said = connection.hear()
            if said is None:
                return
            self._send(connection, mine, {"type": "subscribed", "channel": said["subscribe"], "id": said["id"]})
        connection.ping()
        for _ in range(min(self.after, self.length - self._content())):
            self._send(connection, mine, {"type": "lagged", "channel": "orders", "missed": self._content() + 1})
        if self._content() == self.length:
            self.pongs += connection.until_the_end()

    def _begin(self, connection: "Talk", mine: int, first: dict[str, Any]) -> None:
        if "resume" in first and not self.forgets:
            with self._lock:
                del self._sent[first["resume"] :]
            self._send(connection, mine, {"type": "resumed", "stream": "s1", "subscriptions": _NOTHING})
            return
        lost = {"not_resumed": "the stream is not kept"} if "resume" in first else {}
        with self._lock:
            self._sent = []
        self._send(connection, mine, {"type": "started", "stream": "s1", "keep_seconds": 60, **lost})

    def _is_subscribed(self) -> bool:
        return any(message["type"] == "subscribed" for message in self._sent)

    def _content(self) -> int:
        return sum(message["type"] == "lagged" for message in self._sent)

    def _send(self, connection: "Talk", mine: int, message: dict[str, Any]) -> None:
        with self._lock:
            if mine != self.connections:
                raise ConnectionAbortedError("the stream was resumed on another connection")
            self._sent.append(message)
            connection.say({"seq": len(self._sent), **message})


_NOTHING = {"quotes": {}, "orders": True, "parents": False, "documents": [], "chain": []}


class Talk:
    """One WebSocket, after its upgrade."""

    def __init__(self, handler: BaseHTTPRequestHandler) -> None:
        self._handler = handler
        self._socket = Connection(ConnectionType.SERVER)
        self._waiting: list[Any] = []

    def say(self, message: dict[str, Any]) -> None:
        self._write(self._socket.send(TextMessage(msgspec.json.encode(message).decode())))

    def ping(self) -> None:
        self._write(self._socket.send(Ping(b"there?")))

    def close(self, code: int) -> None:
        self._write(self._socket.send(CloseConnection(code, "because")))

    def hear(self) -> Any:
        """Return the next message, or None at the end."""
        while not self._waiting:
            data = self._handler.connection.recv(_READ)
            if not data:
                return None
            self._socket.receive_data(data)
            self._waiting += [
                msgspec.json.decode(event.data) for event in self._socket.events() if isinstance(event, TextMessage)
            ]
        return self._waiting.pop(0)

    def until_the_end(self) -> int:
        """Wait until the client leaves; return how many pongs came."""
        pongs = 0
        while data := self._handler.connection.recv(_READ):
            self._socket.receive_data(data)
            pongs += sum(type(event).__name__ == "Pong" for event in self._socket.events())
        return pongs

    def _write(self, data: bytes) -> None:
        self._handler.connection.sendall(data)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "ScriptedServer"

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        path = urlsplit(self.path).path
        with self.server.lock:
            self.server.requests.append((self.command, self.path, body, dict(self.headers.items())))
        if path == "/stream" and self.server.stream is not None:
            self._upgrade(self.server.stream)
            return
        entry = self.server.next_entry(self.command, path)
        if entry == CUT:
            self.close_connection = True
            return
        status, answer = entry
        data = answer if isinstance(answer, bytes) else msgspec.json.encode(answer)
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PUT = do_DELETE = _answer

    def _upgrade(self, stream: FakeStream) -> None:
        key = self.headers["sec-websocket-key"].encode()
        self.send_response(101)
        self.send_header("upgrade", "websocket")
        self.send_header("connection", "Upgrade")
        self.send_header(
            "sec-websocket-accept",
            base64.b64encode(hashlib.sha1(key + _GUID.encode(), usedforsecurity=False).digest()).decode(),
        )
        self.end_headers()
        self.close_connection = True
        stream.talk(Talk(self))


class ScriptedServer(socketserver.ThreadingTCPServer):
    """The server. What it was asked is in `requests`: method, target, body, headers."""

    daemon_threads = False
    allow_reuse_address = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.lock = threading.Lock()
        self.requests: list[tuple[str, str, bytes, dict[str, str]]] = []
        self.stream: FakeStream | None = None
        self._script: dict[tuple[str, str], list[Any]] = {}
        self._thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01})

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Let a client leave in the middle; anything else is told as usual."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def say(self, method: str, path: str, *entries: Any) -> None:
        self._script[method, path] = list(entries)

    def next_entry(self, method: str, path: str) -> Any:
        with self.lock:
            entries = self._script.get((method, path), [(404, {"error": "no such path in the script"})])
            return entries.pop(0) if len(entries) > 1 else entries[0]

    def sent(self, method: str, path: str) -> list[tuple[str, str, bytes, dict[str, str]]]:
        return [one for one in self.requests if (one[0], urlsplit(one[1]).path) == (method, path)]

    def __enter__(self) -> "ScriptedServer":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()
