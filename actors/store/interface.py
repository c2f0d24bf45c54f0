"""The store's interface for all other actors: reads, and writes in two lanes. Two implementations, one contract suite:
`redis.py` over a server, `memory.py` for tests.

A write is a tuple of `Op`, applied in order. Values are bytes (JSON by msgspec, or plain text); keys come from `keys.py`.
"""

from collections.abc import Mapping
from typing import Protocol

import attrs


@attrs.frozen
class Set:
    key: str
    value: bytes
    expire_seconds: int | None = None


@attrs.frozen
class Delete:
    key: str


@attrs.frozen
class HashSet:
    """Set fields of a hash and remove others."""

    key: str
    values: Mapping[str, bytes]
    remove: tuple[str, ...] = ()


@attrs.frozen
class SetAdd:
    key: str
    member: str


@attrs.frozen
class SetRemove:
    key: str
    member: str


@attrs.frozen
class StreamAdd:
    """XADD that keeps about `most` entries."""

    key: str
    fields: Mapping[str, bytes]
    most: int


@attrs.frozen
class Expire:
    key: str
    seconds: int


Op = Set | Delete | HashSet | SetAdd | SetRemove | StreamAdd | Expire


@attrs.frozen
class Fence:
    """Condition of a write: `key` holds `value`, the engine's lock (order-engine 2.4)."""

    key: str
    value: bytes


class StoreError(Exception):
    """The store cannot be read or written now; the text is fit for the API's `Redis could not be read: <error>`."""

    @property
    def not_sent(self) -> bool:
        """Whether a write certainly took no effect; if False, it is unknown whether it did."""
        return str(self).startswith("not sent")


def why_away(error: Exception, seconds: float) -> str:
    """Return why the store did not answer: the error's text, or no answer within `seconds` (trio's error has no text)."""
    return str(error) or f"no answer within {seconds:g} s"


class FencedOut(Exception):
    """Nothing was written: the fence's key holds another value (or none)."""


class AlreadyThere(Exception):
    """Nothing was written: the key that had to be absent exists."""


class Store(Protocol):
    """The calls of a store. Reads and acknowledged writes raise StoreError.

    After a failed write it is unknown whether the write took effect, unless the error says `not sent`.
    """

    async def get(self, key: str) -> bytes | None: ...

    async def hash_all(self, key: str) -> dict[str, bytes]: ...

    async def members(self, key: str) -> frozenset[str]: ...

    async def stream_last(self, key: str, count: int) -> list[tuple[str, dict[str, bytes]]]:
        """Return the newest `count` entries (id, fields), oldest first."""

    async def commit(
        self, *ops: Op, fence: Fence | None = None, absent: str | None = None, count: str | None = None
    ) -> None:
        """Add one to the number under `count` and apply `ops`, as one atomic script in the engine lane.

        Returns when the write is acknowledged (on disk, as far as the server can confirm). Raises FencedOut, AlreadyThere, StoreError.
        """

    async def take_lock(self, key: str, value: bytes, expire_seconds: int, *, may_replace: bytes | None) -> bool:
        """Take or refresh a lock; tell whether the lock is ours now.

        The lock is set when it is absent, when it already holds `value`, or when it holds a value ending in `may_replace` (a lock left by our
        own data directory).
        """

    async def write(self, *ops: Op) -> None:
        """Apply `ops` in the rest lane, in order with other rest writes; return when they are acknowledged."""

    def post(self, *ops: Op) -> None:
        """Like `write`, but without waiting; while the store is away, the newest value per key (or hash field) waits."""

    @property
    def reachable(self) -> bool:
        """Whether the last contact succeeded."""

    @property
    def durability_text(self) -> str | None:
        """What an acknowledged write is worth, such as `every write on disk`; None before the first contact, and where nothing is stored."""
