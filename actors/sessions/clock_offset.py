"""How far a broker's clock and this machine's are apart, as the `Date` of its HTTP answers tells.

A `Date` has whole seconds and was written some time between the request and its answer, so it tells bounds: what lies within them is
no difference. Answers out of a cache (`Age`) and files are of another moment.
"""

from collections.abc import Callable
from email.utils import parsedate_to_datetime

from onebroker.brokers.requests import CallKind, StreamAddress, WireRequest, WireResponse
from onebroker.brokers.transport.interface import FrameStream, Transport
from onebroker.config.clock import Clock

DATE_SECONDS = 1.0
"""The fineness of a `Date`."""
QUICK_SECONDS = 1.0
"""An answer that took longer tells of a difference, but does not tell that there is none."""


def ahead_seconds(date: float, received: float, travel_seconds: float) -> float | None:
    """Return by how many seconds the broker's clock is at least ahead of ours (below zero: behind), 0 where no difference can be
    told; None where the answer took too long to tell either.

    `date` and `received` in epoch seconds, `received` and `travel_seconds` by our clocks.
    """
    least = date - received
    most = date + DATE_SECONDS - (received - travel_seconds)
    if least > 0:
        return least
    if most < 0:
        return most
    return 0.0 if travel_seconds <= QUICK_SECONDS else None


class DatedTransport:
    """A broker's transport that tells `heard` what each answer says of its clock (`ahead_seconds`)."""

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
    """Return the moment an answer was written (RFC 9110 section 6.6.1), epoch seconds; None where it does not tell."""
    date = response.headers.get("date")
    if date is None or "age" in response.headers:
        return None
    try:
        return parsedate_to_datetime(date).timestamp()
    except (ValueError, OverflowError):
        return None
