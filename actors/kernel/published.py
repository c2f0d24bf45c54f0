"""Published state: an immutable value with one writer and any number of readers, read without awaiting."""

from typing import Generic, TypeVar

import trio

T = TypeVar("T")


class Published(Generic[T]):
    """A value that its owner replaces and all others read.

    `version` counts replacements, so that a watcher never misses a replacement made between its read and its wait.
    """

    def __init__(self, value: T) -> None:
        self._value = value
        self._version = 0
        self._published_at: float | None = None
        self._changed = trio.Event()

    @property
    def value(self) -> T:
        return self._value

    @property
    def version(self) -> int:
        return self._version

    @property
    def published_at(self) -> float | None:
        """Monotonic seconds of the last replacement; None before the first."""
        return self._published_at

    def set(self, value: T) -> None:
        """Replace the value (owner only)."""
        self._value = value
        self._version += 1
        self._published_at = trio.current_time()
        changed, self._changed = self._changed, trio.Event()
        changed.set()

    async def wait_newer(self, version: int) -> T:
        """Wait until the value is newer than `version` and return it."""
        while self._version <= version:
            await self._changed.wait()
        return self._value
