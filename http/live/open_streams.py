"""The streams of all clients: with a connection, or without one for up to `KEPT_SECONDS`. No waiting; `now` is monotonic seconds."""

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import attrs
import trio

from onebroker.config.messages import stream as sentences
from onebroker.http.live.boards import Wake
from onebroker.http.live.client_stream import Boards, ClientStream

KEPT_SECONDS = 60.0
"""Seconds that a stream without a connection waits to be resumed."""
MOST_STREAMS = 100
"""With a connection or without. Among the streams without a connection, the one that lost it first gives way."""
MOST_CONNECTIONS = 200
"""The most open sockets that have shown their token."""
MOST_STRANGERS = 20
"""The most open sockets that have not yet shown their token. The oldest gives way, so that a client without a token keeps nobody out."""


class TooMany(Exception):
    """No room for one more."""


class CannotResume(Exception):
    """A stream is not continued; the text says why."""


@attrs.define(eq=False)
class _Kept:
    stream: ClientStream
    end: Callable[[], None] | None = None
    """Ends the stream's connection; None = the stream has no connection."""
    lost_at: float = 0.0


@attrs.frozen
class Figures:
    """The figures that health and metrics show."""

    connections: int
    streams: int
    waiting: int
    """Streams without a connection."""
    instruments: int
    """Different instruments that are subscribed."""


class Streams:
    def __init__(
        self,
        boards: Boards,
        *,
        most_streams: int = MOST_STREAMS,
        most_connections: int = MOST_CONNECTIONS,
        most_strangers: int = MOST_STRANGERS,
        new_id: Callable[[], str] = lambda: str(uuid.uuid4()),
    ) -> None:
        self.boards = boards
        self._most_streams = most_streams
        self._most_connections = most_connections
        self._new_id = new_id
        self._kept: dict[str, _Kept] = {}
        self._connections = 0
        self._most_strangers = most_strangers
        self._strangers: dict[trio.CancelScope, None] = {}
        self.turn = trio.Lock()
        """Held by a connection while it makes a message. So a change that concerns all clients goes to one client after
        the other, and other tasks of the process run in between."""

    @contextmanager
    def stranger(self) -> Iterator[trio.CancelScope]:
        """Count an open socket while it waits for its token; the wait is cancelled if this socket must give way."""
        if len(self._strangers) >= self._most_strangers:
            oldest = next(iter(self._strangers))
            del self._strangers[oldest]
            oldest.cancel()
        with trio.CancelScope() as scope:
            self._strangers[scope] = None
            try:
                yield scope
            finally:
                self._strangers.pop(scope, None)

    @contextmanager
    def connection(self) -> Iterator[None]:
        """Count an open socket whose token is right. Raises TooMany."""
        if self._connections >= self._most_connections:
            raise TooMany
        self._connections += 1
        try:
            yield
        finally:
            self._connections -= 1

    def begin(self, wake: Wake, end: Callable[[], None]) -> ClientStream:
        """Return a new stream for a connection. Raises TooMany."""
        if len(self._kept) >= self._most_streams:
            waiting = [kept for kept in self._kept.values() if kept.end is None]
            if not waiting:
                raise TooMany
            self._forget(min(waiting, key=lambda kept: kept.lost_at))
        stream = ClientStream(self._new_id(), self.boards)
        stream.wake = wake
        self._kept[stream.id] = _Kept(stream, end)
        return stream

    def resume(self, stream_id: str, seq: int, wake: Wake, end: Callable[[], None]) -> ClientStream:
        """Return the stream, to continue after message `seq`. If another connection still has the stream, that
        connection is ended.

        Raises CannotResume.
        """
        kept = self._kept.get(stream_id)
        if kept is None:
            raise CannotResume(sentences.STREAM_UNKNOWN)
        try:
            kept.stream.resume(seq)
        except ValueError as error:
            raise CannotResume(sentences.SEQ_NOT_SENT) from error
        if kept.end is not None and kept.end != end:
            kept.end()
        kept.end, kept.stream.wake = end, wake
        wake()
        return kept.stream

    def lose(self, stream: ClientStream, end: Callable[[], None], now: float) -> None:
        """Keep a stream whose connection (known by its `end`) is over; forget it if nothing was subscribed."""
        kept = self._kept.get(stream.id)
        if kept is None or kept.end != end:
            return  # forgotten, or resumed elsewhere
        kept.end, kept.lost_at, kept.stream.wake = None, now, _nothing
        if not stream.begun:
            self._forget(kept)

    def expire(self, now: float) -> None:
        """Forget streams that have had no connection for too long."""
        for kept in tuple(self._kept.values()):
            if kept.end is None and now - kept.lost_at > KEPT_SECONDS:
                self._forget(kept)

    def figures(self) -> Figures:
        waiting = sum(kept.end is None for kept in self._kept.values())
        return Figures(self._connections, len(self._kept), waiting, len(self.boards.quotes))

    def _forget(self, kept: _Kept) -> None:
        kept.stream.close()
        del self._kept[kept.stream.id]


def _nothing() -> None:
    """There is no connection to wake."""
