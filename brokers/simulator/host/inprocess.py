"""Dialects without sockets: a `Transport` that hands requests and frames straight to a simulator in the same process.

For trading days under trio's MockClock. The faults are those of the host: they refuse, cut and garble here in the same way. Addresses begin with
`base_of(code)`, just as a dialect's `addresses` builds them from the host's base.
"""

from collections.abc import Mapping
from types import TracebackType
from typing import Self
from urllib.parse import urljoin, urlsplit

import attrs
import trio

from onebroker.brokers.requests import NotSent, OutcomeUnknown, StreamAddress, WireRequest, WireResponse
from onebroker.brokers.simulator.dialects.dialect import DialectRequest
from onebroker.brokers.simulator.host.gateway import Closing, Gateway, Outbox
from onebroker.brokers.simulator.host.server import dialect_request
from onebroker.brokers.simulator.host.simulation import Simulator
from onebroker.brokers.transport.interface import FrameStream, StreamClosed, StreamRefusedHandshake, handed_on

_MOST_REDIRECTS = 5
_CUT = 1006


def base_of(code: str) -> str:
    """Return the base address under which a broker's dialect is reached in-process."""
    return f"http://{code}.simulator"


class InProcessTransport:
    """Implements `Transport` over the gateways of a simulator."""

    def __init__(self, simulator: Simulator) -> None:
        self._gateways: Mapping[str, Gateway] = {
            urlsplit(base_of(code)).netloc: gateway for code, gateway in simulator.gateways.items()
        }
        self._streams: list[InProcessStream] = []
        self._closed = False

    async def send(self, request: WireRequest, timeout_seconds: float) -> WireResponse:
        gateway = self._reach(request.url)
        if request.on_departure is not None:
            request.on_departure()
        answer = None
        with trio.move_on_after(timeout_seconds):
            answer = await gateway.handle(_dialect_request(request.method, request.url, request.headers, request.body))
            await trio.lowlevel.checkpoint()
        if answer is None:
            raise OutcomeUnknown("no answer in time")
        if answer.response is None:
            raise OutcomeUnknown("the connection was cut before the answer")
        response = answer.response
        headers = {name.lower(): value for name, value in response.headers.items()}
        return await handed_on(request, attrs.evolve(response, headers=headers))

    async def connect(self, address: StreamAddress, timeout_seconds: float) -> FrameStream:
        url = address.url
        await trio.lowlevel.checkpoint()
        for _ in range(_MOST_REDIRECTS):
            gateway = self._reach(url)
            opened = gateway.open_socket(_dialect_request("GET", url, address.headers, b""))
            if isinstance(opened, Outbox):
                stream = InProcessStream(gateway, opened)
                self._streams.append(stream)
                return stream
            target = {name.lower(): value for name, value in opened.headers.items()}.get("location")
            if opened.status not in (301, 302, 303, 307, 308) or target is None:
                raise StreamRefusedHandshake(opened.status, opened.body)
            url = urljoin(url, target)
        raise NotSent("too many redirects")

    async def aclose(self) -> None:
        self._closed = True
        for stream in self._streams:
            await stream.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    def _reach(self, url: str) -> Gateway:
        gateway = self._gateways.get(urlsplit(url).netloc)
        if self._closed or gateway is None or gateway.refuse_once():
            raise NotSent("the connection was refused")
        return gateway


class InProcessStream:
    """Implements `FrameStream` on a dialect's outbox."""

    def __init__(self, gateway: Gateway, outbox: Outbox) -> None:
        self._gateway, self._outbox = gateway, outbox
        self._ended: tuple[int, str] | None = None

    async def send(self, frame: bytes | str) -> None:
        await trio.lowlevel.checkpoint()
        if self._ended is not None or self._outbox.gone:
            raise StreamClosed(*(self._ended or (_CUT, "")))
        self._gateway.received(self._outbox, frame)

    async def receive(self) -> bytes | str:
        if self._ended is None:
            try:
                frame = await self._outbox.frames.receive()
            except (trio.EndOfChannel, trio.ClosedResourceError):
                self._end(_CUT, "")
            else:
                if not isinstance(frame, Closing):
                    return frame
                self._end(frame.code, frame.reason)
        raise StreamClosed(*(self._ended or (_CUT, "")))

    async def ping(self, within_seconds: float) -> None:
        """Succeeds while the stream is open: a host answers pings whatever its dialect does."""
        await trio.lowlevel.checkpoint()
        if self._ended is not None or self._outbox.gone:
            raise StreamClosed(*(self._ended or (_CUT, "")))

    async def aclose(self) -> None:
        self._end(1000, "")
        await trio.lowlevel.checkpoint()

    def _end(self, code: int, reason: str) -> None:
        if self._ended is None:
            self._ended = (code, reason)
            self._gateway.closed(self._outbox)


def _dialect_request(method: str, url: str, headers: Mapping[str, str], body: bytes) -> DialectRequest:
    parts = urlsplit(url)
    scheme = {"ws": "http", "wss": "https"}.get(parts.scheme, parts.scheme)
    target = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
    lower = {name.lower(): value for name, value in headers.items()}
    return dialect_request(method, f"{scheme}://{parts.netloc}", target, {"host": parts.netloc, **lower}, body)
