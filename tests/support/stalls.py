"""Whether the machine, or a process that a test watches, stood still: the evidence that a story told in real seconds may begin anew.

The service promises answers within seconds. A stop of five seconds breaks such a promise honestly (a 504 that says `unknown`), and a
test of the whole service cannot tell it from a fault by the answer alone. It may by this: without a stop the first failure counts.
"""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LOOK_SECONDS = 0.05
STALL_SECONDS = 1.0
"""A pause of this length between two looks is a stop of the machine, or of this process."""
_STOPPED = "T"


class Stalls:
    """What was seen of a process and its descendants."""

    def __init__(self, root: int) -> None:
        self._root = root
        self._over = threading.Event()
        self.seen: list[str] = []
        """What stood still, in words."""

    def watch(self) -> None:
        """Look again and again until `end`."""
        looked = time.monotonic()
        while not self._over.wait(LOOK_SECONDS):
            now = time.monotonic()
            if now - looked > STALL_SECONDS:
                self.seen.append(f"the test or the machine for {now - looked:.1f} s")
            looked = now
            self.seen.extend(f"process {pid}" for pid in self._stopped())

    def end(self) -> None:
        self._over.set()

    def _stopped(self) -> list[int]:
        known = dict(_processes())
        ours = {self._root}
        while more := {pid for pid, (parent, _) in known.items() if parent in ours} - ours:
            ours |= more
        return [pid for pid in ours if pid in known and known[pid][1] == _STOPPED]


def _processes() -> Iterator[tuple[int, tuple[int, str]]]:
    """Yield each process of the machine with its parent and its state."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            yield int(entry.name), (int(fields[1]), fields[0])


@contextmanager
def watched(root: int | None = None) -> Iterator[Stalls]:
    """Watch a process (this one, when none is named) and what it starts for the block."""
    stalls = Stalls(os.getpid() if root is None else root)
    thread = threading.Thread(target=stalls.watch)
    thread.start()
    try:
        yield stalls
    finally:
        stalls.end()
        thread.join()
