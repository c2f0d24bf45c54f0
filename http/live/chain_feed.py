"""Keeps the chain board current: follows the quotes of the watched chains and builds each chain at most twice a second."""

import math

import trio

from onebroker.actors.chain.chains import Chains
from onebroker.actors.chain.contracts import ChainName
from onebroker.actors.quotes.followers import Follower
from onebroker.config.clock import Clock
from onebroker.config.refusal import Refusal
from onebroker.http.live.chain_board import ChainBoard

PACE_SECONDS = 0.5
"""The shortest time between two builds of one chain."""
LOOK_SECONDS = 5.0
"""A chain is built this often even without a new quote: quotes become too old, and the expiry comes nearer."""


class ChainFeed:
    def __init__(self, board: ChainBoard, chains: Chains, clock: Clock) -> None:
        self._board = board
        self._chains = chains
        self._clock = clock
        self._built: dict[ChainName, float] = {}
        """Monotonic seconds of the last build."""
        self._instruments: dict[ChainName, frozenset[str]] = {}
        self._changed: set[str] = set()
        self._wake = trio.Event()

    async def run(self, follower: Follower) -> None:
        """Follow what is watched; only this task builds, one chain after the other."""
        self._board.on_watched = self._rouse
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._hear, follower)
            while True:
                self._wake = trio.Event()
                await self._build_due(follower)
                with trio.move_on_after(self._wait()):
                    await self._wake.wait()
                    await trio.sleep(max(0.0, self._next_allowed() - self._clock.monotonic()))

    async def _hear(self, follower: Follower) -> None:
        async for changed in follower:
            self._changed.update(changed)
            self._rouse()

    def _rouse(self) -> None:
        self._wake.set()

    def _is_due(self, name: ChainName, now: float) -> bool:
        built = self._built.get(name, -math.inf)
        if now - built >= LOOK_SECONDS:
            return True
        return now - built >= PACE_SECONDS and not self._changed.isdisjoint(self._instruments.get(name, ()))

    def _wait(self) -> float:
        """Return the seconds until a chain must be built again in any case."""
        now = self._clock.monotonic()
        return max(0.0, min((at + LOOK_SECONDS - now for at in self._built.values()), default=math.inf))

    def _next_allowed(self) -> float:
        """Return when a chain with a change may be built (monotonic seconds)."""
        changed = [
            self._built.get(name, -math.inf) + PACE_SECONDS
            for name in self._board
            if name not in self._built or not self._changed.isdisjoint(self._instruments.get(name, ()))
        ]
        return min(changed, default=self._clock.monotonic())

    async def _build_due(self, follower: Follower) -> None:
        watched = set(self._board)
        for name in self._built.keys() - watched:
            del self._built[name]
            self._instruments.pop(name, None)
        now = self._clock.monotonic()
        due = [name for name in watched if self._is_due(name, now)]
        heard = frozenset(self._changed)
        still_waiting = [name for name in watched if name not in due]
        self._changed = {one for one in heard if any(one in self._instruments.get(name, ()) for name in still_waiting)}
        for name in due:
            self._built[name] = self._clock.monotonic()
            await self._build(name)
        follower.follow(one for instruments in self._instruments.values() for one in instruments)
        await trio.lowlevel.checkpoint()

    async def _build(self, name: ChainName) -> None:
        try:
            chain = await self._chains.chain(name)
            instruments = frozenset(self._chains.instrument_ids(name, chain))
        except Refusal as refused:
            self._board.refuse(name, refused)
            return
        self._instruments[name] = instruments
        self._board.put(name, chain)
