"""A file on its way from its download to the build: taken piece by piece, so that no body lies in the service's memory whole.

Hundreds of megabytes in a few blocks are not only room: while a block of tens of megabytes is made or let go of, whatever thread
that happens in, the loop waits for the interpreter or for the process' memory map (bench, catalogue).
"""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Protocol, TypeAlias

import trio

Kept: TypeAlias = bytes | Path
"""A file's body between its download and the build."""

WRITE_BYTES = 256 * 1024
"""Gathered before they are written: one turn of a worker thread for some pieces, and a block the allocator has at hand."""


class Incoming(Protocol):
    """One file's place. Its methods raise OSError."""

    async def begin(self) -> None:
        """Forget what came before: the file comes from its beginning."""

    async def take(self, piece: bytes) -> None:
        """Take the next piece; lets other tasks run."""

    async def kept(self) -> Kept:
        """Return the file, which has come whole."""


class IncomingFile:
    """On disk. Nothing is held open between two writes, so that a download may end at any moment."""

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
    """In memory, without threads. For tests."""

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
