"""A socket's file in the data directory, also where its path is longer than an address of a socket can be (107 bytes on Linux).

On Linux the folder is opened, and the address begins with its number in /proc, so that it is short whatever the path. Elsewhere a path that is too long
fails with the OSError of the system.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import trio

_FOLDERS = Path("/proc/self/fd")


@contextmanager
def socket_address(path: Path) -> Iterator[str]:
    """Yield an address of the socket that holds in the block. Raises OSError."""
    if not _FOLDERS.is_dir():
        yield str(path)
        return
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"{_FOLDERS}/{folder}/{path.name}"
    finally:
        os.close(folder)


async def open_socket(path: Path) -> trio.SocketStream:
    """Connect to the socket. Raises OSError when nobody listens there."""
    with socket_address(path) as address:
        return await trio.open_unix_socket(address)
