"""Which positions plans are closing now, so that two plans that become due together do not close one position twice.

A plan that has read a position and is about to send takes the position. Another plan that read it before the first had an answer reads it again.
Nobody waits for a fill: once the orders are at the broker, the next plan sees them in its book.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager

import attrs
import trio


@attrs.frozen(eq=False)
class _Taken:
    owner: str
    keys: frozenset[str]


class Closes:
    """The positions being closed in one engine. Keys are those of `RowToClose.key`."""

    def __init__(self) -> None:
        self._taken: list[_Taken] = []
        self._given_back: dict[str, int] = {}
        """Key -> number of the last release that contained it."""
        self._count = 0
        self._changed = trio.Event()

    @property
    def mark(self) -> int:
        """The number to note before positions are read."""
        return self._count

    def are_others(self, keys: Collection[str], owner: str, mark: int) -> bool:
        """Whether another owner is closing one of these positions now, or whether one was released after the mark."""
        taken = any(close.owner != owner and not close.keys.isdisjoint(keys) for close in self._taken)
        return taken or any(self._given_back.get(key, 0) > mark for key in keys)

    async def changed(self) -> None:
        """Wait until somebody releases positions; return at once when nobody holds any."""
        if self._taken:
            await self._changed.wait()

    @contextmanager
    def hold(self, keys: Collection[str], owner: str) -> Iterator[None]:
        """Hold positions while orders for them are under way."""
        held = _Taken(owner, frozenset(keys))
        self._taken.append(held)
        try:
            yield
        finally:
            self._taken.remove(held)
            self._count += 1
            self._given_back.update(dict.fromkeys(keys, self._count))
            changed, self._changed = self._changed, trio.Event()
            changed.set()
