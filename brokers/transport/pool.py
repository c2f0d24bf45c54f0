"""The connections to one server: how many there may be, who may take which, and which are kept for the next request."""

import math
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import attrs
import trio

from onebroker.brokers.requests import CallKind, NotSent
from onebroker.brokers.transport.connections import Connection, Connector, close_connection
from onebroker.brokers.transport.egress import Egress
from onebroker.config.clock import Clock

ORDER_IDLE_SECONDS = 5.0
"""An order message never uses a connection that has been idle for longer (order-engine 2.7). A connection that was opened and never used is
idle since then."""
WARM_SECONDS = 1.5
"""A connection counts as warm while an order message could still use it for this long. `warm` is asked every second."""


@attrs.frozen(kw_only=True)
class RestLimits:
    """Limits for one server (scheme, host, port)."""

    connections: int = 16
    """Most sockets open at once, including idle ones."""
    order_connections: int = 8
    """How many of these only order messages may use, so that slow reads never delay an order."""
    waiting: int = 256
    """Most requests that wait for a connection, counted separately for orders and others; one more is refused at once."""
    answer_bytes: int = 16 * 1024 * 1024
    """Largest decoded body of an answer that is decoded on the loop: a book of 10,000 orders is 10 MB."""
    file_bytes: int = 256 * 1024 * 1024
    """Largest decoded instrument file; real files are tens of megabytes, and go to the disk."""

    def __attrs_post_init__(self) -> None:
        if not 0 < self.order_connections < self.connections:
            raise ValueError("order_connections must be above 0 and below connections")


class Pool:
    """The connections to one server."""

    def __init__(self, server: str, connect: Connector, clock: Clock, limits: RestLimits, egress: Egress) -> None:
        self._server = server
        self._connect = connect
        self._egress = egress
        self._clock = clock
        self._limits = limits
        self._closed = False
        self._idle: deque[Connection] = deque()
        """The last used connection is first."""
        self._order_places = trio.CapacityLimiter(limits.order_connections)
        self._other_places = trio.CapacityLimiter(limits.connections - limits.order_connections)

    @asynccontextmanager
    async def place(self, kind: CallKind) -> AsyncIterator[None]:
        """Hold one of the places for a connection, first come first served; raise `NotSent` when too many requests wait."""
        places = self._order_places if kind is CallKind.ORDER else self._other_places
        if places.statistics().tasks_waiting >= self._limits.waiting:
            raise NotSent(f"{self._limits.waiting} requests are already waiting for a connection")
        async with places:
            yield

    async def take(self, most_idle_seconds: float = math.inf) -> Connection:
        """Return a usable connection: the last used one that is alive and not idle too long, else a new one. The caller holds a place."""
        now = self._clock.monotonic()
        for connection in [pooled for pooled in self._idle if pooled.is_dead()]:
            self._idle.remove(connection)
            await close_connection(connection)
        for connection in self._idle:
            if now - connection.idle_since <= most_idle_seconds:
                self._idle.remove(connection)
                return connection
        while self._idle and self._in_use + len(self._idle) > self._limits.connections:
            await close_connection(self._idle.pop())
        return await self._open()

    async def warm(self) -> None:
        """Have an idle connection that an order message can use for the next moment. One that is opened here replaces those that no order message
        may use any more."""
        if not self._has_warm():
            await self.give_back(await self._open())
            await self._close_stale()

    async def give_back(self, connection: Connection) -> None:
        """Keep a connection for the next request."""
        if self._closed:
            await close_connection(connection)
            return
        connection.idle_since = self._clock.monotonic()
        self._idle.appendleft(connection)

    async def close(self) -> None:
        """Close the idle connections now, and those in use when they come back."""
        self._closed = True
        while self._idle:
            await close_connection(self._idle.pop())

    @property
    def _in_use(self) -> int:
        return self._order_places.borrowed_tokens + self._other_places.borrowed_tokens

    async def _open(self) -> Connection:
        self._egress.require(urlsplit(self._server).hostname or "")
        return await self._connect(self._server)

    def _has_warm(self) -> bool:
        """Whether such a connection is there, or enough order messages are under way that theirs come back."""
        fresh = self._clock.monotonic() - ORDER_IDLE_SECONDS + WARM_SECONDS
        ready = any(pooled.idle_since >= fresh and not pooled.is_dead() for pooled in self._idle)
        return ready or self._in_use >= self._limits.connections

    async def _close_stale(self) -> None:
        oldest = self._clock.monotonic() - ORDER_IDLE_SECONDS
        for connection in [pooled for pooled in self._idle if pooled.idle_since < oldest]:
            self._idle.remove(connection)
            await close_connection(connection)
