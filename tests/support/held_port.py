"""A port that a test's process will listen on, and nobody else meanwhile.

The holder is bound and does not listen: connections are refused until the process listens, the system gives the port to nobody who asks
for any free one, and a listener that allows reuse (ours and Redis's do) may bind it beside the holder, also again after a restart.
"""

import socket
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def held_port() -> Iterator[int]:
    """Hold a free port of loopback for the block."""
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        yield int(holder.getsockname()[1])
