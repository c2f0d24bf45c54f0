"""Decides whether the disk has room for history. Candles and ticks stop being written long before the store of orders finds the disk full.

Both are in the data directory. History can be read again or done without. But an embedded store that cannot write ends itself, and
then no stop acts.
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
"""Share of the reserve that must be free before history resumes, so that it does not stop and start with each batch."""

_log = logging.getLogger("onebroker.history")


def free_bytes(folder: Path) -> int:
    """Return the bytes that a process without privileges may still write at the folder's place; it need not exist yet. Raises OSError."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    state = os.statvfs(folder)
    return state.f_bavail * state.f_frsize


def spill_limit(reserve_mb: int) -> str:
    """Return the most that a query may put on the disk, in DuckDB's notation: half of the space that history leaves free."""
    return f"{max(1, reserve_mb // 2)}MB"


@attrs.frozen(kw_only=True)
class Room:
    """The published state of the disk."""

    reserve: int
    """Bytes that history leaves free."""
    free: int | None = None
    """Free bytes; None = not looked yet, or unknown."""
    enough: bool = True

    @property
    def refusal(self) -> str | None:
        """Why nothing is written; None = history is written."""
        return None if self.enough else sentences.disk_low(_megabytes(self.free), self.reserve // MEGABYTE)


def _megabytes(count: int | None) -> int | None:
    return None if count is None else count // MEGABYTE


@attrs.define(kw_only=True)
class DiskRoom:
    """Looks at the disk; logs when there is too little room, and when there is enough again."""

    folder: Path
    published: Published[Room]
    free_bytes: Callable[[Path], int] = free_bytes

    def look(self) -> Room:
        """Return the present state; publish a change, and log when room runs out or returns."""
        before = self.published.value
        try:
            free = self.free_bytes(self.folder)
        except OSError as error:
            # If the free space is unknown, do not assume that there is room.
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
