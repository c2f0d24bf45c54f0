"""Follows a stream over any number of connections, as a generator: it yields what it needs of a connection, and `Give` for each event.

A client does `Open`, `Write`, `Read` and `Shut` with its sockets, and the steps of `onebroker_client.exchange`. It throws `NotSent` or `Lost` in
for a connection that fails.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, TypeAlias

from onebroker_client.answering import failure
from onebroker_client.errors import Unauthorized, Unreachable
from onebroker_client.exchange import Access, Sleep, Step, renew
from onebroker_client.frames import Closed, Frames, upgrade_headers
from onebroker_client.http_messages import HttpAnswer, HttpRequest, Lost, NotSent
from onebroker_client.operation import Operation
from onebroker_client.stream_state import TOKEN_ENDED, StreamState

PATH = "/stream"
QUIET_SECONDS = 45.0
"""Without a byte for so long a connection is dead: the service pings every 20 s."""
_STREAM = Operation("open_stream", "GET", PATH, "open", {}, {}, ())
SWITCHED = 101
"""The status of an upgrade."""
_LATER = frozenset({502, 503, 504})


@dataclass(frozen=True)
class Open:
    """Connect, and ask for the upgrade; the result is the HttpAnswer (101: the connection is a WebSocket)."""

    request: HttpRequest


@dataclass(frozen=True)
class Write:
    data: bytes


@dataclass(frozen=True)
class Read:
    """The result is what came; empty: the other side has closed. Nothing for `seconds` is `Lost`."""

    seconds: float = QUIET_SECONDS


@dataclass(frozen=True)
class Shut:
    """Close the connection, if there is one."""


@dataclass(frozen=True)
class Give:
    """Hand an event to the caller."""

    event: Any


StreamStep: TypeAlias = "Step | Open | Write | Read | Shut | Give"
Following: TypeAlias = Generator[StreamStep, Any, None]


def follow(access: Access, state: StreamState) -> Following:
    """Give the events of a stream without end. Raises Unreachable where the service was never there, Refusal, StreamTaken, StreamFault."""
    while True:
        if access.token is None:
            yield from renew(access, None)
        token = str(access.token)
        try:
            yield from _connection(access, state, token)
        except (NotSent, Lost) as error:
            closed = Closed(None, str(error))
        except Closed as error:
            closed = error
        yield Shut()
        if closed.code == TOKEN_ENDED:
            yield from _new_token(access, state, token, closed)
            continue
        pause = state.lost(closed)
        if pause is None:
            raise Unreachable(f"no stream at {PATH}: {closed.reason}")
        yield Sleep(pause)


def _connection(access: Access, state: StreamState, token: str) -> Following:
    """Follow one connection to its end, which is always an exception."""
    answer: HttpAnswer = yield Open(HttpRequest("GET", PATH, headers=upgrade_headers()))
    if answer.status in _LATER:
        raise Closed(None, f"HTTP status {answer.status}")
    if answer.status != SWITCHED:
        raise failure(_STREAM, answer, changes=False, tag=None)
    frames = Frames()
    yield Write(frames.said(state.opening(token)))
    while True:
        heard = frames.heard((yield Read()))
        if heard.reply:
            yield Write(heard.reply)
        for text in heard.texts:
            told = state.heard(text)
            for event in told.events:
                yield Give(event)
            for reply in told.replies:
                yield Write(frames.said(reply))
            if told.restart:
                raise Closed(None, "a message was out of order")
        if heard.closed is not None:
            raise heard.closed


def _new_token(access: Access, state: StreamState, used: str, closed: Closed) -> Following:
    """Connect again when the token has ended: the stream may still be resumed with the new one."""
    if not access.has_key or not state.token_ended():
        raise Unauthorized(401, closed.reason or "the access token has ended", {})
    yield from renew(access, used)
