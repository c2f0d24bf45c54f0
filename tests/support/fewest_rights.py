"""A user of a real server with the fewest rights that the service needs, and a store whose keys are below a prefix that this user may use."""

import re
from collections.abc import Iterable
from pathlib import Path

import attrs

from onebroker.actors.store.interface import Fence, Op
from onebroker.actors.store.redis import RedisStore

PAGE = Path(__file__).parents[2] / "docs" / "operations" / "servers.md"
PASSWORD = "a-password-of-the-tests"
PREFIX = "orders:test:"


def acl_line() -> str:
    """The line of the page, as a server's file takes it, with the tests' password."""
    found = re.search(r"^user onebroker .*$", PAGE.read_text(), re.MULTILINE)
    assert found is not None
    return found.group().replace(">PASSWORD", f">{PASSWORD}")


def url_of(port: int) -> str:
    return f"redis://onebroker:{PASSWORD}@127.0.0.1:{port}/0"


class PrefixedStore:
    """Gives every key the prefix."""

    def __init__(self, store: RedisStore) -> None:
        self._store = store

    @property
    def reachable(self) -> bool:
        return self._store.reachable

    async def get(self, key: str) -> bytes | None:
        return await self._store.get(PREFIX + key)

    async def hash_all(self, key: str) -> dict[str, bytes]:
        return await self._store.hash_all(PREFIX + key)

    async def members(self, key: str) -> frozenset[str]:
        return await self._store.members(PREFIX + key)

    async def stream_last(self, key: str, count: int) -> list[tuple[str, dict[str, bytes]]]:
        return await self._store.stream_last(PREFIX + key, count)

    async def commit(
        self, *ops: Op, fence: Fence | None = None, absent: str | None = None, count: str | None = None
    ) -> None:
        await self._store.commit(
            *_below(ops),
            fence=None if fence is None else Fence(PREFIX + fence.key, fence.value),
            absent=None if absent is None else PREFIX + absent,
            count=None if count is None else PREFIX + count,
        )

    async def take_lock(self, key: str, value: bytes, expire_seconds: int, *, may_replace: bytes | None) -> bool:
        return await self._store.take_lock(PREFIX + key, value, expire_seconds, may_replace=may_replace)

    async def write(self, *ops: Op) -> None:
        await self._store.write(*_below(ops))

    def post(self, *ops: Op) -> None:
        self._store.post(*_below(ops))


def _below(ops: Iterable[Op]) -> list[Op]:
    return [attrs.evolve(op, key=PREFIX + op.key) for op in ops]
