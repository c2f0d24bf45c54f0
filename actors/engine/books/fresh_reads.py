"""Waits until a broker's book has been read after a given moment: a fresh read, as order-engine 0 defines it."""

from collections.abc import Callable
from typing import Literal

import trio

from onebroker.actors.engine.context.engine_context import SessionHandle
from onebroker.actors.sessions.messages import ReadSoon
from onebroker.actors.sessions.session_view import SessionView

Read = Literal["orders", "positions", "holdings"]

OK_SECONDS = 60.0
"""A book older than this is stale (rules 2.2.4)."""
_STARTED: dict[Read, Callable[[SessionView], float | None]] = {
    "orders": lambda view: view.orders_read_started,
    "positions": lambda view: view.positions_read_started,
    "holdings": lambda view: view.holdings_read_started,
}


def read_soon(handle: SessionHandle, resource: Read | Literal["trades"]) -> None:
    """Ask for a read as soon as the read budget allows."""
    handle.address.replace(f"{resource} soon", ReadSoon(resource))


def began(view: SessionView, resource: Read) -> float | None:
    """Return when the last good read began (monotonic seconds)."""
    return _STARTED[resource](view)


def is_ok(view: SessionView, resource: Read, now: float) -> bool:
    """Whether the book held now was read within the last minute, and the last read did not fail."""
    started = began(view, resource)
    return started is not None and resource not in view.read_errors and is_recent(started, now)


def is_recent(started: float, now: float) -> bool:
    """Whether a read that began at `started` (monotonic seconds) is not stale."""
    return now - started <= OK_SECONDS


async def orders_read_after(handle: SessionHandle, moment: float, seconds: float) -> bool:
    """Wait at most `seconds` for an order book whose read began at `moment` or later (monotonic seconds)."""
    return await read_after(handle, "orders", moment, seconds)


async def read_after(handle: SessionHandle, resource: Read, moment: float, seconds: float) -> bool:
    """Ask for a read of a resource and wait at most `seconds` for a good read that began at `moment` or later."""
    with trio.move_on_after(seconds):
        while True:
            version = handle.view.version
            started = began(handle.view.value, resource)
            if started is not None and started >= moment:
                return True
            read_soon(handle, resource)
            await handle.view.wait_newer(version)
    return False
