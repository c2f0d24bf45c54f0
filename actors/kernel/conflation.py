"""Collects changes of many things for one reader that looks from time to time: newest value per key, never a queue that grows."""

from collections.abc import Hashable
from typing import Generic, TypeVar

import attrs
import trio

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

MOST_KEYS = 50_000


@attrs.frozen
class Taken(Generic[K, V]):
    """The changes since the last look."""

    newest: dict[K, V]
    """In the order in which the keys first changed."""
    overflowed: bool
    """Whether more keys changed than are kept, so that `newest` is incomplete: read everything again."""


class Changes(Generic[K, V]):
    """Written without waiting by the owner of the things; read by one other task. It stays bounded while nobody reads."""

    def __init__(self, most_keys: int = MOST_KEYS) -> None:
        self._most_keys = most_keys
        self._newest: dict[K, V] = {}
        self._overflowed = False
        self._noted = trio.Event()

    def note(self, key: K, value: V) -> None:
        """Remember that `key` has changed to `value`."""
        if len(self._newest) >= self._most_keys and key not in self._newest:
            self._overflowed = True
            return
        self._newest[key] = value
        self._noted.set()

    async def wait(self) -> None:
        """Wait until something has changed since the last `take`."""
        if not self._newest:
            self._noted = trio.Event()
            await self._noted.wait()
        else:
            await trio.lowlevel.checkpoint()

    def take(self) -> Taken[K, V]:
        """Return the changes since the last call."""
        taken = Taken(self._newest, self._overflowed)
        self._newest, self._overflowed = {}, False
        return taken
