"""A service that can be killed at any step, as by kill -9: from the moment of death nothing it does has an effect and nothing it
waits for comes. `Mortal` stands between the service and the world; the next service begins from what the store holds.

    with mortal(day, "commit 2 after") as life:
        ... run a service; `life.count()` before what is to be cut in half ...
"""

import contextlib
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Self, cast

import trio

from onebroker.actors.store import keys
from onebroker.actors.store.interface import Fence, Op, Set, Store
from onebroker.actors.store.memory import MemoryStore
from onebroker.brokers.requests import CallKind, StreamAddress, WireRequest, WireResponse
from onebroker.brokers.transport.interface import FrameStream
from tests.support.day import Day, DayTransport


class Mortal:
    """Counts the service's commits and order messages, and dies at one of them."""

    def __init__(self, death: str | None) -> None:
        self.death: str | None = death
        """None = no step yet, or never."""
        self.dead = trio.Event()
        self._commits = self._sends = self._legs = 0

    def count(self) -> None:
        """Count from one again from here on."""
        self._commits = self._sends = self._legs = 0

    async def at(self, *names: str) -> None:
        """Die at a step that is called by one of these names."""
        if self.dead.is_set():
            await trio.sleep_forever()
        if self.death in names:
            self.dead.set()
            await trio.sleep_forever()

    def commit(self) -> str:
        self._commits += 1
        return f"commit {self._commits}"

    def leg(self) -> str:
        """The write ahead of a new leg: a commit too, however many commits came before it."""
        self._legs += 1
        return f"leg {self._legs}"

    def send(self) -> str:
        self._sends += 1
        return f"send {self._sends}"


class MortalStore:
    def __init__(self, store: Store, life: Mortal) -> None:
        self._store = store
        self._life = life

    async def commit(
        self, *ops: Op, fence: Fence | None = None, absent: str | None = None, count: str | None = None
    ) -> None:
        names = [self._life.commit(), *([self._life.leg()] if any(map(_begins_a_leg, ops)) else [])]
        await self._life.at(*(f"{name} before" for name in names))
        await self._store.commit(*ops, fence=fence, absent=absent, count=count)
        await self._life.at(*(f"{name} after" for name in names))

    async def write(self, *ops: Op) -> None:
        await self._life.at("write")
        await self._store.write(*ops)

    def post(self, *ops: Op) -> None:
        if not self._life.dead.is_set():
            self._store.post(*ops)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


def _begins_a_leg(op: Op) -> bool:
    """Whether an op is of the write ahead of a new leg."""
    return isinstance(op, Set) and op.key.startswith(keys.leg_token(""))


class MortalTransport:
    def __init__(self, transport: DayTransport, life: Mortal) -> None:
        self._transport = transport
        self._life = life

    async def send(self, request: WireRequest, timeout_seconds: float) -> WireResponse:
        name = self._life.send() if request.kind is CallKind.ORDER else None
        await self._life.at(*(("send before", f"{name} before") if name else ("read",)))
        answer = await self._transport.send(request, timeout_seconds)
        await self._life.at(*(("send after", f"{name} after") if name else ("read",)))
        return answer

    async def connect(self, address: StreamAddress, timeout_seconds: float) -> FrameStream:
        await self._life.at("connect")
        return await self._transport.connect(address, timeout_seconds)

    async def __aenter__(self) -> Self:
        await self._transport.__aenter__()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        return await self._transport.__aexit__(exc_type, exc_value, traceback)


@contextlib.contextmanager
def mortal(day: Day, death: str | None) -> Iterator[Mortal]:
    """Let the services that are started inside die at `death`."""
    life = Mortal(death)
    whole, open_transport = day.store, day.open_transport
    day.store = cast("MemoryStore", MortalStore(whole, life))

    def open_mortal() -> DayTransport:
        return cast("DayTransport", MortalTransport(open_transport(), life))

    day.open_transport = open_mortal  # type: ignore[method-assign]  # this day's only, and put back below
    try:
        yield life
    finally:
        day.store, day.open_transport = whole, open_transport  # type: ignore[method-assign]  # as it was
