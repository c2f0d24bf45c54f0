"""The WebSocket of the stream without a socket: bytes in, whole texts out. wsproto does the frames."""

from __future__ import annotations

import base64
import secrets
from dataclasses import dataclass

from wsproto.connection import Connection, ConnectionType
from wsproto.events import CloseConnection, Ping, TextMessage

MOST_BYTES = 256 * 1024 * 1024
"""Of one message: an order book is one message. More ends the connection."""


class Closed(Exception):
    """The connection is over. `code`: the close code, None without a close frame."""

    def __init__(self, code: int | None, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


def upgrade_headers() -> dict[str, str]:
    """Return the headers that ask for a WebSocket. The token is in the first message."""
    key = base64.b64encode(secrets.token_bytes(16)).decode()
    return {"connection": "Upgrade", "upgrade": "websocket", "sec-websocket-version": "13", "sec-websocket-key": key}


@dataclass
class Heard:
    """What bytes came to."""

    texts: list[str]
    reply: bytes
    """To be sent: pongs, the answer to a close."""
    closed: Closed | None


class Frames:
    """One connection, after its upgrade."""

    def __init__(self) -> None:
        self._connection = Connection(ConnectionType.CLIENT)
        self._parts: list[str] = []
        self._length = 0

    def said(self, text: str) -> bytes:
        """Return the bytes of a message."""
        return self._connection.send(TextMessage(text))

    def goodbye(self) -> bytes:
        return self._connection.send(CloseConnection(1000))

    def heard(self, data: bytes) -> Heard:
        """Take bytes; none at all: the other side has closed the connection without a word."""
        heard = Heard([], b"", None)
        if not data:
            heard.closed = Closed(None, "the connection was cut")
            return heard
        self._connection.receive_data(data)
        for event in self._connection.events():
            if isinstance(event, TextMessage):
                self._take(event, heard)
            elif isinstance(event, Ping):
                heard.reply += self._connection.send(event.response())
            elif isinstance(event, CloseConnection):
                heard.closed = Closed(int(event.code), event.reason or "")
        return heard

    def _take(self, event: TextMessage, heard: Heard) -> None:
        self._parts.append(event.data)
        self._length += len(event.data)
        if self._length > MOST_BYTES:
            heard.closed = Closed(1009, f"a message has more than {MOST_BYTES} characters")
        if event.message_finished:
            heard.texts.append("".join(self._parts))
            self._parts, self._length = [], 0
