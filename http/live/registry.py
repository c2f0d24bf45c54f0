"""The streams of all clients: with a connection, or without one for up to `KEPT_SECONDS`. No waiting; `now` is monotonic."""

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import attrs
import trio

from onebroker.config.messages import stream as sentences
from onebroker.http.live.boards import Wake
from onebroker.http.live.client_stream import Boards, ClientStream

KEPT_SECONDS = 60.0
"""How long a stream without a connection waits to be resumed."""
MOST_STREAMS = 100
"""With a connection or without; of those without, the one that lost it first gives way."""
MOST_CONNECTIONS = 200
"""Open sockets that have shown their token."""
MOST_STRANGERS = 20
"""Open sockets that have not shown their token yet; the oldest gives way, so that nobody without one keeps others out."""


class TooMany(Exception):
    """Nothing more can be taken."""


class CannotResume(Exception):
    """A stream is not continued; the text says why."""


@attrs.define(eq=False)
class _Kept:
    stream: ClientStream
    end: Callable[[], None] | None = None
    """Ends the connection that has it; None = it has none."""
    lost_at: float = 0.0


@attrs.frozen
class Figures:
    """What health and metrics show."""

    connections: int
    streams: int
    waiting: int
    """Streams without a connection."""
    instruments: int
    """Different ones that are subscribed."""


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
        """Held by a connection that makes a message: a change that concerns all clients is told to one after the other, and
        everything else in the process runs in between."""

    @contextmanager
    def stranger(self) -> Iterator[trio.CancelScope]:
        """Count an open socket while its token is waited for; the wait is cancelled when it has to give way."""
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
        """Return the stream, to go on after message `seq`; another connection that still has it is ended.

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
        """Keep a stream whose connection (known by its `end`) is over; one that nothing was asked of is forgotten."""
        kept = self._kept.get(stream.id)
        if kept is None or kept.end != end:
            return  # forgotten, or resumed elsewhere
        kept.end, kept.lost_at, kept.stream.wake = None, now, _nothing
        if not stream.begun:
            self._forget(kept)

    def expire(self, now: float) -> None:
        """Forget streams that were without a connection for too long."""
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
    """Nobody is there to be woken."""
