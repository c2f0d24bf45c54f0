"""Compression of published bodies with gzip, for clients that accept it: the five documents and the pages that describe the API.

A body is compressed once for each publication, when the first client asks for it. That takes processor time, so it runs in a worker thread; zlib
lets the loop's thread run meanwhile. Answers that are made for one request are sent as they are, that of connect too: a secret beside text that a
stranger chooses can be read from a compressed length.
"""

import gzip

import trio
from quart import Request
from quart.wrappers import Response
from werkzeug.http import parse_accept_header

from onebroker.http import render

LEAST_BYTES = 4 * 1024
"""A shorter body is sent as it is: it fits a few packets."""
LEVEL = 3
"""Of 1 to 9: see bench/bench_packing.py."""
MOST_KEPT = 10
"""The five documents, `/openapi.json`, `/asyncapi.json`, `/docs`, and the two files of Swagger UI."""


def accepts_gzip(accept_encoding: str | None) -> bool:
    """Tell whether the header `Accept-Encoding` allows gzip. Without the header a body is sent as it is."""
    return accept_encoding is not None and parse_accept_header(accept_encoding).quality("gzip") > 0


class Packing:
    """The compressed forms of published bodies."""

    def __init__(self) -> None:
        self._kept: dict[int, tuple[bytes, bytes]] = {}
        """Identity of a body -> the body, which keeps its identity its own, and its compressed form. The oldest gives way."""
        self._turn = trio.Lock()

    def ready(self, body: bytes) -> bytes | None:
        """Return the compressed form of a body; None: nobody has asked for it yet."""
        kept = self._kept.get(id(body))
        return None if kept is None else kept[1]

    async def packed(self, body: bytes) -> bytes:
        """Return the compressed form of a body. Requests that come while it is made wait for it."""
        async with self._turn:
            packed = self.ready(body)
            if packed is None:
                packed = await trio.to_thread.run_sync(_pack, body)
                if len(self._kept) >= MOST_KEPT:
                    del self._kept[next(iter(self._kept))]
                self._kept[id(body)] = body, packed
            return packed


def _pack(body: bytes) -> bytes:
    return gzip.compress(body, LEVEL, mtime=0)


async def published_answer(
    request: Request, packing: Packing, body: bytes, content_type: str = render.JSON
) -> Response:
    """Return a published body, compressed when it is long and the client accepts that."""
    if len(body) < LEAST_BYTES or not accepts_gzip(request.headers.get("Accept-Encoding")):
        return render.plain_answer(body, content_type)
    answer = render.plain_answer(await packing.packed(body), content_type)
    answer.headers["Content-Encoding"] = "gzip"
    return answer
