"""Driving a codec's sans-IO flow (a login, a stream address) over a transport."""

from collections.abc import Generator
from typing import TypeVar

from onebroker.brokers.requests import WireRequest, WireResponse
from onebroker.brokers.transport.interface import Transport

T = TypeVar("T")


async def drive(flow: Generator[WireRequest, WireResponse, T], transport: Transport, timeout_seconds: float) -> T:
    """Send each request of `flow`, hand it the answer, return its result; `timeout_seconds` is per request.

    Raises what the transport and the flow raise (BrokerError, ValueError).
    """
    try:
        request = next(flow)
        while True:
            request = flow.send(await transport.send(request, timeout_seconds))
    except StopIteration as stop:
        result: T = stop.value
        return result
    finally:
        flow.close()
