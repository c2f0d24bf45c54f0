"""One HTTP/1.1 exchange without I/O: makes the bytes of a request, and reads its answer as the bytes arrive.

This module has no socket and no pool; `rest.py` and `websocket.py` feed it. h11 applies the framing rules
(content-length, chunked, close-delimited, informational answers). We decode the body's content encoding ourselves. The
body is yielded in pieces and never joined here, so that a large file never blocks the loop.
"""

import zlib
from collections.abc import Iterator
from itertools import chain
from urllib.parse import SplitResult

import h11

from onebroker.brokers.requests import WireRequest, WireResponse

MOST_HEAD_BYTES = 64 * 1024
"""Limit for the status line and headers of an answer; larger ones are refused."""

PIECE_BYTES = 32 * 1024
"""Most bytes decoded at a time: well packed data can decode to a thousand times its length."""

DEFAULT_HEADERS = {
    "Connection": "keep-alive",
    "Accept": "*/*",
    "Accept-Encoding": "gzip, deflate",
    "User-Agent": "onebroker",
}
"""Sent unless the request gives its own value."""

METHODS_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
"""Requests of these methods state their body length even when it is 0."""


class BrokenAnswer(Exception):
    """The bytes are not one complete HTTP answer."""


class BodyDecoder:
    """Decodes one content coding, piece by piece; raises `BrokenAnswer` on corrupt data."""

    def __init__(self, coding: str) -> None:
        # 32 + MAX_WBITS tells gzip and zlib apart by their first bytes.
        self._coding = coding
        self._zlib = zlib.decompressobj(32 + zlib.MAX_WBITS)
        self._started = False
        self._held = b""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the decoded `data` in pieces of at most `PIECE_BYTES`. The caller must read the iterator to its end."""
        data, self._held = self._held + data, b""
        if not self._started and len(data) == 1:  # gzip and zlib differ in the first two bytes
            self._held = data
            return
        piece = b""
        while data or len(piece) == PIECE_BYTES:  # after a full piece, zlib itself may hold more
            piece = self._decompress(data)
            data = self._zlib.unconsumed_tail or self._zlib.unused_data
            if self._zlib.unused_data:  # gzip allows several members in a row (RFC 1952 section 2.2)
                self._zlib = zlib.decompressobj(32 + zlib.MAX_WBITS)
            if piece:
                yield piece

    def finish(self) -> None:
        """Raise when the data was cut short. An empty body is complete (answers to HEAD, 204, 304)."""
        if self._held or (self._started and not self._zlib.eof):
            raise BrokenAnswer(f"the {self._coding} body ends too early")

    def _decompress(self, data: bytes) -> bytes:
        first, self._started = not self._started, True
        try:
            return self._zlib.decompress(data, PIECE_BYTES)
        except zlib.error as error:
            if not (first and self._coding == "deflate"):
                raise BrokenAnswer(f"the {self._coding} body is corrupt") from error
        # Many servers mean raw deflate when they say "deflate" (RFC 9110 section 8.4.1.2).
        self._zlib = zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            return self._zlib.decompress(data, PIECE_BYTES)
        except zlib.error as error:
            raise BrokenAnswer("the deflate body is corrupt") from error


def body_decoders(content_encoding: str) -> list[BodyDecoder]:
    """Return the decoders for a Content-Encoding value, in the order in which to apply them; raise `BrokenAnswer`."""
    codings = [coding.strip().lower() for coding in content_encoding.split(",")]
    wanted = [coding.removeprefix("x-") for coding in codings if coding not in {"", "identity"}]
    unknown = [coding for coding in wanted if coding not in {"gzip", "deflate"}]
    if unknown:
        raise BrokenAnswer(f"the body is encoded as {unknown[0]}, which was not asked for")
    return [BodyDecoder(coding) for coding in reversed(wanted)]


class Exchange:
    """One request and the reading of its answer."""

    def __init__(self, most_body_bytes: int) -> None:
        self._h11 = h11.Connection(h11.CLIENT, max_incomplete_event_size=MOST_HEAD_BYTES)
        self._most_body_bytes = most_body_bytes
        self._body_bytes = 0
        self._response: h11.Response | None = None
        self._decoders: list[BodyDecoder] = []
        self._whole = False
        self._peer_closed = False

    def request_bytes(self, request: WireRequest, address: SplitResult) -> bytes:
        """Return the whole request as it goes onto the wire.

        Raises ValueError (without any part of the request in its text) when it cannot be written as HTTP.
        """
        target = (address.path or "/") + (f"?{address.query}" if address.query else "")
        try:
            head = h11.Request(
                method=request.method.upper().encode("ascii"),
                target=target.encode("ascii"),
                headers=_headers(request, address.netloc.rpartition("@")[2]),
            )
            data = self._h11.send(head) or b""
            if request.body:
                data += self._h11.send(h11.Data(data=request.body)) or b""
            return data + (self._h11.send(h11.EndOfMessage()) or b"")
        except (h11.LocalProtocolError, UnicodeError):
            # h11 quotes the offending header, which may be a token.
            raise ValueError("the request cannot be written as HTTP") from None

    def receive(self, data: bytes) -> Iterator[bytes]:
        """Take bytes from the wire (b"" = the peer has closed) and yield the body in them, decoded. The pieces of an
        encoded body have at most `PIECE_BYTES`. Nothing is taken until the caller reads the iterator, which it must read
        to the end.

        Raises `BrokenAnswer`, also when the peer closed before the answer was complete.
        """
        self._peer_closed = self._peer_closed or not data
        try:
            self._h11.receive_data(data)
            while (event := self._h11.next_event()) is not h11.NEED_DATA:
                if isinstance(event, h11.EndOfMessage):
                    self._end()
                    return
                yield from self._take(event)
        except h11.RemoteProtocolError as error:
            raise BrokenAnswer("the answer is not HTTP, or ends too early") from error

    @property
    def whole(self) -> bool:
        """Whether the answer is complete."""
        return self._whole

    def answer(self, body: bytes) -> WireResponse:
        """Return the answer with the `body` joined from its pieces; raise `BrokenAnswer` unless it is complete."""
        if self._response is None or not self._whole:
            raise BrokenAnswer("the peer closed without an answer")
        return WireResponse(status=self._response.status_code, headers=_combined(self._response), body=body)

    @property
    def reusable(self) -> bool:
        """Whether the connection may carry another request: both sides are done and still connected, and no bytes are left over."""
        done = self._h11.our_state is h11.DONE and self._h11.their_state is h11.DONE
        return done and not self._peer_closed and not self._h11.trailing_data[0]

    def _take(self, event: object) -> Iterator[bytes]:
        match event:
            case h11.InformationalResponse():
                pass  # 100 or 103: the final answer follows
            case h11.Response():
                self._response = event
                self._decoders = body_decoders(_combined(event).get("content-encoding", ""))
            case h11.Data():
                for piece in self._decoded(bytes(event.data)):
                    self._body_bytes += len(piece)
                    if self._body_bytes > self._most_body_bytes:
                        raise BrokenAnswer(f"the answer is larger than {self._most_body_bytes} bytes")
                    yield piece
            case _:  # ConnectionClosed, or PAUSED after a 101 nobody asked for
                raise BrokenAnswer("the peer closed without an answer")

    def _decoded(self, data: bytes) -> Iterator[bytes]:
        pieces: Iterator[bytes] = iter((data,))
        for decoder in self._decoders:
            pieces = chain.from_iterable(map(decoder.feed, pieces))
        return pieces

    def _end(self) -> None:
        if self._response is None:
            raise BrokenAnswer("the peer closed without an answer")
        for decoder in self._decoders:
            decoder.finish()
        self._whole = True


def _headers(request: WireRequest, host: str) -> list[tuple[bytes, bytes]]:
    given = {name.lower() for name in request.headers}
    headers = [("Host", host)] if "host" not in given else []
    headers += [(name, value) for name, value in request.headers.items() if name.lower() != "content-length"]
    headers += [(name, value) for name, value in DEFAULT_HEADERS.items() if name.lower() not in given]
    if request.body or request.method.upper() in METHODS_WITH_BODY:
        headers.append(("Content-Length", str(len(request.body))))
    return [(name.encode("ascii"), value.encode("latin-1")) for name, value in headers]


def _combined(response: h11.Response) -> dict[str, str]:
    """Lower-case names; a repeated header becomes one value joined by commas (RFC 9110 section 5.3)."""
    headers: dict[str, str] = {}
    for raw_name, raw_value in response.headers:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers
