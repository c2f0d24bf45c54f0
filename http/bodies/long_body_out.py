"""Sends one JSON array in chunks of about 64 KB (rules 1.1.5): for answers too long to hold.

The first chunk decides the status: an error before it is an ordinary failure. A later error ends the array early with
status 200, and the client checks the count. If the client disconnects, the source is closed at once.

The source works ahead in a task of its own: while one piece is sent, the next one is made. A client that reads slowly
holds up the source: at most one piece waits.
"""

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from types import TracebackType
from typing import TypeAlias

import trio
from quart.wrappers import Response
from quart.wrappers.response import ResponseBody

from onebroker.http import render

CHUNK_BYTES = 64 * 1024

_log = logging.getLogger("onebroker.http.bodies.long_body_out")

Piece: TypeAlias = Sequence[bytes]
"""Successive parts of the body, together a chunk or longer; only the last piece may be shorter."""


async def array_answer(
    rows: AsyncGenerator[bytes, None],
    *,
    failures: tuple[type[Exception], ...],
    opening: bytes = b"[",
    closing: bytes = b"]",
    chunk_bytes: int = CHUNK_BYTES,
) -> Response:
    """Return the answer that streams `rows` (each one or more JSON values, joined by commas) as one array.

    `opening` and `closing` surround the values, where the array is inside an object. Raises what `rows` raises before
    the first chunk is full. After that, the errors of the source listed in `failures` end the array early; any other
    error breaks the connection.
    """
    pieces = _pieces(rows, failures, opening, closing, chunk_bytes)
    first = await anext(pieces)
    response = Response(_MadeAhead(first, pieces, chunk_bytes), status=200, content_type=render.JSON)
    response.headers["Cache-Control"] = "no-store"
    return response


async def _pieces(
    rows: AsyncGenerator[bytes, None],
    failures: tuple[type[Exception], ...],
    opening: bytes,
    closing: bytes,
    least_bytes: int,
) -> AsyncGenerator[Piece, None]:
    parts, size = [opening], len(opening)
    separator, started = b"", False
    try:
        async for row in rows:
            parts += (separator, row)
            size += len(separator) + len(row)
            separator = b","
            if size >= least_bytes:
                started = True
                yield parts
                parts, size = [], 0
    except failures as error:
        if not started:
            raise
        _log.warning("a stream ended early: %s", error)
    finally:
        await rows.aclose()
    yield (*parts, closing)


class _MadeAhead(ResponseBody):
    """The body of an answer: sends the pieces while a task makes the next one. The server enters it once, and leaves it when the client is gone."""

    _nursery: AbstractAsyncContextManager[trio.Nursery]
    _sent: AsyncGenerator[bytes, None]

    def __init__(self, first: Piece, rest: AsyncGenerator[Piece, None], chunk_bytes: int) -> None:
        self._first = first
        self._rest = rest
        self._chunk_bytes = chunk_bytes
        self._making = trio.CancelScope()

    async def __aenter__(self) -> AsyncIterator[bytes]:
        self._nursery = trio.open_nursery()
        nursery = await self._nursery.__aenter__()
        ready, made = trio.open_memory_channel[Piece](0)
        nursery.start_soon(self._make, ready)
        self._sent = self._chunks(made)
        return self._sent

    async def __aexit__(
        self, exc_type: type[BaseException], exc_value: BaseException, traceback: TracebackType
    ) -> None:
        self._making.cancel()
        await self._sent.aclose()
        await self._nursery.__aexit__(exc_type, exc_value, traceback)

    async def _make(self, ready: trio.MemorySendChannel[Piece]) -> None:
        with self._making:
            async with ready, aclosing(self._rest) as pieces:
                async for piece in pieces:
                    await ready.send(piece)

    async def _chunks(self, made: trio.MemoryReceiveChannel[Piece]) -> AsyncGenerator[bytes, None]:
        held = bytearray()
        """The beginning of the next chunk."""
        piece: Piece | None = self._first
        self._first = ()
        while piece is not None:
            for part in piece:
                rest = memoryview(part)
                while len(held) + len(rest) >= self._chunk_bytes:
                    missing = self._chunk_bytes - len(held)
                    yield b"".join((held, rest[:missing]))
                    held, rest = bytearray(), rest[missing:]
                held += rest
            piece = await anext(made, None)
        if held:
            yield bytes(held)
