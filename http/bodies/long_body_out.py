"""Sends one JSON array in chunks of about 64 KB (rules 1.1.5): for answers too long to hold.

The first chunk decides the status: an error before it is an ordinary failure. A later error ends the array early with
status 200, and the client checks the count. If the client disconnects, the source is closed at once.
"""

import logging
from collections.abc import AsyncGenerator

from quart.wrappers import Response

from onebroker.http import render

CHUNK_BYTES = 64 * 1024

_log = logging.getLogger("onebroker.http.bodies.long_body_out")


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
    chunks = _array(rows, failures, opening, closing, chunk_bytes)
    first = await anext(chunks)
    response = Response(_resumed(first, chunks), status=200, content_type=render.JSON)
    response.headers["Cache-Control"] = "no-store"
    return response


async def _array(
    rows: AsyncGenerator[bytes, None],
    failures: tuple[type[Exception], ...],
    opening: bytes,
    closing: bytes,
    chunk_bytes: int,
) -> AsyncGenerator[bytes, None]:
    buffer = bytearray(opening)
    separator, started = b"", False
    try:
        async for row in rows:
            buffer += separator + row
            separator = b","
            while len(buffer) >= chunk_bytes:
                started = True
                yield bytes(buffer[:chunk_bytes])
                del buffer[:chunk_bytes]
    except failures as error:
        if not started:
            raise
        _log.warning("a stream ended early: %s", error)
    finally:
        await rows.aclose()
    yield bytes(buffer + closing)


async def _resumed(first: bytes, rest: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    try:
        yield first
        async for chunk in rest:
            yield chunk
    finally:
        await rest.aclose()
