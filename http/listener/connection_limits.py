"""Limits the connections of clients and chooses which one gives way: strangers must not use up the files and memory of
the engine.

A stranger is a connection that has not yet proved itself by the access token or the right credentials. At most
`MOST_CONNECTIONS` are open, and at most `MOST_STRANGERS` strangers from one address. Above these bounds the oldest
stranger without a request in progress gives way, or else the oldest stranger. A connection that has proved itself never
gives way, because its client could not tell whether the order it just sent was taken. So callers on one machine, or
behind one reverse proxy, share the larger bound.

Free files come first: while fewer than `RESERVED_FILES` are free, a new connection is closed at once. The engine needs
these files for Redis, brokers and journals.
"""

import logging
import os
import resource
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal, Protocol

import attrs
import trio

from onebroker.http.listener.minute_log import MinuteLog, warnings_to
from onebroker.http.listener.refused_clients import RefusedClients, Why

MOST_CONNECTIONS = 512
MOST_STRANGERS = 64
RESERVED_FILES = 128
COUNT_SECONDS = 1.0
"""Greatest age of the count of the process's other files; the kernel supplies the count."""

STATE_KEY = "peer"
"""The key in a request's ASGI `state` under which its `Peer` is kept."""

_log = logging.getLogger("onebroker.http.server")


class Cut(Protocol):
    """Closes a connection at once."""

    def __call__(self) -> None: ...


@attrs.define(eq=False)
class Peer:
    """One connection."""

    address: str
    cut: Cut
    proved: bool = False
    """Whether the last token or credentials on this connection were right."""
    busy: bool = False
    """Whether a request of this connection is in progress."""


@contextmanager
def proving(scope: Mapping[str, Any]) -> Iterator[None]:
    """Record on the connection of a request (its ASGI `scope`) whether the proof that is checked inside the block was right."""
    peer = (scope.get("state") or {}).get(STATE_KEY)
    proved = False
    try:
        yield
        proved = True
    finally:
        if isinstance(peer, Peer):
            peer.proved = proved


@attrs.frozen(kw_only=True)
class ConnectionFigures:
    """The figures that health and metrics show."""

    open: int
    proved: int
    most: int
    refused: int
    """Connections closed as soon as they came, since the start of the process."""
    gave_way: int
    """Connections closed to make room for a newer one, since the start of the process."""
    free_files: int
    """Files that the process may still open."""


def raise_file_limit() -> None:
    """Let the process open as many files as the system allows: the soft limit of a login shell is often 1024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == hard:
        return
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (ValueError, OSError):  # macOS: the kernel's bound is below "unlimited"
        _log.info("the limit of open files stays at %d", soft)


def file_limit() -> int:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return soft if soft != resource.RLIM_INFINITY else 1 << 20


def open_files() -> int:
    """Return how many files the process has open."""
    folder = "/proc/self/fd" if os.path.isdir("/proc/self/fd") else "/dev/fd"
    try:
        return len(os.listdir(folder)) - 1  # the folder itself counts as one
    except OSError:  # no file is left to open the folder with
        return file_limit()


class Connections:
    """The open connections, for the bounds above and for a shutdown that waits until they end."""

    def __init__(
        self,
        *,
        most: int = MOST_CONNECTIONS,
        most_strangers: int = MOST_STRANGERS,
        reserved_files: int = RESERVED_FILES,
        limit: Callable[[], int] = file_limit,
        count_files: Callable[[], int] = open_files,
        clients: RefusedClients | None = None,
    ) -> None:
        """`clients` tells the connections that are refused or give way; without it nobody hears of them."""
        self._most = most
        self._most_strangers = most_strangers
        self._reserved_files = reserved_files
        self._limit = limit
        self._count_files = count_files
        self._other_files = 0
        self._counted_at: float | None = None
        self._open: dict[Peer, None] = {}
        self._none = trio.Event()
        self._clients = clients or RefusedClients()
        self._refused = 0
        self._gave_way = 0
        self.no_room = MinuteLog(warnings_to(_log), now=trio.current_time)
        """Connections for which the system had no file."""

    @property
    def open(self) -> int:
        return len(self._open)

    @property
    def most(self) -> int:
        return self._most

    def figures(self) -> ConnectionFigures:
        return ConnectionFigures(
            open=len(self._open),
            proved=sum(peer.proved for peer in self._open),
            most=self._most,
            refused=self._refused,
            gave_way=self._gave_way,
            free_files=self.free_files(),
        )

    def free_files(self, oldest_seconds: float = COUNT_SECONDS) -> int:
        """Return how many files the process may still open, by a count of at most this age."""
        now = trio.current_time()
        if self._counted_at is None or now - self._counted_at >= oldest_seconds:
            self._other_files = self._count_files() - len(self._open)
            self._counted_at = now
        return self._limit() - self._other_files - len(self._open)

    @contextmanager
    def holding(self, address: str, cut: Cut) -> Iterator[Peer | None]:
        """Count a connection while it is open. Yield None if there is no room; then close the connection."""
        peer = Peer(address, cut)
        if not self._make_room(address):
            yield None
            return
        self._open[peer] = None
        try:
            yield peer
        finally:
            self._open.pop(peer, None)
            if not self._open:
                self._none.set()

    def _make_room(self, address: str) -> bool:
        if self.free_files() <= self._reserved_files:
            return self._refuse(Why.FILES, address)
        strangers = [peer for peer in self._open if not peer.proved]
        of_address = [peer for peer in strangers if peer.address == address]
        if len(of_address) >= self._most_strangers:
            self._give_way(of_address)
        elif len(self._open) >= self._most:
            if not strangers:
                return self._refuse(Why.CONNECTIONS, address)
            self._give_way(strangers)
        return True

    def _refuse(self, why: Why, address: str) -> Literal[False]:
        self._refused += 1
        self._clients.note(why, address)
        return False

    def _give_way(self, strangers: list[Peer]) -> None:
        """Cut the oldest stranger without a request in progress, or else the oldest stranger."""
        peer = next((peer for peer in strangers if not peer.busy), strangers[0])
        self._gave_way += 1
        self._clients.note(Why.GAVE_WAY, peer.address)
        self._open.pop(peer)
        peer.cut()

    async def wait_none(self) -> None:
        while self._open:
            self._none = trio.Event()
            await self._none.wait()

    def cut_all(self) -> None:
        for peer in self._open:
            peer.cut()
