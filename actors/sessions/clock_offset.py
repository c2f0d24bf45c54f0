"""The difference between a broker's clock and this machine's clock, from the `Date` of its HTTP answers.

A `Date` has whole seconds, and the broker wrote it between the request and the answer. So it gives only bounds, and a difference within
the bounds counts as none. Answers from a cache (`Age`) and files belong to another moment and do not count.
"""

from collections.abc import Callable
from email.utils import parsedate_to_datetime

from onebroker.brokers.requests import CallKind, StreamAddress, WireRequest, WireResponse
from onebroker.brokers.transport.interface import FrameStream, Transport
from onebroker.config.clock import Clock

DATE_SECONDS = 1.0
"""The resolution of a `Date`."""
QUICK_SECONDS = 1.0
"""An answer that took longer can prove a difference, but cannot prove that there is none."""


def ahead_seconds(date: float, received: float, travel_seconds: float) -> float | None:
    """Return by how many seconds the broker's clock is at least ahead of ours (below zero: behind). Return 0 when there is no provable
    difference, and None when the answer took too long for either.

    `date` and `received` are in epoch seconds. `received` and `travel_seconds` come from our clocks.
    """
    least = date - received
    most = date + DATE_SECONDS - (received - travel_seconds)
    if least > 0:
        return least
    if most < 0:
        return most
    return 0.0 if travel_seconds <= QUICK_SECONDS else None


class DatedTransport:
    """A broker's transport that passes the `ahead_seconds` of each answer to `heard`."""

    def __init__(self, transport: Transport, clock: Clock, heard: Callable[[float], None]) -> None:
        self._transport = transport
        self._clock = clock
        self._heard = heard

    async def send(self, request: WireRequest, timeout_seconds: float) -> WireResponse:
        """See `interface.Transport`."""
        began = self._clock.monotonic()
        response = await self._transport.send(request, timeout_seconds)
        if request.kind is not CallKind.FILE and (date := _date_of(response)) is not None:
            ahead = ahead_seconds(date, self._clock.epoch(), self._clock.monotonic() - began)
            if ahead is not None:
                self._heard(ahead)
        return response

    async def connect(self, address: StreamAddress, timeout_seconds: float) -> FrameStream:
        """See `interface.Transport`."""
        return await self._transport.connect(address, timeout_seconds)

    async def aclose(self) -> None:
        """See `interface.Transport`."""
        await self._transport.aclose()


def _date_of(response: WireResponse) -> float | None:
    """Return the moment at which the broker wrote the answer (RFC 9110 section 6.6.1), in epoch seconds; None = not known."""
    date = response.headers.get("date")
    if date is None or "age" in response.headers:
        return None
    try:
        return parsedate_to_datetime(date).timestamp()
    except (ValueError, OverflowError):
        return None
