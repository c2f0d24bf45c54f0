"""Whether the disk has room for history: candles and ticks stop being written long before the store of orders finds the disk full.

Both stand in the data directory. History can be read again or done without; an embedded store that cannot write ends itself, and then
no stop acts.
"""

import logging
import os
from collections.abc import Callable
from pathlib import Path

import attrs

from onebroker.actors.kernel.published import Published
from onebroker.config.messages import history as sentences

MEGABYTE = 1_000_000
AGAIN_SHARE = 1.1
"""Of the reserve: what must be free before history goes on, so that it does not stop and go with each batch."""

_log = logging.getLogger("onebroker.history")


def free_bytes(folder: Path) -> int:
    """Return what a process without privileges may still write where the folder stands, or will stand. Raises OSError."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    state = os.statvfs(folder)
    return state.f_bavail * state.f_frsize


def spill_limit(reserve_mb: int) -> str:
    """Return what a query may put on the disk at most, as DuckDB writes sizes: half of what history leaves free."""
    return f"{max(1, reserve_mb // 2)}MB"


@attrs.frozen(kw_only=True)
class Room:
    """What is published of the disk."""

    reserve: int
    """Bytes that history leaves free."""
    free: int | None = None
    """Bytes; None = not looked yet, or it cannot be told."""
    enough: bool = True

    @property
    def refusal(self) -> str | None:
        """Why nothing is written; None = it is."""
        return None if self.enough else sentences.disk_low(_megabytes(self.free), self.reserve // MEGABYTE)


def _megabytes(count: int | None) -> int | None:
    return None if count is None else count // MEGABYTE


@attrs.define(kw_only=True)
class DiskRoom:
    """Looks at the disk, and says so when there is too little, and when there is enough again."""

    folder: Path
    published: Published[Room]
    free_bytes: Callable[[Path], int] = free_bytes

    def look(self) -> Room:
        """Return how it is now; published, and logged when it has changed."""
        before = self.published.value
        try:
            free = self.free_bytes(self.folder)
        except OSError as error:
            # Whoever cannot be asked is not believed to have room.
            now = attrs.evolve(before, free=None, enough=False)
            reason = f"the free space of its disk cannot be told: {error}"
        else:
            now = attrs.evolve(before, free=free, enough=_enough(before, free))
            reason = now.refusal or ""
        if before.enough and not now.enough:
            _log.error("no candles and ticks are written until there is room: %s", reason)
        elif now.enough and not before.enough:
            _log.warning("candles and ticks are written again: %s MB are free", _megabytes(now.free))
        if now != before:
            self.published.set(now)
        return now


def _enough(before: Room, free: int) -> bool:
    return free >= before.reserve * (1 if before.enough else AGAIN_SHARE)
