"""A file on its way from the download to the build: taken piece by piece, so that no whole body is in the service's memory.

The reason is not only memory. While a block of tens of megabytes is allocated or freed, in any thread, the loop waits for the
interpreter or for the process' memory map (bench, catalogue).
"""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Protocol, TypeAlias

import trio

Kept: TypeAlias = bytes | Path
"""A file's body between its download and the build."""

WRITE_BYTES = 256 * 1024
"""Bytes gathered before a write: one turn of a worker thread writes several pieces, from a block that the allocator has at hand."""


class Incoming(Protocol):
    """The place of one file. Its methods raise OSError."""

    async def begin(self) -> None:
        """Forget the pieces taken so far: the file comes again from its beginning."""

    async def take(self, piece: bytes) -> None:
        """Take the next piece; let other tasks run."""

    async def kept(self) -> Kept:
        """Return the file, which has arrived completely."""


class IncomingFile:
    """A file on disk. Nothing stays open between two writes, so a download may end at any moment."""

    def __init__(self, path: Path, off_loop: Callable[[Callable[[], object]], Awaitable[object]]) -> None:
        self._path = path
        self._off_loop = off_loop
        self._gathered = bytearray()

    async def begin(self) -> None:
        self._gathered.clear()
        await self._off_loop(lambda: self._path.write_bytes(b""))

    async def take(self, piece: bytes) -> None:
        self._gathered += piece
        if len(self._gathered) < WRITE_BYTES:
            await trio.lowlevel.checkpoint()
        else:
            await self._write()

    async def kept(self) -> Path:
        await self._write()
        return self._path

    async def _write(self) -> None:
        gathered, self._gathered = self._gathered, bytearray()
        await self._off_loop(lambda: self._append(gathered))

    def _append(self, data: bytearray) -> None:
        with self._path.open("ab") as file:
            file.write(data)


class IncomingMemory:
    """A file in memory, without threads. For tests."""

    def __init__(self) -> None:
        self._body = bytearray()

    async def begin(self) -> None:
        self._body.clear()
        await trio.lowlevel.checkpoint()

    async def take(self, piece: bytes) -> None:
        self._body += piece
        await trio.lowlevel.checkpoint()

    async def kept(self) -> bytes:
        await trio.lowlevel.checkpoint()
        return bytes(self._body)
