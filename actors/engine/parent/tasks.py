"""The tasks of one parent's actor."""

from collections.abc import Awaitable, Callable
from typing import TypeVarTuple, Unpack

import trio

Args = TypeVarTuple("Args")


class Tasks:
    """Starts the tasks of one parent, and counts those that may send a message: the parent does not end before they have ended."""

    nursery: trio.Nursery
    """Set by `begin`. Tasks that are started in it directly only watch: they end when the parent ends."""

    def __init__(self) -> None:
        self._sending = 0

    def begin(self, nursery: trio.Nursery) -> None:
        self.nursery = nursery

    @property
    def may_send(self) -> bool:
        return self._sending > 0

    def start(self, task: Callable[[Unpack[Args]], Awaitable[object]], *args: *Args) -> None:
        """Start a task that may send."""
        self._sending += 1
        self.nursery.start_soon(self._counted, task, args)

    async def _counted(self, task: Callable[[Unpack[Args]], Awaitable[object]], args: tuple[*Args]) -> None:
        try:
            await task(*args)
        finally:
            self._sending -= 1
