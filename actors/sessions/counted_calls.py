"""Calls to a broker other than orders: each call is counted in the budget before it is sent. Also drives a codec's sans-IO flow (a login, a
stream address) with these calls."""

from collections.abc import Generator
from typing import TypeVar

from onebroker.brokers.codec.contained import contained
from onebroker.brokers.requests import BrokerError, BrokerRefusal, CallKind, RefusalKind, WireRequest, WireResponse
from onebroker.brokers.transport.budget import BudgetFull, Moment, Place
from onebroker.brokers.transport.budget_gate import BudgetGate
from onebroker.brokers.transport.interface import Transport
from onebroker.brokers.transport.priorities import Priority
from onebroker.config.clock import Clock

T = TypeVar("T")

ROOM_SECONDS = 120.0
"""A call waits this long for room in the call budget."""
LOGIN_PRIORITY = Priority.EXIT
"""The priority of the calls that make, renew or prove a login. Until the login is proved, nothing leaves, not even a cancel. So these calls
may use the share of the call budget that reads leave to exits."""
RATE_LIMIT_PAUSE_SECONDS = 1.0
"""After a broker's own "too many requests", its window is closed for this long (order-engine 4.5)."""


class NoRoom(BrokerError):
    """The call budget had no room; nothing was sent."""


class Caller:
    """Sends calls other than orders, inside one broker's budget. Repeats nothing."""

    def __init__(self, transport: Transport, gate: BudgetGate, clock: Clock) -> None:
        self._transport = transport
        self._gate = gate
        self._clock = clock

    async def call(
        self,
        request: WireRequest,
        timeout_seconds: float,
        *,
        room_seconds: float = ROOM_SECONDS,
        priority: Priority = Priority.READ,
    ) -> WireResponse:
        """Wait for room, send, return the answer. Raises NoRoom and what the transport raises."""
        place = await self.room(request.kind, priority, room_seconds=room_seconds)
        return await self.send(request, place, timeout_seconds)

    async def room(self, kind: CallKind, priority: Priority, *, room_seconds: float = ROOM_SECONDS) -> Place:
        """Wait for room for a call that the caller then sends at once. Raises NoRoom."""
        try:
            return await self._gate.acquire(kind, priority, self._clock.monotonic() + room_seconds)
        except BudgetFull as full:
            raise NoRoom("the broker's call budget is full") from full

    async def send(self, request: WireRequest, place: Place, timeout_seconds: float) -> WireResponse:
        """Send a call that already has its room, and return the answer. Raises what the transport raises."""
        response = await self._transport.send(request.leaving(self._clock.now()), timeout_seconds)
        self._gate.landed(place)
        return response

    def scarce(self) -> bool:
        """Tell whether calls are running short, so that reads should be spaced out."""
        return self._gate.budget.scarce(Moment.of(self._clock))

    def heed(self, error: BrokerError) -> None:
        """Pause the broker's calls when it said "too many requests"."""
        if isinstance(error, BrokerRefusal) and error.kind is RefusalKind.RATE_LIMITED:
            self._gate.close_for(RATE_LIMIT_PAUSE_SECONDS)

    async def drive(
        self,
        flow: Generator[WireRequest, WireResponse, T],
        timeout_seconds: float,
        *,
        priority: Priority = Priority.READ,
    ) -> T:
        """Send each request of `flow`, pass the answer back to the flow, and return its result. `timeout_seconds` is per request.

        Raises what the calls and the flow raise (BrokerError, ValueError). Any other error of a flow becomes a BrokerError.
        """
        try:
            with contained(ValueError):
                return await self._driven(flow, timeout_seconds, priority)
        except BrokerError as error:
            self.heed(error)
            raise
        finally:
            flow.close()

    async def _driven(
        self, flow: Generator[WireRequest, WireResponse, T], timeout_seconds: float, priority: Priority
    ) -> T:
        try:
            request = next(flow)
            while True:
                try:
                    answer = await self.call(request, timeout_seconds, priority=priority)
                except BrokerError as error:
                    request = flow.throw(error)  # a flow may have another way
                else:
                    request = flow.send(answer)
        except StopIteration as stop:
            result: T = stop.value
            return result
