"""One HTTP/1.1 exchange without I/O: the bytes of a request, and the reading of its answer as bytes come in.

No socket and no pool here; `rest.py` and `websocket.py` feed it. The framing rules (content-length, chunked,
close-delimited, informational answers) are h11's; the decoding of the body's content encoding is ours, piece by piece,
so that a large file never holds up the loop.
"""

import io
import zlib
from urllib.parse import SplitResult

import h11

from onebroker.brokers.requests import WireRequest, WireResponse

MOST_HEAD_BYTES = 64 * 1024
"""Status line and headers of an answer; longer ones are refused."""

DEFAULT_HEADERS = {
    "Connection": "keep-alive",
    "Accept": "*/*",
    "Accept-Encoding": "gzip, deflate",
    "User-Agent": "onebroker",
}
"""Sent where the request does not say otherwise."""

METHODS_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
"""They state their length even when it is 0."""


class BrokenAnswer(Exception):
    """The bytes are not one whole HTTP answer."""


class BodyDecoder:
    """Undoes one content coding, piece by piece; raises `BrokenAnswer` on corrupt data."""

    def __init__(self, coding: str) -> None:
        # 32 + MAX_WBITS tells gzip and zlib apart by their first bytes.
        self._coding = coding
        self._zlib = zlib.decompressobj(32 + zlib.MAX_WBITS)
        self._started = False

    def feed(self, data: bytes) -> bytes:
        """Return what `data` decodes to."""
        decoded = b""
        while data:
            decoded += self._decompress(data)
            data = self._zlib.unused_data
            if data:  # gzip allows several members in a row (RFC 1952 section 2.2)
                self._zlib = zlib.decompressobj(32 + zlib.MAX_WBITS)
        return decoded

    def finish(self) -> None:
        """Raise when the data was cut short. An empty body is whole (answers to HEAD, 204, 304)."""
        if self._started and not self._zlib.eof:
            raise BrokenAnswer(f"the {self._coding} body ends too early")

    def _decompress(self, data: bytes) -> bytes:
        first, self._started = not self._started, True
        try:
            return self._zlib.decompress(data)
        except zlib.error as error:
            if not (first and self._coding == "deflate"):
                raise BrokenAnswer(f"the {self._coding} body is corrupt") from error
        # Many servers mean raw deflate when they say "deflate" (RFC 9110 section 8.4.1.2).
        self._zlib = zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            return self._zlib.decompress(data)
        except zlib.error as error:
            raise BrokenAnswer("the deflate body is corrupt") from error


def body_decoders(content_encoding: str) -> list[BodyDecoder]:
    """Return decoders for a Content-Encoding value, in the order they are to be applied; raise `BrokenAnswer`."""
    codings = [coding.strip().lower() for coding in content_encoding.split(",")]
    wanted = [coding.removeprefix("x-") for coding in codings if coding not in {"", "identity"}]
    unknown = [coding for coding in wanted if coding not in {"gzip", "deflate"}]
    if unknown:
        raise BrokenAnswer(f"the body is encoded as {unknown[0]}, which was not asked for")
    return [BodyDecoder(coding) for coding in reversed(wanted)]


class Exchange:
    """One request and the reading of its one answer."""

    def __init__(self, most_body_bytes: int) -> None:
        self._h11 = h11.Connection(h11.CLIENT, max_incomplete_event_size=MOST_HEAD_BYTES)
        self._most_body_bytes = most_body_bytes
        self._response: h11.Response | None = None
        self._decoders: list[BodyDecoder] = []
        self._body = io.BytesIO()  # grows in place: joining pieces of a large file would hold up the loop
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

    def receive(self, data: bytes) -> WireResponse | None:
        """Take bytes off the wire (b"" = the peer has closed); return the answer once it is whole.

        Raises `BrokenAnswer`, also when the peer closed before the answer was whole.
        """
        self._peer_closed = self._peer_closed or not data
        try:
            self._h11.receive_data(data)
            while True:
                event = self._h11.next_event()
                if event is h11.NEED_DATA:
                    return None
                if isinstance(event, h11.EndOfMessage):
                    return self._whole()
                self._take(event)
        except h11.RemoteProtocolError as error:
            raise BrokenAnswer("the answer is not HTTP, or ends too early") from error

    @property
    def body_bytes(self) -> int:
        """How much of the body has come, decoded."""
        return self._body.tell()

    @property
    def reusable(self) -> bool:
        """Whether the connection may carry another request: both sides are done and there, nothing is left over."""
        done = self._h11.our_state is h11.DONE and self._h11.their_state is h11.DONE
        return done and not self._peer_closed and not self._h11.trailing_data[0]

    def _take(self, event: object) -> None:
        match event:
            case h11.InformationalResponse():
                pass  # 100 or 103: the answer proper follows
            case h11.Response():
                self._response = event
                self._decoders = body_decoders(_combined(event).get("content-encoding", ""))
            case h11.Data():
                piece = bytes(event.data)
                for decoder in self._decoders:
                    piece = decoder.feed(piece)
                self._keep(piece)
            case _:  # ConnectionClosed, or PAUSED after a 101 nobody asked for
                raise BrokenAnswer("the peer closed without an answer")

    def _keep(self, piece: bytes) -> None:
        if self.body_bytes + len(piece) > self._most_body_bytes:
            raise BrokenAnswer(f"the answer is larger than {self._most_body_bytes} bytes")
        self._body.write(piece)

    def _whole(self) -> WireResponse:
        if self._response is None:
            raise BrokenAnswer("the peer closed without an answer")
        for decoder in self._decoders:
            decoder.finish()
        return WireResponse(
            status=self._response.status_code, headers=_combined(self._response), body=self._body.getvalue()
        )


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
